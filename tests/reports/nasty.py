"""Texts that a careless page would run, load, or show as something else. Each sets ``pwned`` if it runs."""

from __future__ import annotations

MARKUP = (
    "<script>pwned=1</script>", "</script><script>pwned=1</script>", "</style><script>pwned=1</script>",
    "</title><script>pwned=1</script>", "</textarea><script>pwned=1</script>", "<img src=x onerror=pwned=1>",
    "<svg onload=pwned=1>", "</svg><img src=x onerror=pwned=1>", "<svg><script>pwned=1</script></svg>",
    "<svg><animate onbegin=pwned=1 attributeName=x dur=1s>", "<iframe srcdoc='<script>parent.pwned=1</script>'>",
    "<iframe src=javascript:pwned=1>", "<body onload=pwned=1>", "<details open ontoggle=pwned=1>",
    "<meta http-equiv=refresh content='0;url=https://example.invalid/'>", "<base href=https://example.invalid/>",
    "<link rel=stylesheet href=https://example.invalid/x.css>", "<style>*{display:none}</style>",
    "<style>@import 'https://example.invalid/x.css';</style>", "<form action=https://example.invalid/><input>",
    "<a href=javascript:pwned=1>x</a>", "<template><script>pwned=1</script></template>", "<!-- ", "--><script>pwned=1",
    "<![CDATA[<script>pwned=1</script>]]>", "]]>", "<?xml version='1.0'?>", "<xmp>", "<plaintext>", "<noscript>",
)  # fmt: skip
QUOTES = (
    '" onmouseover="pwned=1', "' onmouseover='pwned=1", "` onmouseover=pwned=1", '"><script>pwned=1</script>',
    "javascript:pwned=1", "&lt;script&gt;", "&#60;script&#62;", "&amp;amp;", "{{ 7 * 7 }}", "{% raw %}", "${pwned=1}",
    "\\u003cscript\\u003e",
)  # fmt: skip
CONTROLS = (
    "\x1b[31mred\x1b[0m", "\x1b]8;;https://example.invalid\x07x\x1b]8;;\x07", "\x9b31mred", "a\x00b", "a\rb", "a\x08b",
    "\u202egnp.exe", "\u2066x\u2069\u2067y",
)  # fmt: skip

NASTY = MARKUP + QUOTES + CONTROLS
