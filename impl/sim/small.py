"""A small run that shows what a large one has shown: few operations in a short time, of another seed.

To leave out parts of a large run takes many runs, and may end where no single part can go, although far fewer would do.
Where a violation is not rare, some of the first hundred small runs show it, each in a tenth of the time of a large one.
It may be another violation of the same oracle; so it counts only if it needs the rules that are switched off.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from impl.sim.check import Checked, Question, check
from impl.sim.shrink import Ask

SIZES = ((12, 5_000), (24, 8_000))
"""The operations of small runs, and the time from the first to the last in milliseconds."""
SEEDS = 200
"""How many small runs of each size are made."""


def recorded(question: Question, checked: Checked) -> Question:
    """The question that makes the same run from its tape and its script."""
    run = checked.run
    options = msgspec.structs.replace(
        question.options, faults="none", recorded=tuple(run.faults), operations_of=run.script
    )
    return msgspec.structs.replace(question, seed=run.seed, options=options)


def small_run(
    question: Question, oracle: str, ask: Ask = check, go_on: Callable[[], bool] = lambda: True
) -> tuple[Question | None, int]:
    """A small run that ``oracle`` objects to, None if there is none among the first; and how many runs it took.

    ``question`` has a rule that is switched off, or a defect that is built in. The run does not violate anything
    without that. ``go_on`` is asked before each run.
    """
    runs = 0
    for operations, span_ms in SIZES:
        for seed in range(SEEDS):
            if not go_on():
                return None, runs
            options = msgspec.structs.replace(question.options, operations=operations, span_ms=span_ms)
            candidate = msgspec.structs.replace(question, seed=seed, options=options)
            checked = ask(candidate)
            runs += 1
            if any(violation.oracle == oracle for violation in checked.violations):
                found = recorded(candidate, checked)
                runs += 1
                if not ask(msgspec.structs.replace(found, without=(), switches=())).violations:
                    return found, runs
    return None, runs
