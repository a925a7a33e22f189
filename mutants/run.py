"""Judges many faults in parallel, until all are done, time is up, or the run is interrupted."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

import attrs

from mutants.clock import now
from mutants.faults import PlantedFault
from mutants.judge import Judge, Outcome
from mutants.recording import Recording


@attrs.define
class MutationRun:
    """The outcomes so far, by the index of the fault; the unsound tests; and whether the run was interrupted."""

    outcomes: dict[int, Outcome] = attrs.Factory(dict)
    unsound: frozenset[str] = frozenset()
    interrupted: bool = False

    @property
    def ordered(self) -> list[Outcome]:
        """The outcomes in the order in which the faults were drawn."""
        return [self.outcomes[index] for index in sorted(self.outcomes)]


def run(
    recorded: Recording,
    faults: Sequence[PlantedFault],
    jobs: int,
    seconds: float,
    progress: Callable[[int, Outcome], None],
) -> MutationRun:
    """Judge the faults, ``jobs`` at a time, and begin none after ``seconds``.

    Afterwards, the tests that noticed faults run on the tree without a fault, to find unsound ones. Ctrl-C
    (KeyboardInterrupt) ends the run with the outcomes so far. Raises RuntimeError if a recorded test fails in a copy of
    the tree without a fault.
    """
    begun, found = now(), MutationRun()
    with tempfile.TemporaryDirectory(prefix="holdfast-mutants-", ignore_cleanup_errors=True) as scratch:
        judge = Judge(recorded.record, recorded.tree, recorded.kernels, Path(scratch))
        pool = ThreadPoolExecutor(jobs)
        try:
            fastest = recorded.record.chosen(-1)[:1]
            if judge.failing_without([recorded.record.tests[test] for test in fastest]):
                raise RuntimeError(f"a test that passed fails in another copy of {recorded.tree}, without any fault")
            left = iter(enumerate(faults))
            under_way: dict[Future[Outcome], int] = {}
            while True:
                while len(under_way) < jobs and now() - begun < seconds and (following := next(left, None)):
                    under_way[pool.submit(judge.judge, following[1])] = following[0]
                if not under_way:
                    break
                # The timeout lets Ctrl-C interrupt the wait.
                for future in wait(under_way, 0.5, FIRST_COMPLETED).done:
                    index = under_way.pop(future)
                    found.outcomes[index] = future.result()
                    progress(len(found.outcomes), found.outcomes[index])
            # A test file that cannot be imported need not run again: without the fault it was recorded, so it can be.
            noticing = dict.fromkeys(outcome.noticed_by or "" for outcome in found.ordered)
            found.unsound = frozenset(judge.failing_without([test for test in noticing if "::" in test]))
        except KeyboardInterrupt:
            found.interrupted = True
        finally:
            judge.stop()
            pool.shutdown()
    return found
