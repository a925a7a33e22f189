"""The picture of a report: the time of a move and of a copy by the size of the history, both scales logarithmic.

Equal moves give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from impl.sim.move.formula import LOAD, copy_seconds
from impl.sim.move.measure import Move, MoveStudy
from impl.sim.move.report import duration
from impl.sim.picture import (
    BOTTOM,
    COLOURS,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Scale,
    curve,
    dot,
    legend,
    line_across,
    name_below,
    picture,
    words_below,
)

COPY, LOADED = "#b8860b", "#a0522d"
ABOUT = "Time of a move and of a copy by size of the history"
TICKS = ((1, "1 s"), (10, "10 s"), (60, "1 min"), (600, "10 min"), (3_600, "1 h"), (36_000, "10 h"), (360_000, "100 h"))


def plot(question: MoveStudy, moves: Sequence[Move]) -> str:
    """The picture as SVG."""
    bandwidth, sizes = question.conditions.bandwidth, sorted(question.histories.values())
    copied = [copy_seconds(each, bandwidth, load) for each in sizes for load in (0, LOAD)]
    times = [*(each.steps.serves / 1_000 for each in moves), *(each for each in copied if each is not None)]
    x = Scale(sizes[0], sizes[-1], LEFT, WIDTH - RIGHT, is_logarithmic=True)
    low, high = min(1.0, *times), max(times) * 1.3
    y = Scale(low, high, HEIGHT - BOTTOM, TOP, is_logarithmic=True)
    name = f'<text x="{LEFT}" y="18">time (logarithmic)</text>'
    return picture(ABOUT, [name, *_axes(question, x, y, low, high), *_curves(question, moves, x, y)])


def _axes(question: MoveStudy, x: Scale, y: Scale, low: float, high: float) -> Iterator[str]:
    for seconds, words in TICKS:
        if low <= seconds <= high:
            yield from line_across(y(seconds), words)
    for label, size in question.histories.items():
        yield words_below(x(size), label)
    yield name_below("history (logarithmic)")


def _curves(question: MoveStudy, moves: Sequence[Move], x: Scale, y: Scale) -> Iterator[str]:
    curves: list[tuple[str, str, list[tuple[int, float]]]] = []
    for words, colour, load in (("copy, 100 MB/s go on", LOADED, LOAD), ("copy, producers stop", COPY, 0)):
        times = [
            (each, copy_seconds(each, question.conditions.bandwidth, load)) for each in question.histories.values()
        ]
        curves.append((words, colour, [(size, seconds) for size, seconds in times if seconds is not None]))
    for variant, colour in zip(question.variants, COLOURS, strict=False):
        points = [(each.size, each.steps.serves / 1_000) for each in moves if each.variant == variant]
        curves.append((f"move, {variant.name}", colour, points))
    for number, (words, colour, points) in enumerate(curves):
        yield curve([(x(size), y(seconds)) for size, seconds in sorted(points)], colour)
        for size, seconds in points:
            yield dot(x(size), y(seconds), colour, f"{words}: {duration(seconds)}")
        yield from legend(number, words, colour)
