"""A result as text for people: the violations, or the figures behind an answer without violations."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from holdfast.check.result import VIOLATION, Answer, Coverage, Result, ShortageFigures
from holdfast.trace.text import WIDTH, configuration, count, render
from holdfast.trace.trace import Claim

MARGIN = 14


def render_result(result: Result, *, full: bool = False) -> str:
    """The whole text of a result, without a final newline; ``full`` shows whole states, not only changed cells.

    The text holds no times. If a violation ended the check, it holds no counts either: they would cover only a part of
    the states, and would differ with and without symmetry.
    """
    blocks = [render(trace, full=full) for trace in result.findings]
    return "\n\n".join([*blocks, render_summary(result)])


def render_summary(result: Result) -> str:
    """The verdict and, unless a violation ended the check, the figures behind it."""
    lines = textwrap.wrap(_verdict(result), WIDTH, subsequent_indent="  ")
    if result.ended_by != VIOLATION:
        lines += ["", *(line for name, text in _figures(result) for line in entry(name, text))]
    for note in result.notes:
        lines += ["", *textwrap.wrap(note, WIDTH)]
    return "\n".join(lines)


def _verdict(result: Result) -> str:
    what = configuration(result.model, result.scope, result.variants, result.removed)
    names = ", ".join(trace.shown.title for trace in result.findings)
    match result.verdict:
        case "violated":
            shortest = count(min(trace.length for trace in result.findings), "step")
            return f"{what}: violated after {shortest}: {names}"
        case "out_of_budget":
            return f"{what}: no answer ({result.ended_by}); no violation in the searched part"
        case "exhausted":
            problems = _list("not reached", result.missing) + _list("vacuous", result.vacuous)
            said = f"exhausted, nothing violated{', but ' if problems else ''}{', '.join(problems)}"
            return f"{what}: {said}"


def _list(what: str, claims: Iterable[Claim]) -> list[str]:
    names = ", ".join(claim.title for claim in claims)
    return [f"{what}: {names}"] if names else []


def _figures(result: Result) -> Iterator[tuple[str, str]]:
    figures = result.figures
    yield (
        "states",
        f"{figures.distinct:,} distinct, {figures.generated:,} generated, {figures.initial:,} initial, "
        f"at most {figures.widest_level:,} in a level" + (f", {figures.waiting:,} left" if figures.waiting else ""),
    )
    yield "depth", f"{count(figures.depth, 'step')} ({count(figures.depth + 1, 'state')}, as TLC counts)"
    if figures.group_order > 1:
        yield "symmetry", f"states that differ only in names count as one ({figures.group_order:,} renamings)"
    reached = [
        f"{witness.claim.name} after {count(witness.trace.length, 'step')}"
        for witness in result.witnesses
        if witness.trace is not None
    ]
    yield from covered(result, reached, [_shortage(each) for each in figures.shortages])
    if figures.cut_ends:
        yield "ends", f"{count(figures.cut_ends, 'state')} without a step, because a bound cut it: no deadlock"
    yield from dropped(figures)


def _shortage(each: ShortageFigures) -> str:
    return f"{each.action} asks for {each.parameter} above {each.last:,}, the last {each.type} ({each.at})"


def covered(result: Answer, reached: Sequence[str], shortages: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """The entries about coverage, as pairs of a name and a text.

    ``reached`` has a text for each reached witness, ``shortages`` one for each parameter that had no value left.
    """
    figures = result.figures
    widest = ", ".join(f"{name} {bits}" for name, bits in figures.widest)
    yield "state", f"{count(figures.bits, 'bit')}; widest: {widest}"
    yield "actions", ", ".join(f"{a.name} {a.taken:,}" for a in figures.actions if a.taken) or "none taken"
    if figures.never_taken:
        yield "never taken", ", ".join(figures.never_taken)
    refused = [rule.label for rule in figures.undecisive if rule.kind == "require"]
    if refused:
        yield "never refused", ", ".join(refused)
    unapplied = [rule.label for rule in figures.undecisive if rule.kind != "require"]
    if unapplied:
        yield "never applied", ", ".join(unapplied)
    yield "evaluated", _by_count(figures.evaluated) or "no property"
    if result.vacuous:
        yield "vacuous", ", ".join(claim.title for claim in result.vacuous)
    if reached:
        yield "witnesses", ", ".join(reached)
    if result.missing:
        yield "not reached", ", ".join(claim.title for claim in result.missing)
    cuts = [f"{action.name} by {bound} {times:,}" for action in figures.actions for bound, times in action.cuts]
    nothing = "no step, but a rule asked for more" if shortages else "nothing: no step went beyond a bound of the scope"
    yield "cut", ", ".join(cuts) or nothing
    if shortages:
        yield "no value left", "; ".join(shortages)
    if figures.unshown_repeats:
        yield "repetitions", f"{figures.unshown_repeats:,} of idempotent actions were cut, and show nothing"


def dropped(figures: Coverage) -> Iterator[tuple[str, str]]:
    """The entry about dropped ghosts, if there are any."""
    if figures.dropped_ghosts:
        yield "dropped", f"ghosts that nothing here reads: {', '.join(figures.dropped_ghosts)}"


def _by_count(counted: Iterable[tuple[str, int]]) -> str:
    """``9 times: a, b; 4 times: c``, in the order in which the counts first occur."""
    names: dict[int, list[str]] = {}
    for name, times in counted:
        names.setdefault(times, []).append(name)
    return "; ".join(f"{count(times, 'time')}: {', '.join(same)}" for times, same in names.items())


def entry(name: str, text: str) -> list[str]:
    """The lines of one entry: the name in the margin, the text beside it."""
    first, rest = f"  {name:<{MARGIN}}  ", " " * (MARGIN + 4)
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
