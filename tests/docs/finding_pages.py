"""The runs of ``docs/findings`` as pages for a browser. ``python -m tests.docs.finding_pages`` writes them anew.

Each page is made of the first replay line in the text of its finding, and the text has a link to it.
"""

from __future__ import annotations

import re
from pathlib import Path

from holdfast.records.explained_run import explained_run
from holdfast.runs.loading import open_trace
from reports.run_page.run_page import render

FINDINGS = Path(__file__).parents[2] / "docs" / "findings"
PAGES = FINDINGS / "pages"
REPLAY = re.compile(r"^replay:    holdfast replay '(.*)'$", re.MULTILINE)


def shown() -> list[str]:
    """The names of the findings whose text has a replay line."""
    return [file.stem for file in sorted(FINDINGS.glob("*.md")) if REPLAY.search(file.read_text(encoding="utf-8"))]


def page(name: str) -> str:
    """The page of a finding."""
    found = REPLAY.search((FINDINGS / f"{name}.md").read_text(encoding="utf-8"))
    assert found is not None, "its text has a replay line"
    opened = open_trace(found[1])
    return render(explained_run(opened.trace, opened.replayer))


if __name__ == "__main__":
    PAGES.mkdir(exist_ok=True)
    for left_over in {file.stem for file in PAGES.glob("*.html")} - set(shown()):
        (PAGES / f"{left_over}.html").unlink()
    for each in shown():
        (PAGES / f"{each}.html").write_text(page(each), encoding="utf-8")
