"""The harness itself ends within seconds after a signal to all its processes, with what it has, and leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.hostile.running import ROOT, processes

LIMIT = 60
"""Seconds after which the harness hangs. It would need an hour for all its cases."""


@pytest.mark.slow  # It makes the good files first.
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the cases need Linux")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_signal_to_all_processes_ends_the_harness(tmp_path: Path, jobs: int) -> None:
    """As `pkill -INT -f tests.hostile` sends it: to the command, its workers, and the commands that they run."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.hostile", "--cases", "10000", "--seed", "7", "--jobs", str(jobs), "--show"],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as harness:
        assert harness.stdout is not None
        try:
            assert harness.stdout.readline().startswith("clear: case 0 ")
            everyone = [psutil.Process(harness.pid), *psutil.Process(harness.pid).children(recursive=True)]
            for each in everyone:
                with suppress(psutil.NoSuchProcess):
                    each.send_signal(signal.SIGINT)
            out, _ = harness.communicate(timeout=LIMIT)
        finally:
            harness.kill()
    assert harness.returncode == 20
    [total] = [line for line in out.splitlines() if line.startswith("| all |")]
    assert 1 <= int(total.split("|")[2].replace(",", "")) < 100
    assert list(tmp_path.iterdir()) == []
    assert psutil.wait_procs(everyone[1:], timeout=LIMIT)[1] == []
    assert list(processes(str(tmp_path))) == []
