"""Temporary folders: removed at the end, and by the next run if their process was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.check import temporary_folder
from holdfast.check.temporary_folder import PREFIX, TemporaryFolder

ROOT = Path(__file__).parents[2]

KEPT = """
import sys
from holdfast.check.temporary_folder import TemporaryFolder
with TemporaryFolder("test") as path:
    (path / "file").write_text("x")
    print(path, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder of the tests' own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    temporary_folder._remove_left_over.cache_clear()
    yield tmp_path
    temporary_folder._remove_left_over.cache_clear()


def other(place: Path) -> tuple[subprocess.Popen[str], Path]:
    """Another process with such a folder, and the path of the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", KEPT],
        env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(place)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_folder_that_nobody_has_is_removed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is removed if Ctrl-C comes between its making and its block, or while its lock is taken."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    folder = TemporaryFolder("test")
    assert len(list(place.iterdir())) == 1
    del folder
    assert list(place.iterdir()) == []
    monkeypatch.setattr("fcntl.flock", interrupted)
    with pytest.raises(KeyboardInterrupt):
        TemporaryFolder("test")
    assert list(place.iterdir()) == []


def test_a_forked_process_leaves_the_folder(place: Path) -> None:
    """A forked copy of the object removes nothing."""
    folder = TemporaryFolder("test")
    process = os.fork()
    if not process:
        del folder
        os._exit(0)
    os.waitpid(process, 0)
    assert list(place.iterdir()) == [folder.path]
    folder.remove()


def test_a_folder_is_removed_at_its_end(place: Path) -> None:
    """The folder and all that is in it are gone after the block. Removing it again does nothing."""
    folder = TemporaryFolder("test")
    with folder as path:
        (path / "file").write_text("x")
        assert path.name.startswith(f"{PREFIX}test-")
    folder.remove()
    assert list(place.iterdir()) == []


def test_the_folder_of_a_killed_process_is_removed(place: Path) -> None:
    """The next process that makes such a folder removes that of a killed one, and leaves that of a living one."""
    living, lives = other(place)
    killed, left = other(place)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert left.is_dir()
    with TemporaryFolder("test") as path:
        assert sorted(place.iterdir()) == sorted([lives, path])
    living.communicate("")
    assert list(place.iterdir()) == []


def test_a_link_is_left_alone(place: Path) -> None:
    """A link with such a name is neither followed nor removed."""
    home = place / "home"
    home.mkdir()
    (home / "file").write_text("x")
    (place / f"{PREFIX}link").symlink_to(home)
    with TemporaryFolder("test"):
        assert (home / "file").exists()
        assert (place / f"{PREFIX}link").is_symlink()
