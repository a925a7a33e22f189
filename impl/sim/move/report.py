"""The report of measured moves: a table for each variant, and the times of copying for comparison."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from impl.sim.move.conditions import MIB
from impl.sim.move.formula import DAY_BYTES, LOAD, copy_seconds, terms
from impl.sim.move.measure import Move, MoveStudy
from impl.sim.move.simulation import MoveVariant
from impl.sim.move.steps import words

WIDTH, COLUMN = 40, 10
MEANINGS = {
    MoveVariant("G0", "legacy"): "the source closes, then asks for the election",
    MoveVariant("G1", "legacy"): "the target opens, then asks for the election",
    MoveVariant("G0", "V6"): "G0, and streams close before their upload",
    MoveVariant("G1", "V6"): "G1, and streams close before their upload",
}


def lines(question: MoveStudy, moves: Sequence[Move]) -> list[str]:
    """The report for people, as lines."""
    given = question.conditions
    found = [
        "A partition moves from broker 1 to broker 2. Times are virtual milliseconds, measured in the simulator.",
        f"Tail {amount(question.tail)}, bandwidth {rate(given.bandwidth)}, operation of the store {given.store} ms,",
        f"message {given.message} ms, commit {given.commit} ms, from a commit to a broker {given.metadata} ms.",
    ]
    for variant in question.variants:
        found += ["", *_table(variant, [each for each in moves if each.variant == variant])]
    return [*found, "", *_formula(question), "", *_copies(question)]


def _table(variant: MoveVariant, moves: Sequence[Move]) -> list[str]:
    takes = [each.steps.durations() for each in moves]
    names = [name for name in takes[0] if name != "serves" or any(each[name] for each in takes)]
    found = [
        f"{variant.name}: {MEANINGS[variant]}",
        _row("  history", [each.label for each in moves]),
        _row("  segments", [f"{each.segments:,}" for each in moves]),
        *(
            _row(f"  {words(name, fast=variant.version == 'V6')}", [str(each[name]) for each in takes])
            for name in names
        ),
    ]
    return [
        *found,
        _row("  in all", [str(each.steps.serves) for each in moves]),
        _row("    of it for the list of segments", [str(sum(each.list_term.values())) for each in moves]),
        _row("    without that", [str(sum(each.base.values())) for each in moves]),
        _row("    by the formula, in all", [str(each.formula.serves) for each in moves]),
    ]


def _formula(question: MoveStudy) -> list[str]:
    """The terms without a list of segments."""
    found = msgspec.structs.asdict(terms(question.conditions, question.tail, 0))
    parts = [f"{name} {ms}" for name, ms in found.items()]
    return ["The terms of the formula, without the list of segments:", *(_wrapped(parts))]


def _wrapped(parts: Sequence[str]) -> list[str]:
    return ["  " + ", ".join(parts[at : at + 7]) for at in range(0, len(parts), 7)]


def _copies(question: MoveStudy) -> list[str]:
    bandwidth = question.conditions.bandwidth
    sizes = list(question.histories.values())
    idle, loaded = (duration(copy_seconds(DAY_BYTES, bandwidth, load)) for load in (0, LOAD))
    return [
        _row("Copying everything, by the formula", list(question.histories)),
        _row("  bytes / bandwidth", [duration(copy_seconds(each, bandwidth)) for each in sizes]),
        _row("  while producers send 100 MB/s", [duration(copy_seconds(each, bandwidth, LOAD)) for each in sizes]),
        f"100 MB/s for a day are {DAY_BYTES / 1e12:.2f} TB: {idle} if producers stop, {loaded} while they go on.",
    ]


def _row(head: str, cells: Sequence[str]) -> str:
    return f"{head:{WIDTH}}" + "".join(f"{cell:>{COLUMN}}" for cell in cells)


def duration(seconds: float | None) -> str:
    """A time for people: 8.0 s, 2.2 h; "for ever" for None."""
    if seconds is None:
        return "for ever"
    for unit, length in (("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.1f} s"


def amount(size: int) -> str:
    """A number of bytes: in MiB if it is a whole number of them."""
    return f"{size // MIB} MiB" if size % MIB == 0 else f"{size:,} bytes"


def rate(bandwidth: int) -> str:
    """A bandwidth in the largest unit."""
    for unit, size in (("Gbps", 10**9), ("Mbps", 10**6), ("kbps", 10**3)):
        if bandwidth >= size:
            return f"{bandwidth / size:g} {unit}"
    return f"{bandwidth} bps"


def data(question: MoveStudy, moves: Sequence[Move]) -> dict[str, object]:
    """The report for programs. Times are in milliseconds, those of copies in seconds."""
    bandwidth = question.conditions.bandwidth
    return {
        "scenario": "migrate",
        "tail": question.tail,
        "conditions": msgspec.structs.asdict(question.conditions),
        "terms": msgspec.structs.asdict(terms(question.conditions, question.tail, 0)),
        "moves": [
            {
                "generation": each.variant.generation,
                "version": each.variant.version,
                "history": each.size,
                "segments": each.segments,
                "log_bytes": each.log_bytes,
                "uploaded": each.uploaded,
                "done_at": msgspec.structs.asdict(each.steps),
                "durations": each.steps.durations(),
                "list_of_segments": each.list_term,
                "formula_done_at": msgspec.structs.asdict(each.formula),
            }
            for each in moves
        ],
        "copies": [
            {
                "history": each,
                "producers_stop": copy_seconds(each, bandwidth),
                "producers_go_on": copy_seconds(each, bandwidth, LOAD),
            }
            for each in (*question.histories.values(), DAY_BYTES)
        ],
    }
