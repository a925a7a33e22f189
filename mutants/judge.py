"""Judging faults: run the tests that reach one until a test fails."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs

from mutants.faults import PlantedFault
from mutants.lifeline import LIFELINE
from mutants.record import CoverageRecord
from mutants.tree import plant
from mutants.trial import PLAN, Plan

TOOL = Path(__file__).parents[1]

FIRST, SECONDS = 5.0, 120.0
"""Seconds, as recorded without a fault: of the tests in the first process, and of all tests of a fault."""
WALL = 240.0
"""Seconds after the first test of a fault. After that no further test begins: a fault may slow the engine down."""
SLOWER, LEAST = 10.0, 30.0
"""A test may take SLOWER times as long as without the fault, and LEAST seconds in any case."""
CONFTEST = "ImportError while loading conftest"
"""Pytest's message if the fault breaks the import of a conftest; no plugin is called then."""
STARTING = 120.0
"""Seconds for the start of pytest, in addition to the limits of the tests."""


@attrs.frozen
class Outcome:
    """The outcome of a fault.

    ``noticed_by``: the test that failed, or the test file that could not be imported, or None. ``how``: "failed",
    "timed out", "crashed", "crashed after" or "not importable"; if no test noticed the fault, the reason why it could
    not be judged, or empty. ``ran`` of ``reaching`` tests ran. ``left_out`` tests did not run for lack of time,
    although no other test failed.
    """

    fault: PlantedFault
    noticed_by: str | None
    how: str
    ran: int
    reaching: int
    left_out: int


@attrs.frozen
class _Ending:
    """The end of a pytest process: the tests that passed, and the test or file that failed, if any, and how.

    ``broken``: the problem, if pytest itself did not end as it should.
    """

    passed: list[str]
    failed: str | None = None
    how: str = ""
    broken: str = ""


class Judge:
    """Judges faults, each in a copy of the tree at ``tree``; ``scratch`` is a folder for the copies.

    Several threads may use one judge. ``stop`` ends all its processes. ``least``: the seconds that every test may take,
    however fast it is without a fault.
    """

    def __init__(self, record: CoverageRecord, tree: Path, kernels: Path, scratch: Path, least: float = LEAST) -> None:
        self._least = least
        self._record, self._tree, self._kernels, self._scratch = record, tree, kernels, scratch
        self._stopped = threading.Event()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        # A copy of this tool: somebody may edit the checkout while the tool runs.
        self._tool = scratch / "tool"
        shutil.copytree(TOOL / "mutants", self._tool / "mutants", ignore=shutil.ignore_patterns("__pycache__"))
        # The lifeline: the write end is never used. It closes when this process ends, however it ends, and then the
        # started processes end too.
        self._alive, self._open = os.pipe()

    @property
    def stopped(self) -> bool:
        """Whether ``stop`` was called. Outcomes after that are meaningless."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """End all processes of the judge, and start no more."""
        with self._lock:
            self._stopped.set()
            for process in self._running:
                _kill(process)

    def judge(self, fault: PlantedFault) -> Outcome:
        """Plant a fault in a copy of the tree, and run the tests that reach it, until one fails."""
        order = self._record.chosen(self._record.reaching(fault))
        with self._sandbox() as folder:
            plant(folder / "tree", fault)
            ran = 0
            batches = list(self._batches(order))
            for batch in batches:
                ending = self._run(folder, [self._record.tests[test] for test in batch], stop=True)
                ran += len(ending.passed)
                if ending.failed is not None:
                    ran += "::" in ending.failed
                    return Outcome(fault, ending.failed, ending.how, ran, len(order), 0)
                if ending.broken:
                    return Outcome(fault, None, ending.broken, ran, len(order), len(order) - ran)
        return Outcome(fault, None, "", ran, len(order), len(order) - ran)

    def failing_without(self, tests: Sequence[str]) -> set[str]:
        """The tests that also fail on the tree without a fault; their failure is no evidence for a fault."""
        if not tests:
            return set()
        with self._sandbox() as folder:
            ending = self._run(folder, tests, stop=False)
        return set(tests) - set(ending.passed)

    def _batches(self, order: Sequence[int]) -> Iterator[list[int]]:
        """The tests to run, at most SECONDS of them, in one or two batches.

        The first batch has about FIRST seconds: it notices most faults, and the start of the second is then saved.
        """
        taken: list[int] = []
        total = 0.0
        for test in order:
            total += self._record.seconds[test]
            if total > SECONDS and taken:
                break
            taken.append(test)
        total = 0.0
        for place, test in enumerate(taken):
            total += self._record.seconds[test]
            if total > FIRST and place:
                yield taken[:place]
                yield taken[place:]
                return
        if taken:
            yield taken

    @contextmanager
    def _sandbox(self) -> Iterator[Path]:
        """A temporary folder with a copy of the tree."""
        with tempfile.TemporaryDirectory(dir=self._scratch, ignore_cleanup_errors=True) as name:
            shutil.copytree(self._tree, Path(name) / "tree")
            yield Path(name)

    def _run(self, folder: Path, tests: Sequence[str], *, stop: bool) -> _Ending:
        tree, plan_path, log = folder / "tree", folder / "plan.json", folder / "log"
        log.write_text("", encoding="utf-8")
        seconds = dict(zip(self._record.tests, self._record.seconds, strict=True))
        limits = [(test, max(self._least, SLOWER * seconds[test])) for test in tests]
        wall = WALL if stop else sum(limit for _, limit in limits)
        Plan(limits, str(log), str(tree), str(self._kernels), wall).write(plan_path)
        files = dict.fromkeys(test.partition("::")[0] for test in tests)
        options = ["-p", "mutants.trial", "-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:xdist", "-q"]
        if stop:
            options.append("--exitfirst")
        with self._lock, (folder / "out").open("wb") as out:
            if self.stopped:
                return _Ending([])
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *options, *profile(tree), *files],
                cwd=tree,
                env=environment(tree, self._tool)
                | {PLAN: str(plan_path), LIFELINE: str(self._alive), "TMPDIR": str(folder)},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[self._alive],
            )
            self._running.add(process)
        code = None
        try:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(STARTING + wall + max(limit for _, limit in limits))
        finally:
            _kill(process)
            with self._lock:
                self._running.discard(process)
        process.wait()
        output = (folder / "out").read_text(encoding="utf-8", errors="replace")
        return _ending(code, log.read_text(encoding="utf-8"), output)


def environment(tree: Path, tool: Path = TOOL) -> dict[str, str]:
    """The environment of tests that run in a tree: imports find the tree's packages first, then this tool's plugins."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COV", "PYTEST", "MUTANTS"))}
    return kept | {"PYTHONPATH": f"{tree}{os.pathsep}{tool}"}


