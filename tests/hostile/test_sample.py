"""A sample of hostile cases: each ends with a clear answer. ``make hostile`` runs ten thousand."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.hostile.case import KINDS
from tests.hostile.judgement import VERDICTS
from tests.hostile.running import ROOT

CASES, SEED = 40, 7


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the cases need Linux")
def test_a_sample_ends_clearly() -> None:
    """No case of the sample ends in an internal error, a traceback, a hang, a signal or raw control characters."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.hostile", "--cases", str(CASES), "--seed", str(SEED)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = {cells[1].strip(): cells[2:-1] for line in ran.stdout.splitlines() if (cells := line.split("|"))[2:]}
    assert set(rows) >= {*KINDS, "all"}
    assert [int(cell) for cell in rows["all"]] == [CASES, CASES, *[0] * (len(VERDICTS) - 1)]
