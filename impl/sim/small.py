"""The smallest run with a violation of the same oracle, among the parts of a large run and among other small runs.

To shrink a large run takes many runs, and may end too early: no single part can go, although far fewer parts would do.
If a violation is not rare, some of the first small runs show it, each in a part of the time of a large run. A small
run may show another violation of the same oracle. So it counts only if it shows none with all rules switched on. An
``ask`` that leaves violations out may tell more of them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, product

import msgspec

from impl.sim.check import CheckResult, Question, check
from impl.sim.run import always
from impl.sim.shrink import Ask, SmallestRun, shrink

SIZES = ((12, 5_000), (24, 8_000), (48, 14_000))
"""The operations of small runs, and the time from the first to the last in milliseconds."""
SEEDS, ROUND = 300, 20
"""The number of seeds that are tried, and of those after which the next size has its turn. Each is tried with all
streams, and with one, to which more happens.
"""
OPERATIONS, FAULTS = 12, 3
"""A person can read a run with at most this many operations and faults: the search ends there."""


def smallest(
    question: Question,
    checked: CheckResult,
    oracle: str,
    ask: Ask = check,
    go_on: Callable[[], bool] = always,
    search: Callable[[], bool] = always,
) -> SmallestRun:
    """The first run that ``oracle`` objects to and that a person can read; else the smallest run found.

    ``checked``: the large run of ``question``. ``go_on`` is asked before each run; if it says no, the smallest run so
    far is the answer. ``search`` is asked before each small run that is drawn. It has to say no earlier than ``go_on``:
    where no small run shows the violation, runs are left for the large one.
    """
    runs = 0

    def counted(candidate: Question) -> CheckResult:
        nonlocal runs
        runs += 1
        return ask(candidate)

    large = recorded(question, checked)
    best = SmallestRun(large, 0, False)
    # Small runs come first, since they are cheap. The large run is shrunk only if no readable run was found.
    for candidate in chain(small_runs(question, oracle, counted, lambda: go_on() and search()), (large,)):
        found = shrink(candidate, oracle, counted, go_on=go_on)
        if sum(_size(found.question)) < sum(_size(best.question)):
            best = found
        if _is_readable(best.question):
            break
    return SmallestRun(best.question, runs, best.complete)


def recorded(question: Question, checked: CheckResult) -> Question:
    """The question that makes the same run from its tape and its script."""
    run = checked.run
    options = msgspec.structs.replace(
        question.options, faults="none", recorded=tuple(run.faults), operations_of=run.script
    )
    return msgspec.structs.replace(question, seed=run.seed, options=options)


def small_runs(
    question: Question, oracle: str, ask: Ask = check, go_on: Callable[[], bool] = always
) -> Iterator[Question]:
    """Small runs that ``oracle`` objects to. With all rules and without built-in defects, they violate nothing."""
    if not question.without and not question.switches:
        return  # There is nothing to mend, so no candidate can pass the comparison below.
    name = "partitions" if question.options.partitions else "streams"
    keys = dict.fromkeys((getattr(question.options, name), 1))
    rounds = [range(begin, begin + ROUND) for begin in range(0, SEEDS, ROUND)]
    tries = (each for seeds in rounds for each in product(SIZES, seeds, keys))
    for (operations, span_ms), seed, many in tries:
        if not go_on():
            return
        changed = {"operations": operations, "span_ms": span_ms, name: many}
        options = msgspec.structs.replace(question.options, **changed)
        candidate = msgspec.structs.replace(question, seed=seed, options=options)
        checked = ask(candidate)
        if any(violation.oracle == oracle for violation in checked.violations):
            found = recorded(candidate, checked)
            mended = ask(msgspec.structs.replace(found, without=(), switches=()))
            # A run that cannot be judged has no violations either.
            if not mended.violations and mended.error is None:
                yield found


def _size(question: Question) -> tuple[int, int]:
    return len(question.options.operations_of or ()), len(question.options.recorded or ())


def _is_readable(question: Question) -> bool:
    operations, faults = _size(question)
    return operations <= OPERATIONS and faults <= FAULTS
