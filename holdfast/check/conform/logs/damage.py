"""The one-line error about a place in a log or in a mapping file, and helpers for its text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import NoReturn

from holdfast.ir.errors import Place, UsageError

LONGEST = 60
"""The most characters of a value that an error shows."""

MOST = 300
"""The most characters of a problem or a remedy."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def damaged(at: Place, problem: str, remedy: str) -> NoReturn:
    """Raise UsageError ``FILE:LINE: problem; remedy``, on one line, also if names from a log contain line ends."""
    raise UsageError(f"{at.file}:{at.line}: {_on_one_line(problem)}; {_on_one_line(remedy)}")


def _on_one_line(text: str) -> str:
    short = text if len(text) <= MOST else f"{text[: MOST - 1]}…"
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), short)


def shown(value: object) -> str:
    """A value for an error message: JSON on one line, shortened."""
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def nearest(word: str, words: Iterable[str]) -> str:
    """A remedy for an unknown word: the nearest known word, or else the known words."""
    known = list(words)
    near = get_close_matches(word, known, n=1)
    if near:
        return f"did you mean {near[0]}?"
    more = ", …" if len(known) > 12 else ""
    return f"known: {', '.join(known[:12])}{more}" if known else "there are none"
