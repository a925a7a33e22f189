"""Compare the answers of two engines about one system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from holdfast.check.live.result import LiveResult, live_to_json
from holdfast.check.result import Result, to_json
from holdfast.check.search.engine import search
from holdfast.check.tlc.agreement import SecondOpinion
from holdfast.check.tlc.liveness import compare_liveness
from holdfast.check.tlc.process import find_tools
from holdfast.check.walk.options import WalkOptions
from holdfast.ir.system import Scope, System
from holdfast.trace.text import configuration

if TYPE_CHECKING:
    from holdfast.lower.kernel.kernel import Kernel

RUNS = WalkOptions(seed=1, traces=1_500, depth=60)
"""The random runs of a system without violations: none of them may violate a property."""

MANY_RUNS = WalkOptions(seed=1, traces=20_000, depth=60)
"""The random runs of a mutant, up to the first one that violates a property."""


@attrs.frozen
class Opinion:
    """The opinion of an engine.

    ``found``: its answer in a few words. ``problems``: contradictions to another engine. ``open``: questions that it
    could not answer.
    """

    found: str
    problems: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


def joined(opinions: Iterable[Opinion]) -> Opinion:
    """Several opinions as one. Equal texts in ``found`` appear once."""
    every = list(opinions)
    found = "; ".join(dict.fromkeys(each.found for each in every if each.found))
    problems = tuple(problem for each in every for problem in each.problems)
    return Opinion(found, problems, tuple(problem for each in every for problem in each.open))


def compared(system: System, scope: Scope, kernel: Kernel | None = None) -> Opinion:
    """Compare the searches of interpreter and kernel. Except for times, their answers must be identical.

    ``kernel`` is a mutable kernel, which serves many mutants.
    """
    slow = search(system, scope, engine="interpreter")
    fast = search(system, scope, engine="kernel", kernel=kernel)
    mine, other = to_json(slow) | {"timing": None}, to_json(fast) | {"timing": None}
    return Opinion("", _differences(_named(system, scope), ("interpreter", mine), ("kernel", other)))


def drawn(system: System, scope: Scope, properties: Sequence[str] | None = None) -> Opinion:
    """Compare liveness on the graph that the interpreter draws with liveness on the kernel's graph."""
    from holdfast.check.live.engine import live  # noqa: PLC0415 - SciPy takes a while to import

    by_hand = live(system, scope, properties=properties, engine="interpreter")
    by_kernel = live(system, scope, properties=properties, engine="kernel")
    mine, other = (live_to_json(each) | {"timing": None} for each in (by_hand, by_kernel))
    differences = _differences(_named(system, scope), ("interpreter", mine), ("kernel", other))
    return Opinion(f"{scope.name}: {_live(by_kernel)}", differences)


def walked(system: System, scope: Scope, steps: int | None) -> Opinion:
    """Compare random runs with the search. ``steps`` is the length of the search's shortest violation (None: none)."""
    from holdfast.check.walk.engine import walk  # noqa: PLC0415 - as in ``search``

    result = walk(system, scope, RUNS if steps is None else MANY_RUNS, engine="interpreter", cores=1, shrunk=False)
    what = _named(system, scope)
    if steps is None:
        found = f"{scope.name}: nothing in {result.figures.traces:,} runs"
        problems = [f"{what}: the search finds nothing, and a run violates {_first(result)}"] if result.findings else []
        return Opinion(found, tuple(problems))
    if not result.findings:
        return Opinion("", (f"{what}: the search finds a violation, and {result.figures.traces:,} runs none",))
    length = result.findings[0].length
    if length < steps:
        return Opinion("", (f"{what}: the search needs {steps} steps to a violation, and a run takes {length}",))
    return Opinion("")


def proved(system: System, target: str, lemmas_from: str | None, *, violated: bool, cores: int) -> Opinion:
    """Compare a proof for any sizes with the search. ``violated``: the search finds a violation in a scope."""
    from holdfast.check.prove.engine import prove  # noqa: PLC0415 - Z3 takes a while to load
    from holdfast.lower.smt.second_solver import is_installed  # noqa: PLC0415 - as above

    result = prove(
        system,
        target=target,
        lemmas_from=lemmas_from,
        cores=cores,
        searched=False,
        suggest=False,
        second=is_installed(),
    )
    counts: dict[str, int] = {}
    for each in result.properties:
        counts[each.verdict] = counts.get(each.verdict, 0) + 1
    found = ", ".join(f"{count} {verdict.replace('_', ' ')}" for verdict, count in counts.items())
    if result.second is not None:
        found += f"; {result.second.name} {result.second.summary}"
    if violated and result.verdict == "proved":
        return Opinion(found, (f"{target}: a search finds a violation, and the proof goes through",))
    if result.verdict == "contradicted":
        return Opinion(found, (f"{target}: another engine contradicts the proof; `holdfast prove {target}`",))
    if not violated and result.verdict == "violated":
        return Opinion(found, (f"{target}: a search finds nothing, and a proof shows a violation",))
    # If cvc5 cannot answer, Z3 has still proved it. ``found`` says so, and nothing stays open.
    shown = result.verdict == "proved" and not result.unstable
    still_open = () if violated or shown else (f"{target}: not all is proved; `holdfast prove`",)
    return Opinion(found, (), still_open)


def unrolled(system: System, scope: Scope, steps: int, cores: int) -> Opinion:
    """Compare bounded search by Z3, in any sizes, with the search: Z3 must find a violation within ``steps``.

    The search has found one with that many steps in a scope.
    """
    from holdfast.check.prove.unroll import unroll  # noqa: PLC0415 - as above

    result = unroll(system, steps, cores=cores)
    if result.verdict == "violated":
        return Opinion("")
    said = f"{_named(system, scope)}: the search finds a violation in {steps} steps, and Z3 {result.verdict}"
    return Opinion("", (), (said,)) if result.verdict == "unknown" else Opinion("", (said,))


def second_opinion(system: System, scope: Scope, target: str, seconds: float, *, owed: bool) -> Opinion:
    """Compare TLC's answer on the generated module: for safety, and if ``owed`` for liveness properties, which take
    longer.
    """
    opinion = SecondOpinion(system, scope, find_tools(), target=target, seconds=seconds)
    safety, progress = opinion.compared(), compare_liveness(opinion) if owed else None
    what = _named(system, scope)
    problems = [*safety.differences, *(() if progress is None else progress.differences)]
    liveness = (
        ""
        if progress is None
        else f"; {len(progress.theirs)} of {len(progress.properties)} liveness properties violated"
    )
    return Opinion(f"{scope.name}: {safety.theirs}{liveness}", tuple(f"{what}: {problem}" for problem in problems))


# Words --------------------------------------------------------------------------------------------------------------


def _differences(what: str, *sides: tuple[str, Mapping[str, object]]) -> tuple[str, ...]:
    """The differences between two answers as JSON, with both values."""
    (one, mine), (two, other) = sides
    return tuple(
        f"{what}: {key}: {one} {_short(mine.get(key))}, {two} {_short(other.get(key))}"
        for key in dict.fromkeys([*mine, *other])
        if mine.get(key) != other.get(key)
    )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _named(system: System, scope: Scope) -> str:
    return configuration(system.name, scope.name, system.chosen, system.removed)


def _first(result: Result | LiveResult | object) -> str:
    return next((trace.shown.title for trace in getattr(result, "findings", ())), "nothing")


def _live(result: LiveResult) -> str:
    """The answer of ``live`` in a few words."""
    if result.findings:
        return f"violated: {', '.join(trace.shown.name for trace in result.findings)}"
    return result.verdict
