"""The README, the tutorial and other pages, followed step by step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.fences import ROOT
from tests.docs.transcript import Reader, cut

PAGE = """\
```python
# file: greeting.py
print("good")
print("morning")
```

```console
$ python greeting.py; exit 3
good
morning
$ echo $?
3
```

```diff
--- greeting.py
+++ greeting.py
@@
 print("good")
-print("morning")
+print("evening")
```

```console
$ python greeting.py
good
evening
```
"""


GUIDES = [
    "README.md",
    "docs/tutorial.md",
    "docs/walk.md",
    "docs/simulate.md",
    "docs/trust.md",
    "docs/live.md",
    "docs/tlc.md",
    "docs/coming-from-tla.md",
    "docs/prove.md",
    pytest.param("docs/examples.md", marks=pytest.mark.slow, id="docs/examples.md"),  # two minutes of all commands
    pytest.param("docs/campaign.md", marks=pytest.mark.slow, id="docs/campaign.md"),  # half a minute of Spark
    pytest.param("docs/conform.md", marks=pytest.mark.slow, id="docs/conform.md"),  # most of a minute of logs
    pytest.param("docs/traces.md", marks=pytest.mark.slow, id="docs/traces.md"),  # half a minute of TLC
    pytest.param("docs/balance.md", marks=pytest.mark.slow, id="docs/balance.md"),  # half a minute of simulation
    pytest.param("docs/move.md", marks=pytest.mark.slow, id="docs/move.md"),  # half a minute, and 1.6 GB
]
FINDINGS = sorted(f"docs/findings/{path.name}" for path in (ROOT / "docs/findings").glob("*-*.md"))
QUICK = ["docs/findings/AM-20.md", "docs/findings/ZG-2.md"]
"""The pages of the quick tier; the others take more than a minute together and run in the slow tier."""


@pytest.mark.parametrize(
    "name", [*GUIDES, *(pytest.param(page, marks=() if page in QUICK else pytest.mark.slow) for page in FINDINGS)]
)
def test_pages_show_what_happens(name: str, tmp_path: Path, update_golden: bool) -> None:
    """Following the page's steps gives the output that the page shows."""
    path = ROOT / name
    page = path.read_text()
    seen = Reader(tmp_path).follow(page)
    if update_golden:
        path.write_text(seen)
    else:
        assert seen.splitlines() == page.splitlines(), "renew it with `pytest tests/docs --update-golden`"


def test_a_page_is_followed(tmp_path: Path) -> None:
    """Following a page writes and edits files, runs commands, and stores the last exit code."""
    assert Reader(tmp_path).follow(PAGE) == PAGE


def test_a_wrong_output_is_seen(tmp_path: Path) -> None:
    """A wrong output on a page is replaced by the real output."""
    assert Reader(tmp_path).follow(PAGE.replace("evening\n```\n", "night\n```\n")) == PAGE


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        (' print("good")', ' print("bad")', "the lines to replace 0 times"),
        ("--- greeting.py", "--- other.py", "a diff begins with"),
        ("# file: greeting.py", "# greeting.py", "no file holds these lines"),
        ("$ python greeting.py; exit 3", "python greeting.py", "a console block begins with"),
        ("$ python greeting.py; exit 3", "$ python -c '1 / 0'", "prints a traceback"),
    ],
)
def test_a_step_that_cannot_be_followed_is_an_error(tmp_path: Path, right: str, wrong: str, problem: str) -> None:
    """An edit without its place, a quotation of nothing, output without a command, and a crash are errors."""
    with pytest.raises(AssertionError, match=problem):
        Reader(tmp_path).follow(PAGE.replace(right, wrong))


def test_lines_are_left_out() -> None:
    """A cut keeps as many lines at the head and at the tail as the page shows, and hides at least two."""
    lines = list("abcdef")
    assert cut(lines, ("x", "…", "x", "x")) == ["a", "…", "e", "f"]
    assert cut(lines[:4], ("x", "…", "x")) == ["a", "…", "d"]
    assert cut(lines[:3], ("x", "…", "x")) == ["a", "b", "c"]
    assert cut(lines, ()) == lines
