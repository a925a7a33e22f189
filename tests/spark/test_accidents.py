"""Accidents to a campaign on Spark: whatever process is killed, each unit is run, and counts once."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from spark.cluster.storage import FolderStorage
from tests.spark.running import BROKEN, TABLE, place, tables
from tests.spark.terminal_process import PATIENCE, TerminalProcess, command

TRACES = 5_000_000
"""Enough runs that some units are done, and some are not, when a process is killed."""

MODEL = ("--target", TABLE, "--scope", "default", "--without", *BROKEN, "--runs", TRACES)
CLUSTERS = ("--target", "cluster", "--steps", 60, "--without", "ST-14", "--runs", 128)

Wanted = Callable[[psutil.Process], bool]


class CampaignProcess(TerminalProcess):
    """A running campaign."""

    def __init__(self, folder: Path, target: Sequence[object] = MODEL) -> None:
        super().__init__("campaign", "run", *target, "--seed", 7, "--out", folder, "--master", "local[2]")

    def wait_for_units(self, storage: FolderStorage, units: int) -> None:
        """Wait until N units are done."""
        self.wait_for(lambda: len(storage.list("runs")) >= units)


def resume(folder: Path, *more: object) -> subprocess.CompletedProcess[str]:
    """Run the rest of the campaign."""
    words = command("campaign", "resume", folder, "--master", "local[2]", *more)
    return subprocess.run(words, capture_output=True, text=True, check=False)


def below(running: CampaignProcess, wanted: Wanted) -> Iterator[psutil.Process]:
    """All processes that a process started, directly or not."""
    for process in psutil.Process(running.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if wanted(process):
                yield process


def is_java(process: psutil.Process) -> bool:
    """Whether a process is Spark's Java."""
    return process.name() == "java"


def is_worker(process: psutil.Process) -> bool:
    """Whether a process is a Python worker: a child of the daemon that starts them."""
    parent = process.parent()
    return all("pyspark.daemon" in " ".join(each.cmdline()) for each in (process, parent) if each is not None)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The tables of an undisturbed campaign."""
    folder = tmp_path_factory.mktemp("whole") / "campaign"
    running = CampaignProcess(folder)
    code, _, said = running.end()
    assert code == 12, said
    return tables(place(folder))


@pytest.mark.slow
def test_a_killed_worker_is_replaced(tmp_path: Path, whole: dict[str, bytes]) -> None:
    """Spark retries the killed worker's units, and the tables are those of an undisturbed campaign."""
    running = CampaignProcess(tmp_path / "a")
    running.wait_for_units(place(tmp_path / "a"), 2)
    next(below(running, is_worker)).kill()
    code, _, said = running.end()

    assert code == 12, said
    assert tables(place(tmp_path / "a")) == whole


@pytest.mark.slow
def test_clusters_survive_a_killed_worker_and_a_killed_driver(tmp_path: Path) -> None:
    """The tables of clusters, too, are those of an undisturbed campaign, after both accidents in turn."""
    folders = [tmp_path / name for name in ("whole", "a")]
    running = CampaignProcess(folders[0], CLUSTERS)
    code, _, said = running.end()
    assert code == 12, said
    running = CampaignProcess(folders[1], CLUSTERS)
    running.wait_for_units(place(folders[1]), 2)
    next(below(running, is_worker)).kill()
    running.wait_for_units(place(folders[1]), 8)
    os.kill(running.pid, signal.SIGKILL)
    running.end()

    assert resume(folders[1]).returncode == 12
    assert tables(place(folders[1])) == tables(place(folders[0]))


@pytest.mark.slow
def test_a_killed_java_leaves_what_can_go_on(tmp_path: Path, whole: dict[str, bytes]) -> None:
    """The command ends with one line, and ``resume`` runs the missing units."""
    running = CampaignProcess(tmp_path / "a")
    running.wait_for_units(place(tmp_path / "a"), 15)
    for java in below(running, is_java):
        java.kill()
    code, _, said = running.end()

    assert code == 20, said
    assert len(said.strip().splitlines()) == 1, said
    assert resume(tmp_path / "a", "--model", TABLE).returncode == 12
    assert tables(place(tmp_path / "a")) == whole


@pytest.mark.slow
def test_a_killed_driver_leaves_what_can_go_on(tmp_path: Path, whole: dict[str, bytes]) -> None:
    """No process outlives the killed driver, and ``resume`` runs the missing units."""
    running = CampaignProcess(tmp_path / "a")
    running.wait_for_units(place(tmp_path / "a"), 2)
    left = psutil.Process(running.pid).children(recursive=True)
    os.kill(running.pid, signal.SIGKILL)
    running.end()

    _, alive = psutil.wait_procs(left, timeout=PATIENCE)
    assert alive == []
    assert resume(tmp_path / "a", "--model", TABLE).returncode == 12
    assert tables(place(tmp_path / "a")) == whole


@pytest.mark.slow
def test_ctrl_c_leaves_what_can_go_on(tmp_path: Path, whole: dict[str, bytes]) -> None:
    """The command prints its findings and how to resume, and ``resume`` runs the missing units."""
    running = CampaignProcess(tmp_path / "a")
    running.wait_for_units(place(tmp_path / "a"), 3)
    os.kill(running.pid, signal.SIGINT)
    code, found, said = running.end()

    assert code == 12, said
    assert f"Ended early (interrupted); go on with `holdfast campaign resume {tmp_path / 'a'} --model {TABLE}`" in found
    assert resume(tmp_path / "a", "--model", TABLE).returncode == 12
    assert tables(place(tmp_path / "a")) == whole
