"""``holdfast new``: the first model, its bug and its fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Run

HINT = "        # The exercise: which writes should the storage refuse?\n"
FIX = '        require(self.believed[c, f] >= self.stored[f], "LS-06", error=E.STALE)\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_first_model_has_one_bug(holdfast: Run) -> None:
    """A short run violates the written model, and one guard at the place of its comment fixes it."""
    assert holdfast("new", "mylock").code == 0
    broken = holdfast("check", "mylock.py")
    assert broken.code == 12
    assert "LS-11" in broken.out
    assert "5 steps" in broken.out

    text = Path("mylock.py").read_text()
    assert HINT in text
    Path("mended.py").write_text(text.replace(HINT, FIX))
    assert holdfast("check", "mended.py").code == 0


def test_the_commands_to_try_are_printed(holdfast: Run) -> None:
    """The answer names the file and two commands that take it."""
    out = holdfast("new", "mylock").out
    assert [line.split("#")[0].split() for line in out.splitlines() if "holdfast check" in line] == [
        ["holdfast", "check", "mylock.py"],
        ["holdfast", "check", "mylock.py", "--scope", "tiny"],
    ]


def test_nothing_is_overwritten(holdfast: Run) -> None:
    """An existing file is not overwritten."""
    Path("mylock.py").write_text("mine")
    refused = holdfast("new", "mylock")
    assert (refused.code, refused.err) == (
        2,
        "holdfast: mylock.py exists already; choose another name, or move it away\n",
    )
    assert Path("mylock.py").read_text() == "mine"


@pytest.mark.parametrize("name", ["", "my lock", "../lock", "my-lock", "class", "mylock.py", "1st", "random"])
def test_a_wrong_name_is_refused(holdfast: Run, folder: Path, name: str) -> None:
    """A name that is no identifier, or that would hide a Python module, gives one line with the reason."""
    refused = holdfast("new", name)
    assert refused.code == 2
    assert refused.err.startswith(f"holdfast: {name!r} is ")
    assert list(folder.iterdir()) == []
