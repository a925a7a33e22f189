"""A comparison of two models with all that its page tells."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from holdfast import __version__
from holdfast.check.diff.engine import Diff
from holdfast.check.diff.lockstep import Difference, Side
from holdfast.check.diff.text import answers, difference, figures_of, other_side, parts, verdict, what, why
from holdfast.records.system_run import VerdictKind
from holdfast.trace.line import replay_command
from holdfast.trace.text import action, count, name_of
from holdfast.trace.views.events import events
from holdfast.trace.views.folding import FoldedRun
from holdfast.trace.views.svg import STYLE, render_svg


@attrs.frozen
class PairedStep:
    """A step of a run that only one side takes whole.

    ``changes``: what it changes there, each "CELL: OLD → NEW". ``other``: why the other side does not take it; "" if
    it does, and does the same.
    """

    number: int
    call: str
    changes: tuple[str, ...]
    other: str


@attrs.frozen
class OneSidedRun:
    """The shortest run of a side to a step that the other side does not take. ``svg``, ``style``: its diagram."""

    steps: tuple[PairedStep, ...]
    start: str
    replay: str
    svg: str
    style: str


@attrs.frozen
class OneSidedSteps:
    """What one side does and the other does not. ``kinds``: by action and reason. ``run``: None if there is nothing."""

    side: Side
    other: Side
    title: str
    sentence: str
    kinds: tuple[str, ...]
    run: OneSidedRun | None


@attrs.frozen
class ComparedModels:
    """A comparison for its page.

    ``a``, ``b``: the two models. ``figures``: of their searches, each with its name and two values. ``parts``: what
    differs in the sources. ``answers``: the requests that both deny with different answers.
    """

    holdfast: str
    a: str
    b: str
    verdict: VerdictKind
    verdict_text: str
    figures: tuple[tuple[str, str, str], ...]
    parts: tuple[tuple[str, str], ...]
    sides: tuple[OneSidedSteps, ...]
    answers: tuple[str, ...]


def compared_models(found: Diff) -> ComparedModels:
    """The comparison with its runs as texts and pictures."""
    kind: VerdictKind = "holds" if found.same_behaviour else "violated"
    return ComparedModels(
        holdfast=__version__,
        a=what(found.a),
        b=what(found.b),
        verdict=kind if found.ended_by is None else "out_of_budget",
        verdict_text=verdict(found),
        figures=tuple(figures_of(found)),
        parts=tuple(_named(found)),
        sides=(_side("Gained", "B", found), _side("Lost", "A", found)),
        answers=tuple(answers(found.compared)),
    )


def _named(found: Diff) -> Iterator[tuple[str, str]]:
    """The parts, each with its name: the text leaves a name out that is the one before."""
    last = ""
    for name, text in parts(found):
        last = name or last
        yield last, text


def _side(title: str, side: Side, found: Diff) -> OneSidedSteps:
    other, differences = other_side(side), found.compared.of(side)
    if differences:
        total = count(sum(each.steps for each in differences), "step")
        sentence = f"{total} that {side} takes and {other} does not."
    else:
        so_far = " so far" if found.compared.waiting else f": what {side} does, {other} does too"
        sentence = f"Nothing{so_far}."
    kinds = tuple(difference(each) for each in differences)
    return OneSidedSteps(side, other, title, sentence, kinds, _run(differences[0]) if differences else None)


def _run(found: Difference) -> OneSidedRun:
    trace, denied = FoldedRun.of(found.run).trace, why(found.answer, other_side(found.side), found.action)
    steps = [
        PairedStep(
            event.number,
            action(event.step),
            tuple(f"{name_of(each.cell)}: {each.old} → {each.new}" for each in event.changes),
            denied if event.number == trace.length else "",
        )
        for event in events(trace).each
    ]
    svg = render_svg(trace) if steps else ""
    return OneSidedRun(tuple(steps), "" if steps else denied, replay_command(trace) or "", svg, STYLE)
