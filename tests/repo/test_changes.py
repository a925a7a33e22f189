"""A change that users may notice has a note: ``changelog.d/NUMBER.KIND.md``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTES = ROOT / "changelog.d"
VISIBLE = ("holdfast/", "models/", "spark/", "reports/")
NAME = re.compile(r"(\d+)\.(added|changed|fixed|removed)\.md")
NO_NOTE = re.compile(r"^No-note: \S.*", re.MULTILINE)
"""The line of a commit message that gives the reason why no note is needed."""

BASE = "CHANGE_BASE"
"""The environment variable with the commit to compare with. The default is ``origin/main``."""


def git(*arguments: str) -> str | None:
    """The output of git; None if it fails or there is no repository."""
    try:
        ran = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S607
    except (OSError, subprocess.CalledProcessError):
        return None
    return ran.stdout


def base() -> str | None:
    """The commit before the change: the branch point from ``origin/main``, or HEAD's parent if that tells nothing."""
    named = os.environ.get(BASE) or "origin/main"
    common, head = git("merge-base", named, "HEAD"), git("rev-parse", "HEAD")
    assert common is not None or BASE not in os.environ, f"{BASE} is {named}, and there is no such commit; correct it"
    if common is not None and (common != head or git("status", "--porcelain")):
        return common.strip()
    return "HEAD~1" if git("rev-parse", "--verify", "--quiet", "HEAD~1") else None


def lacks_note(changed: Iterable[str], messages: str) -> list[str]:
    """The changed files that need a note, if there is no note and no message gives a reason."""
    files = list(changed)
    noted = any(file.startswith("changelog.d/") and NAME.fullmatch(file.removeprefix("changelog.d/")) for file in files)
    if noted or "CHANGELOG.md" in files or NO_NOTE.search(messages):
        return []
    return [file for file in files if file.startswith(VISIBLE)]


def test_the_change_has_a_note() -> None:
    """The commits since ``origin/main``, or the last commit, have a note if they change what users see."""
    since = base()
    if since is None:
        pytest.skip(f"there is no commit to compare with: deepen the clone, or name one in {BASE}")
    changed = (git("diff", "--name-only", since) or "").splitlines()
    untracked = (git("ls-files", "--others", "--exclude-standard") or "").splitlines()
    messages = git("log", "--format=%B", f"{since}..HEAD") or ""
    assert lacks_note([*changed, *untracked], messages) == [], (
        "write changelog.d/NUMBER.KIND.md; see changelog.d/README.md"
    )


def test_a_change_without_a_note_is_seen() -> None:
    """A file that users see needs a note, and other files do not. A note, a release or a reason is enough."""
    assert lacks_note(["holdfast/cli/app.py", "tests/x.py"], "Do it\n") == ["holdfast/cli/app.py"]
    assert lacks_note(["tests/x.py", "docs/a.md"], "") == []
    assert lacks_note(["spark/a.py", "changelog.d/16.added.md"], "") == []
    assert lacks_note(["spark/a.py", "changelog.d/README.md"], "") == ["spark/a.py"]
    assert lacks_note(["models/a.py", "CHANGELOG.md"], "") == []
    assert lacks_note(["models/a.py"], "Rename it\n\nNo-note: the name is private\n") == []
    assert lacks_note(["models/a.py"], "No-note:\n") == ["models/a.py"]


@pytest.mark.parametrize("path", sorted(NOTES.glob("*.md")), ids=lambda path: path.name)
def test_notes_are_named_and_written_as_lists(path: Path) -> None:
    """Notes are named NUMBER.KIND.md, and every line begins or continues a list item."""
    if path.name == "README.md":
        return
    assert NAME.fullmatch(path.name), "name it NUMBER.KIND.md"
    assert all(line.startswith(("- ", "  ")) for line in path.read_text(encoding="utf-8").splitlines())


def test_the_notes_can_be_gathered() -> None:
    """``make changelog`` prints each item of each note, below the heading of its kind, with working links."""
    ran = subprocess.run(
        [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "next"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    points = [line for path in NOTES.glob("[0-9]*.md") for line in path.read_text(encoding="utf-8").splitlines()]
    shown = ran.stdout.splitlines()
    assert {point.replace("](../", "](") for point in points} <= set(shown)
    assert shown.index("### Added") < shown.index("### Fixed")
