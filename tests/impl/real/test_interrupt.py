"""Signals during ``holdfast cluster test``: it reports what happened so far, and leaves no process and no folder."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
from pathlib import Path

import psutil
import pytest

from holdfast.cli.app import main
from holdfast.cli.output import Ticker
from impl.cli import cluster_test
from impl.real.children import Children
from impl.real.clock import new_clock
from impl.real.problems import ClusterError
from tests.impl.real.driver_program import controller_start

pytest.importorskip("moto")
pytest.importorskip("obstore")


class SignallingTicker(Ticker):
    """Sends this process a signal when a phase begins."""

    phase = ""
    number = signal.SIGINT

    def show(self, text: str) -> None:
        """Send the signal."""
        if text == self.phase:
            os.kill(os.getpid(), self.number)


@pytest.mark.parametrize(
    ("phase", "number"),
    [
        ("start", signal.SIGINT),
        pytest.param("heal", signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param("read back", signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("models", signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_a_run_with_a_report(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    phase: str,
    number: signal.Signals,
) -> None:
    """The report has the kills and the records so far; the exit code is 20, and nothing is left."""
    monkeypatch.setattr(SignallingTicker, "phase", phase)
    monkeypatch.setattr(SignallingTicker, "number", number)
    monkeypatch.setattr(cluster_test, "Ticker", SignallingTicker)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = main(["cluster", "test", "--seconds", "5", "--kill-every", "2", "--kills-only", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (code, found["exit_code"], found["violations"]) == (20, 20, []), found
    assert found["verdict"] == f"nothing violated so far; interrupted in the phase {phase}"
    assert "model fast_close" in found["left_out"]
    assert ("oracle storage" in found["left_out"]) == (phase != "models")
    if phase != "start":
        assert found["records"]["acked"] > 0
        assert found["faults"]["kill"] > 0
    processes = [each for each in psutil.Process().children(recursive=True) if "impl.real.child" in each.cmdline()]
    assert processes == []
    assert list(tmp_path.iterdir()) == []


def test_no_process_starts_after_the_end(tmp_path: Path) -> None:
    """A process that begins to start when all are ended ends, too, and so does a later one."""

    async def talk() -> list[BaseException | object]:
        clock = new_clock()
        children = Children(tmp_path, clock, dict(os.environ))
        first = asyncio.get_running_loop().create_task(children.start(controller_start(tmp_path, clock.base)))
        await asyncio.sleep(0)
        await children.close()
        second = children.start(controller_start(tmp_path, clock.base, "c0.1"))
        return list(await asyncio.gather(first, second, return_exceptions=True))

    assert [type(each) for each in asyncio.run(talk())] == [ClusterError, ClusterError]
