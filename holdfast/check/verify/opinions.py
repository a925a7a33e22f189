"""What one engine says of a system that another has answered for already, and in what they differ."""

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
"""The runs of a system that holds: none of them may violate anything."""

MANY_RUNS = WalkOptions(seed=1, traces=20_000, depth=60)
"""The runs of a mutant, up to the first that violates something."""


@attrs.frozen
class Opinion:
    """What an engine found, in a few words; in what it contradicts another; and what it could not answer."""

    found: str
    problems: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


def joined(opinions: Iterable[Opinion]) -> Opinion:
    """Several as one; what was found is said once."""
    every = list(opinions)
    found = "; ".join(dict.fromkeys(each.found for each in every if each.found))
    problems = tuple(problem for each in every for problem in each.problems)
    return Opinion(found, problems, tuple(problem for each in every for problem in each.open))


def compared(system: System, scope: Scope, kernel: Kernel | None = None) -> Opinion:
    """Interpreter and kernel, which must answer the same to the letter. ``kernel`` is one that serves many mutants."""
    slow = search(system, scope, engine="interpreter")
    fast = search(system, scope, engine="kernel", kernel=kernel)
    mine, other = to_json(slow) | {"timing": None}, to_json(fast) | {"timing": None}
    return Opinion("", _differences(_named(system, scope), ("interpreter", mine), ("kernel", other)))


def drawn(system: System, scope: Scope, properties: Sequence[str] | None = None) -> Opinion:
    """Liveness on the graph that the interpreter draws, and on that of the kernel."""
    from holdfast.check.live.engine import live  # noqa: PLC0415 - SciPy takes a while to import

    by_hand = live(system, scope, properties=properties, engine="interpreter")
    by_kernel = live(system, scope, properties=properties, engine="kernel")
    mine, other = (live_to_json(each) | {"timing": None} for each in (by_hand, by_kernel))
    differences = _differences(_named(system, scope), ("interpreter", mine), ("kernel", other))
    return Opinion(f"{scope.name}: {_live(by_kernel)}", differences)


def walked(system: System, scope: Scope, steps: int | None) -> Opinion:
    """Random runs, where the shortest run of the search has so many steps, or none violates anything (None)."""
    from holdfast.check.walk.engine import walk  # noqa: PLC0415 - Numba takes a while to import

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
    """A proof for any sizes, where a search says whether something is ``violated`` in the sizes of a scope."""
    from holdfast.check.prove.engine import prove  # noqa: PLC0415 - Z3 takes a while to load
    from holdfast.lower.smt.second import is_installed  # noqa: PLC0415 - as above

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
    # What cvc5 cannot answer Z3 has shown: it is told, and leaves nothing open here.
    shown = result.verdict == "proved" and not result.unstable
    still_open = () if violated or shown else (f"{target}: not all is proved; `holdfast prove`",)
    return Opinion(found, (), still_open)


def unrolled(system: System, scope: Scope, steps: int, cores: int) -> Opinion:
    """Z3, run by run, in any sizes: it must find a violation in no more steps than the search needs in a scope."""
    from holdfast.check.prove.unroll import unroll  # noqa: PLC0415 - as above

    result = unroll(system, steps, cores=cores)
    if result.verdict == "violated":
        return Opinion("")
    said = f"{_named(system, scope)}: the search finds a violation in {steps} steps, and Z3 {result.verdict}"
    return Opinion("", (), (said,)) if result.verdict == "unknown" else Opinion("", (said,))


def second_opinion(system: System, scope: Scope, target: str, seconds: float, *, owed: bool) -> Opinion:
    """TLC on the generated module: safety, and if ``owed`` what is owed by leads-to properties, which takes longer."""
    opinion = SecondOpinion(system, scope, find_tools(), target=target, seconds=seconds)
    safety, progress = opinion.compared(), compare_liveness(opinion) if owed else None
    what = _named(system, scope)
    problems = [*safety.differences, *(() if progress is None else progress.differences)]
    liveness = "" if progress is None else f"; {len(progress.theirs)} of {len(progress.properties)} leads-to violated"
    return Opinion(f"{scope.name}: {safety.theirs}{liveness}", tuple(f"{what}: {problem}" for problem in problems))


# Words --------------------------------------------------------------------------------------------------------------


def _differences(what: str, *sides: tuple[str, Mapping[str, object]]) -> tuple[str, ...]:
    """Where two answers as JSON differ, with both values."""
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
    """What ``live`` says, in a few words."""
    if result.findings:
        return f"violated: {', '.join(trace.shown.name for trace in result.findings)}"
    return result.verdict
