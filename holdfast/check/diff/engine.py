"""The comparison of two models, versions or variants: which steps were gained and lost, and what else changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import attrs

from holdfast.check.budget import INTERRUPTED, SEARCHING, Budget, Meter, Progress, interruptible
from holdfast.check.diff.compared_system import ComparedSystem, same_action
from holdfast.check.diff.lockstep import Lockstep, LockstepResult, Side
from holdfast.check.json_values import as_json
from holdfast.check.result import HOLDS, OUT_OF_BUDGET, Result
from holdfast.check.search.engine import NO_BUDGET, search
from holdfast.check.worker_pool import WorkerPool
from holdfast.ir.system import Scope, System

COMPARING = "comparing"
"""The value of ``Progress.stage`` while steps are compared."""


SEARCHING_BOTH = "searching both"
"""The value of ``Progress.stage`` while another process still searches."""

LONG = 5_000
"""The number of compared pairs from which on another process makes the searches.

A process begins in about the time that the comparison needs for this number of pairs.
"""


@attrs.frozen
class Version:
    """One of the two compared models: a system, its scope, and what the command line calls it."""

    system: System
    scope: Scope
    target: str


@attrs.frozen
class RuleDifference:
    """The differences about one rule.

    - ``only``: the side that has the rule, if the other does not.
    - ``refusals``: for sides A and B, the number of steps that the rule refuses there and the other side takes.
    - ``idle``: the side in which the rule decides nothing, if it decides something in the other.
    """

    label: str
    only: Side | None
    refusals: tuple[int, int]
    idle: Side | None


@attrs.frozen
class NameDifferences:
    """Names of parts of two models: parts that only one side has, and parts that differ."""

    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    changed: tuple[str, ...] = ()

    @classmethod
    def of(cls, a: dict[str, object], b: dict[str, object]) -> NameDifferences:
        """Compare two mappings from names to parts. The names are in the order of the source."""
        return cls(
            tuple(name for name in a if name not in b),
            tuple(name for name in b if name not in a),
            tuple(name for name in a if name in b and a[name] != b[name]),
        )

    @property
    def some(self) -> bool:
        """Whether there is any difference."""
        return bool(self.only_a or self.only_b or self.changed)


@attrs.frozen(kw_only=True)
class Diff:
    """The differences between ``a`` and ``b``.

    - ``compared``: the comparison step by step.
    - ``searched_a``, ``searched_b``: the searches; None for a search that was not made after an interruption.
    - ``fields``: the variables, without ghosts; ``bounds``: sizes, budgets and constants of the scopes.
    - ``ended_by``: the limit that ended the comparison or a search, or ``interrupted``. Then the answer is partial.
    """

    a: Version
    b: Version
    compared: LockstepResult
    searched_a: Result | None
    searched_b: Result | None
    rules: tuple[RuleDifference, ...]
    actions: NameDifferences
    fields: NameDifferences
    bounds: NameDifferences
    ended_by: str | None
    seconds: float = attrs.field(eq=False)

    @property
    def same_behaviour(self) -> bool:
        """Whether the comparison found no step that only one side takes (so far, if it ended early)."""
        return not self.compared.differences

    @property
    def exit_code(self) -> int:
        """0 if the comparison is complete, whatever it found; 20 if it is not."""
        return HOLDS if self.ended_by is None else OUT_OF_BUDGET


def diff(
    a: Version,
    b: Version,
    *,
    budget: Budget = NO_BUDGET,
    progress: Callable[[Progress], None] | None = None,
    cores: int | None = None,
) -> Diff:
    """Compare both step by step, and search each completely, past violations.

    Each of these three parts has the limits of memory and states for itself; they share the time. The first Ctrl-C ends
    the comparison with a partial answer. On several ``cores`` (None: all that there are) the searches are made during
    a long comparison, in another process, unless a limit of time or memory is to be shared. The answer is the same.
    Raises UsageError and ModelError as a search does.
    """
    whole = Meter(budget)
    cores = cores or os.cpu_count() or 1
    halves = ComparedSystem(a.system, a.scope, a.target), ComparedSystem(b.system, b.scope, b.target)
    meter = Meter(_share(whole, 3), None if progress is None else lambda now: progress(_comparing(now)))
    lockstep = Lockstep(*halves, meter)
    alone = cores == 1 or budget.seconds is not None or budget.memory_bytes is not None
    with interruptible(meter):
        done = lockstep.advance(None if alone else LONG)
    results: list[Result | None] = []
    if done:
        compared = lockstep.result()
        results = _one_after_the_other((a, b), whole, meter.spent, progress, cores)
    else:
        compared, results = _side_by_side((a, b), lockstep, budget, cores)
    ended = [meter.spent, *(found.ended_by for found in results if found is not None)]
    return Diff(
        a=a,
        b=b,
        compared=compared,
        searched_a=results[0],
        searched_b=results[1],
        rules=tuple(_rules(a.system, b.system, results, compared)),
        actions=_actions(a.system, b.system),
        fields=_fields(a.system, b.system),
        bounds=_bounds(a.scope, b.scope),
        ended_by=_limit(budget, [limit for limit in ended if limit is not None]),
        seconds=whole.seconds,
    )


def _one_after_the_other(
    versions: Sequence[Version],
    whole: Meter,
    ended_by: str | None,
    progress: Callable[[Progress], None] | None,
    cores: int,
) -> list[Result | None]:
    """The searches of both versions after the comparison, which ``ended_by`` has ended."""
    results: list[Result | None] = []
    # The comparison had a third of the time. The search of A gets half of the rest, the search of B all that is left.
    for parts, version in zip((2, 1), versions, strict=True):
        if ended_by == INTERRUPTED:
            results.append(None)
            continue
        found = _searched(version, _share(whole, parts), cores, progress)
        results.append(found)
        ended_by = found.ended_by
    return results


def _side_by_side(
    versions: Sequence[Version], lockstep: Lockstep, budget: Budget, cores: int
) -> tuple[LockstepResult, list[Result | None]]:
    """The rest of the comparison, and the searches of both versions, which another process makes meanwhile.

    After Ctrl-C the searches that are not done are left out.
    """
    meter, results = lockstep.meter, list[Result | None]()
    # A model's class need not be importable in another process, and the search does without it.
    tasks = [attrs.evolve(version, system=attrs.evolve(version.system, python=object)) for version in versions]

    def look(_: int) -> None:
        meter.stage(SEARCHING_BOTH)
        if meter.spent == INTERRUPTED:
            raise KeyboardInterrupt

    # In this order: the pool sets a handler for SIGTERM, and so does ``interruptible``.
    with WorkerPool(1, _nothing, None) as pool, interruptible(meter):
        searches = pool.in_order(partial(_searched, budget=budget, cores=cores - 1), tasks, look)
        lockstep.advance()
        compared = lockstep.result()
        with suppress(KeyboardInterrupt):
            look(0)
            results += searches
    return compared, [*results, None, None][:2]


def _searched(
    version: Version, budget: Budget, cores: int, progress: Callable[[Progress], None] | None = None
) -> Result:
    return search(
        version.system,
        version.scope,
        keep_going=True,
        budget=budget,
        progress=progress,
        target=version.target,
        cores=cores,
    )


def _nothing(_: None) -> None:
    """A task brings its model, so a process has nothing to prepare."""


def _share(whole: Meter, parts: int) -> Budget:
    """The budget of the next part when ``parts`` parts are left: an equal share of the rest of the time."""
    budget = whole.budget
    if budget.seconds is None:
        return budget
    return attrs.evolve(budget, seconds=max((budget.seconds - whole.seconds) / parts, 0.001))


def _limit(budget: Budget, ended_by: Sequence[str]) -> str | None:
    """The limit that ended the comparison. For time it names the limit that the user set, not the share of a part."""
    if not ended_by:
        return None
    return budget.out_of_time if ended_by[0].startswith("time") else ended_by[0]


def _comparing(now: Progress) -> Progress:
    return attrs.evolve(now, stage=COMPARING) if now.stage == SEARCHING else now


# What the models say ------------------------------------------------------------------------------------------------


def _rules(a: System, b: System, results: Sequence[Result | None], compared: LockstepResult) -> list[RuleDifference]:
    """The rules that differ, in the order of the source."""
    ours, theirs = _labels(a), _labels(b)
    # Whether a rule decides nothing is known only if both searches are complete.
    whole = [result for result in results if result is not None and result.ended_by is None]
    idle = [{rule.label for rule in result.figures.undecisive} for result in whole] if len(whole) == 2 else [set()] * 2
    found: list[RuleDifference] = []
    for label in dict.fromkeys((*ours, *theirs)):
        only: Side | None = None if label in ours and label in theirs else "A" if label in ours else "B"
        quiet: Side | None = None
        if only is None and (label in idle[0]) != (label in idle[1]):
            quiet = "A" if label in idle[0] else "B"
        refusals = _refusals(compared, "B", label), _refusals(compared, "A", label)
        if only or quiet or any(refusals):
            found.append(RuleDifference(label, only, refusals, quiet))
    return found


def _labels(system: System) -> list[str]:
    return [rule.label for rule in system.rules if rule.has_label and rule.label not in system.removed]


def _refusals(compared: LockstepResult, taker: Side, label: str) -> int:
    """The number of steps of ``taker`` that the rule refuses in the other system."""
    answer = [each for each in compared.of(taker) if each.answer.kind == "refused" and each.answer.what == label]
    return sum(each.steps for each in answer)


def _actions(a: System, b: System) -> NameDifferences:
    ours = {action.name: action for action in (a.init, *a.actions)}
    theirs = {action.name: action for action in (b.init, *b.actions)}
    # Not ==, which would also compare the places in the source.
    changed = tuple(name for name in ours if name in theirs and not same_action(ours[name], theirs[name]))
    return attrs.evolve(NameDifferences.of(dict.fromkeys(ours), dict.fromkeys(theirs)), changed=changed)


def _fields(a: System, b: System) -> NameDifferences:
    def kinds(system: System) -> dict[str, object]:
        return {var.name: (var.keys, var.value, var.given) for var in system.variables if not var.ghost}

    return NameDifferences.of(kinds(a), kinds(b))


def _bounds(a: Scope, b: Scope) -> NameDifferences:
    def sizes(scope: Scope) -> dict[str, object]:
        return {**scope.sizes, **{f"budget({name})": most for name, most in scope.budgets.items()}, **scope.given}

    return NameDifferences.of(sizes(a), sizes(b))


# As JSON ------------------------------------------------------------------------------------------------------------


def diff_to_json(found: Diff) -> dict[str, Any]:
    """The comparison as JSON values. Equal comparisons give equal values, except for ``timing`` of the searches."""
    compared = found.compared
    return {
        "a": _version(found.a, found.searched_a),
        "b": _version(found.b, found.searched_b),
        "same_behaviour": found.same_behaviour,
        "ended_by": found.ended_by,
        "exit_code": found.exit_code,
        "compared": as_json(compared),
        "lost": as_json(compared.of("A")),
        "gained": as_json(compared.of("B")),
        "answers": as_json(compared.answers),
        "rules": as_json(found.rules),
        "actions": as_json(found.actions),
        "fields": as_json(found.fields),
        "bounds": as_json(found.bounds),
    }


def _version(version: Version, result: Result | None) -> dict[str, Any]:
    system = version.system
    return {
        "model": system.name,
        "target": version.target,
        "scope": version.scope.name,
        "variants": list(system.chosen),
        "without": list(system.removed),
        "search": as_json(result),
    }
