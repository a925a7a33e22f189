"""The picture of a round of the balancer: the load of each broker before, between and after the phases.

A panel for each resource, a group of bars for each broker, a bar for each stage. The band of the resource's goal is
shaded. The picture is SVG inside a page, whose style sheet has its colours. All texts are escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from msgspec.structs import asdict, replace

from impl.balancer.goals import BalancerGoal
from impl.balancer.resources import IN, OUT
from impl.balancer.stages import LoadStage, LoadStages
from impl.cli.time_drawing import box, written

LEFT, RIGHT, TOP, HEIGHT, FOOT = 90, 20, 22, 130, 30
"""Pixels left and right of the bars, above a panel's bars, the height of the highest bar, and below the bars."""
BAR, GAP, LETTER = 12, 16, 7
"""The width of a bar, the space between two brokers, and the width of a letter."""
COLOURS = 5
"""The number of colours for stages; the style sheet has a class for each."""
UNITS = (("GiB/s", 1 << 30), ("MiB/s", 1 << 20), ("KiB/s", 1 << 10), ("B/s", 1))
WORDS = {IN: "bytes in", OUT: "bytes out"}


def load_drawing(shown: LoadStages, scale: int = 1) -> str:
    """The picture as an element of a page. ``scale``: the bytes for which one byte of a load stands."""
    shown = _scaled(shown, scale)
    resources = sorted({goal.resource for goal in shown.goals})
    brokers = list(shown.stages[0].loads)
    group = max(len(shown.stages) * BAR, LETTER * max((len(_name(each)) for each in brokers), default=0))
    names = [_stage_name(each) for each in shown.stages]
    key = [*((f"stage{min(number, COLOURS - 1)}", each) for number, each in enumerate(names)), ("band", "the band")]
    width = LEFT + max(len(brokers) * (group + GAP), sum(len(each) * LETTER + 30 for _, each in key)) + RIGHT
    height = len(resources) * (TOP + HEIGHT + FOOT) + 20
    about = f"Load of each broker {', '.join(names)}"
    lines = [f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" ']
    lines[0] += f'aria-label="{escape(about)}">'
    for place, resource in enumerate(resources):
        goals = [goal for goal in shown.goals if goal.resource == resource]
        lines += _panel(shown.stages, goals, resource, place * (TOP + HEIGHT + FOOT) + TOP, (width, group))
    lines += _key(key, height - 8)
    return "\n".join([*lines, "</svg>"])


def _scaled(shown: LoadStages, scale: int) -> LoadStages:
    stages = tuple(
        replace(each, loads={broker: (loads[0] * scale, loads[1] * scale) for broker, loads in each.loads.items()})
        for each in shown.stages
    )
    bands = [
        replace(goal.band, **{key: value * scale for key, value in asdict(goal.band).items()}) for goal in shown.goals
    ]
    return LoadStages(stages, tuple(replace(each, band=band) for each, band in zip(shown.goals, bands, strict=True)))


def rate(load: float) -> str:
    """A load in words: 31457280 is 30 MiB/s."""
    if not math.isfinite(load):
        return str(load)
    name, size = next(((name, size) for name, size in UNITS if abs(load) >= size), UNITS[-1])
    return f"{load / size:.4g} {name}"


def _name(broker: int) -> str:
    return f"broker {broker}"


def _stage_name(stage: LoadStage) -> str:
    if not stage.after:
        return "before"
    return f"after {stage.after}: {stage.moves} {'move' if stage.moves == 1 else 'moves'}"


def _panel(
    stages: Sequence[LoadStage], goals: Sequence[BalancerGoal], resource: int, top: int, size: tuple[int, int]
) -> Iterator[str]:
    """The bars of a resource. ``top``: the place of the highest load. ``size``: the picture's and a broker's width."""
    width, group = size
    bands = [goal.band for goal in goals if not goal.HARD and math.isfinite(goal.band.high)]
    loads = [each.loads[broker][resource] for each in stages for broker in each.loads]
    highest = max([load for load in loads if math.isfinite(load)] + [band.high for band in bands] + [1.0])

    def y(load: float) -> float:
        return top + HEIGHT * (1 - (max(0.0, load) / highest if math.isfinite(load) else 0.0))

    yield written(LEFT - 8, top - 8, WORDS[resource], "end")
    for band in bands:
        about = f"the band: {rate(band.low)} to {rate(band.high)}, around {rate(band.average)}"
        yield box(LEFT, y(band.high), width - LEFT - RIGHT, max(1.0, y(band.low) - y(band.high)), "band", about)
        yield written(LEFT - 8, y(band.average) + 4, rate(band.average), "quiet end")
    for place, broker in enumerate(stages[0].loads):
        x = LEFT + GAP / 2 + place * (group + GAP)
        left = x + (group - len(stages) * BAR) / 2
        for number, each in enumerate(stages):
            load = each.loads[broker][resource]
            about = f"{_name(broker)} {_stage_name(each)}: {rate(load)}"
            kind = f"stage{min(number, COLOURS - 1)}"
            yield box(left + number * BAR, y(load), BAR - 2, top + HEIGHT - y(load), kind, about)
        yield written(x + group / 2, top + HEIGHT + 14, _name(broker), "middle")
        yield f'<line class="line" x1="{x:.1f}" x2="{x + group:.1f}" y1="{top + HEIGHT}" y2="{top + HEIGHT}"/>'


def _key(entries: Sequence[tuple[str, str]], y: int) -> Iterator[str]:
    """The colours, each with its name. ``y``: the line of the names."""
    x = float(LEFT)
    for kind, name in entries:
        yield box(x, y - 9, 10, 10, kind, name)
        yield written(x + 16, y, name, "quiet")
        x += len(name) * LETTER + 30
