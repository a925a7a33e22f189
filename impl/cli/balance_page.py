"""A run of ``holdfast simulate --scenario balance`` for its page: the promises, the loads over time, and each round."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast import __version__
from holdfast.records.system_run import SystemMoment, SystemPicture, SystemRun
from impl.cli.load_drawing import load_drawing
from impl.sim.balance.plot import ABOUT, plot
from impl.sim.balance.promises import PROMISES
from impl.sim.balance.report import MEANINGS, BalanceReport, events
from impl.sim.balance.workload import SCALE


def balance_page(report: BalanceReport, command: str) -> SystemRun:
    """The run and its judgement. ``command``: what makes the same run."""
    question, broken = report.run.question, {each.name for each in report.broken}
    moments = sorted(events(report.run), key=lambda pair: pair[0])
    return SystemRun(
        holdfast=__version__,
        about=", ".join(
            [
                f"A balanced cluster, seed {question.seed}, balancer {question.balancer}",
                *(f"-{label}" for label in question.without),
            ]
        ),
        title="A broken promise" if report.broken else "An empty broker joins",
        verdict="violated" if report.broken else "holds",
        verdict_text=f"broken: {len(broken)} of {len(PROMISES)} promises" if broken else "all promises hold",
        findings=tuple(f"{each.name}: {each.text}" for each in report.broken),
        nothing="; ".join(f"{name}: {MEANINGS[name]}" for name in PROMISES) + ".",
        facts=(
            ("partitions", str(len(report.run.plans))),
            ("moves", str(len(report.run.moves))),
            ("scale", f"loads and sizes are run at 1/{SCALE:,}, and shown in full"),
        ),
        pictures=(SystemPicture(ABOUT, plot(report), "plot"), *_rounds(report)),
        moments=tuple(SystemMoment(f"{at / 1_000:.1f}", "", text.strip()) for at, text in moments),
        commands=(("Again", command),),
    )


def _rounds(report: BalanceReport) -> Iterator[SystemPicture]:
    """The loads in each round that plans a move, in the order of time."""
    rounds = [(each.at, number, each) for number, found in report.run.rounds.items() for each in found]
    for at, number, each in sorted(rounds, key=lambda row: row[:2]):
        if each.stages is not None and each.moves:
            caption = f"The round of c{number} at {(at - report.run.begin) / 1_000:.0f} s"
            yield SystemPicture(caption, load_drawing(each.stages, SCALE))
