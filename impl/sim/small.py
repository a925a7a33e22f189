"""The smallest run that shows what a large one has shown, among its parts and among other small runs.

To leave out parts of a large run takes many runs, and may end where no single part can go, although far fewer would do.
Where a violation is not rare, some of the first small runs show it, each in a tenth of the time of a large one. It may
be another violation of the same oracle; so it counts only if it needs the rules that are switched off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, product

import msgspec

from impl.sim.check import CheckResult, Question, check
from impl.sim.shrink import Ask, ShrinkResult, shrink

SIZES = ((12, 5_000), (24, 8_000))
"""The operations of small runs, and the time from the first to the last in milliseconds."""
SEEDS = 400
"""How many seeds are tried for each size, with all streams, and with one, so that more happens to it."""
OPERATIONS, FAULTS = 12, 3
"""A person can read a run with at most as many of both: nothing smaller is looked for."""


def smallest(
    question: Question, checked: CheckResult, oracle: str, ask: Ask = check, go_on: Callable[[], bool] = lambda: True
) -> ShrinkResult:
    """The first run that a person can read, else the smallest that was found, that ``oracle`` objects to.

    ``checked``: the large run of ``question``. ``go_on`` is asked before each run; if it says no, the smallest run so
    far is the answer.
    """
    runs = 0

    def counted(candidate: Question) -> CheckResult:
        nonlocal runs
        runs += 1
        return ask(candidate)

    large = recorded(question, checked)
    best = ShrinkResult(large, 0, False)
    for candidate in chain(small_runs(question, oracle, counted, go_on), (large,)):
        found = shrink(candidate, oracle, counted, go_on=go_on)
        if sum(_size(found.question)) < sum(_size(best.question)):
            best = found
        if _is_readable(best.question):
            break
    return ShrinkResult(best.question, runs, best.complete)


def recorded(question: Question, checked: CheckResult) -> Question:
    """The question that makes the same run from its tape and its script."""
    run = checked.run
    options = msgspec.structs.replace(
        question.options, faults="none", recorded=tuple(run.faults), operations_of=run.script
    )
    return msgspec.structs.replace(question, seed=run.seed, options=options)


def small_runs(
    question: Question, oracle: str, ask: Ask = check, go_on: Callable[[], bool] = lambda: True
) -> Iterator[Question]:
    """Small runs that ``oracle`` objects to, and that violate nothing with all rules and without built-in defects."""
    if not question.without and not question.switches:
        return
    name = "partitions" if question.options.partitions else "streams"
    for (operations, span_ms), seed, many in product(SIZES, range(SEEDS), (getattr(question.options, name), 1)):
        if not go_on():
            return
        changed = {"operations": operations, "span_ms": span_ms, name: many}
        options = msgspec.structs.replace(question.options, **changed)
        candidate = msgspec.structs.replace(question, seed=seed, options=options)
        checked = ask(candidate)
        if any(violation.oracle == oracle for violation in checked.violations):
            found = recorded(candidate, checked)
            if not ask(msgspec.structs.replace(found, without=(), switches=())).violations:
                yield found


def _size(question: Question) -> tuple[int, int]:
    return len(question.options.operations_of or ()), len(question.options.recorded or ())


def _is_readable(question: Question) -> bool:
    operations, faults = _size(question)
    return operations <= OPERATIONS and faults <= FAULTS