def profile(tree: Path) -> list[str]:
    """The pytest option for the Hypothesis profile of ``make test``, if the tree has this profile."""
    conftest = tree / "tests" / "conftest.py"
    is_there = conftest.is_file() and '"ci"' in conftest.read_text(encoding="utf-8")
    return ["--hypothesis-profile=ci"] if is_there else []


def _ending(code: int | None, log: str, output: str) -> _Ending:
    """The end of a process, from its exit code, its log and its output. ``code``: None if it was killed at the limit.

    Raises RuntimeError if the tests would not run on the copy of the tree.
    """
    of: dict[str, list[str]] = {}
    for line in log.splitlines():
        event, _, about = line.partition(" ")
        of.setdefault(event, []).append(about)
    if wrong := of.get("wrong"):
        raise RuntimeError(f"tests of a copy of the tree would run on {wrong[0]}")
    passed, failed = of.get("passed", []), of.get("failed", [])
    if failed:
        return _Ending(passed, failed[0], "failed")
    if files := of.get("uncollectable"):
        return _Ending(passed, files[0], "not importable")
    if CONFTEST in output:
        return _Ending(passed, output.partition(CONFTEST)[2].split("\n")[0].strip(" '.:"), "not importable")
    ended = {*passed, *of.get("collected", [])}
    if under_way := [about for about in (*of.get("begun", []), *of.get("collecting", [])) if about not in ended]:
        return _Ending(passed, under_way[0], "timed out" if code in (None, 1) else "crashed")
    if code is not None and code < 0 and passed:
        # A crash after a passed test: the fault has damaged the memory of the process, and the damage shows at its end.
        return _Ending(passed[:-1], passed[-1], "crashed after")
    # Exit code 2: no time was left for the other tests. Exit code 5: the fault made all tests of the plan vanish.
    broken = "" if code in (0, 5) or (code == 2 and passed) else f"pytest ended with {code}: {output.strip()[-200:]}"
    return _Ending(passed, broken=broken)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all processes in its group, which are those that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
