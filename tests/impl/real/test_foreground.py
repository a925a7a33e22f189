"""The tour of docs/cluster.md: move a partition while producing, kill its owner, and see nothing lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

pytest.importorskip("moto")
pytest.importorskip("obstore")
COMMAND = [sys.executable, "-m", "holdfast", "cluster"]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A cluster in the foreground, whose addresses are in the folder."""
    process = subprocess.Popen(  # the command of this repository
        [*COMMAND, "up", "--dir", str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert "Ctrl-C ends them" in process.stdout.readline()
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def said(folder: Path, *argv: str) -> str:
    """The output of a command, which ends with 0."""
    command = [*COMMAND, *argv, "--dir", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_the_tour(cluster: subprocess.Popen[str], tmp_path: Path) -> None:
    """Records that are sent during a move and after kill -9 of the owner are all there, and Ctrl-C ends in order."""
    assert said(tmp_path, "topics", "--create", "orders", "--partitions", "3") == "orders with 3 partitions\n"
    produce = [*COMMAND, "produce", "orders", "--records", "1500", "--rate", "150", "--dir", str(tmp_path)]
    producing = subprocess.Popen(produce, stdout=subprocess.PIPE, text=True)
    assert said(tmp_path, "reassign", "orders", "0", "3") == "orders-0 moves to broker 3\n"
    os.kill(json.loads((tmp_path / "cluster.json").read_bytes())["brokers"]["3"]["pid"], signal.SIGKILL)
    assert producing.communicate()[0] == "1,500 records acknowledged\n"
    assert "0 lost, 0 twice" in said(tmp_path, "consume", "orders")
    assert "b3.1" in said(tmp_path, "status")
    children = psutil.Process(cluster.pid).children()
    assert len(children) == 5
    cluster.send_signal(signal.SIGINT)
    assert cluster.wait() == 0
    assert psutil.wait_procs(children, timeout=60)[1] == []
    assert [path.name for path in tmp_path.iterdir()] == ["orders.acks"]
