"""Ctrl-C, and an output pipe that the reader closes early."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.samples import COUNTER, EXPLOSION

HOLDFAST = [sys.executable, "-m", "holdfast"]


@pytest.fixture
def explosion(tmp_path: Path) -> Path:
    """A model too large for any search to finish."""
    path = tmp_path / "explosion.py"
    path.write_text(EXPLOSION)
    return path


def test_an_interrupted_check_says_how_far_it_came(explosion: Path) -> None:
    """SIGINT during the search ends it with code 20, and the figures so far are printed."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*HOLDFAST, "check", explosion, "--scope", "large"], stdout=subprocess.PIPE, stderr=theirs, text=True
    ) as process:
        os.close(theirs)
        # Progress is shown on a terminal alone, and not before the search has begun.
        assert os.read(ours, 1)
        process.send_signal(signal.SIGINT)
        # An unread terminal would fill up and block; reading at its end is an error on Linux.
        while read_some(ours):
            pass
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(ours)
    assert process.returncode == 20
    assert "interrupted" in out
    assert "states" in out


def read_some(terminal: int) -> bool:
    """Read some more output; False at the end."""
    try:
        return bool(os.read(terminal, 4096))
    except OSError:
        return False


def test_a_reader_that_goes_away_changes_nothing(tmp_path: Path) -> None:
    """A closed pipe, as after `| head`, does not change the exit code and prints no error."""
    path = tmp_path / "counter.py"
    path.write_text(COUNTER)
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(
        [*HOLDFAST, "check", path, "--scope", "tiny", "--json"],
        stdout=theirs,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(theirs)
    assert (done.returncode, done.stderr) == (0, "")
