"""The default mix: the version, load, sizes and faults of each run when thousands of runs are to reach all rules.

Half of the runs have streams, the others partitions. An eighth has no faults, three eighths have up to three kinds, and
the rest has half of the kinds. The runs with few kinds show which kinds reach a rule. In a quarter of the runs with
faults there are strangers.

The runs from number RUNS on have zones, and one of them is made for every ten others.

Some rules belong to a setting of the controllers, to somebody else who uses them, or to half an hour without a change
of the leader. A second sequence draws these now and then, so it leaves all other runs as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from impl.sim.check import Question
from impl.sim.faults import DRAWN, KINDS, PARTITION, ZONED
from impl.sim.options import Options
from impl.sim.script import SPAN_MS
from impl.sim.tape import Draw, stream

RUNS = 20_000
"""The number of runs that are made unless another number is named. Runs with zones come on top of it."""
ZONES, OTHERS, ZONED_BROKERS, ZONED_PARTITIONS = 3, 10, (3, 3, 3, 4), 4
"""Of runs with zones: the zones, the number of other runs for each, and the sizes."""
QUIET, FEW = 0.125, 0.5
"""The share of runs without faults, and the share of runs with at most MOST kinds of faults, these included."""
MOST = 3
STRANGERS = 0.25
BROKERS = (3, 3, 3, 3, 2, 4)
PARTITIONS = (3, 6)
OPERATIONS = 300
LONG, LONG_MINUTES = 0.015, 35
"""The share of runs that take LONG_MINUTES. Their only faults are strangers and neighbours (ND-40)."""
NEIGHBOURS, SLOW_DELETES, SET = 0.15, 0.1, 0.2
"""The shares of the runs with neighbours, with slow deletions, and with a setting of the controllers."""
AS_BUILT = ("timer-as-built",)
"""The settings that are defects: in a run with one of them an oracle may object, although all rules hold."""


def question(number: int, without: tuple[str, ...] = (), faults: tuple[str, ...] | None = None) -> Question:
    """Run ``number`` of the mix, whose number is its seed. ``without``: rules that are switched off.

    ``faults``: kinds of faults that replace those of the mix; the rates stay as they are.
    """
    if number >= RUNS:
        return _zoned(number, without, faults)
    draw = stream(number, "mix")
    version = "V6" if draw() < 0.5 else "legacy"
    generation: Literal["G0", "G1"] = "G1" if draw() < 0.5 else "G0"
    partitions = PARTITIONS[int(draw() * len(PARTITIONS))] if draw() < 0.5 else 0
    brokers = BROKERS[int(draw() * len(BROKERS))]
    kinds = _kinds(draw, partitions)
    seldom = _seldom(stream(number, "seldom"), partitions, generation)
    kinds = (*seldom.kinds,) if seldom.minutes else tuple(sorted({*kinds, *seldom.kinds}))
    kinds = kinds if faults is None else faults
    options = Options(brokers=brokers, partitions=partitions, operations=OPERATIONS, faults=kinds or "none")
    if seldom.minutes:
        options = msgspec.structs.replace(options, span_ms=seldom.minutes * 60_000)
    return Question(
        seed=number,
        options=options,
        version=version,
        generation=generation if partitions else "G1",
        without=without,
        settings=seldom.settings,
    )


def numbers(runs: int) -> tuple[int, ...]:
    """The numbers of ``runs`` runs without zones, and of one run with zones for every ten of them."""
    return (*range(min(runs, RUNS)), *range(RUNS, RUNS + runs // OTHERS))


def _zoned(number: int, without: tuple[str, ...], faults: tuple[str, ...] | None) -> Question:
    """A run with zones. Partitions are elected as in G1."""
    draw = stream(number, "mix of zones")
    version = "V6" if draw() < 0.5 else "legacy"
    brokers = ZONED_BROKERS[int(draw() * len(ZONED_BROKERS))]
    kinds = _kinds(draw, ZONED_PARTITIONS, ZONED) if faults is None else faults
    options = Options(
        brokers=brokers, partitions=ZONED_PARTITIONS, zones=ZONES, operations=OPERATIONS, faults=kinds or "none"
    )
    return Question(seed=number, options=options, version=version, without=without)


class SeldomParts(msgspec.Struct, frozen=True):
    """What only some runs have: further kinds of faults, settings, and a length in virtual minutes; 0 for the usual."""

    kinds: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    minutes: int = 0


def _seldom(draw: Draw, partitions: int, generation: str) -> SeldomParts:
    is_long, has_neighbours, has_slow, is_set, which = (draw() for _ in range(5))
    if is_long < LONG:
        return SeldomParts(kinds=("neighbour", "stranger"), minutes=LONG_MINUTES)
    kinds = ("delete_slow",) * (has_slow < SLOW_DELETES) + ("neighbour",) * (has_neighbours < NEIGHBOURS)
    if is_set >= SET:
        return SeldomParts(kinds)
    # A cancel as built does not end the move of a partition, and only G0 has timers.
    settings = ["min-insync-2", "unclean-elections"] + ["cancel-as-built"] * (not partitions)
    settings += ["timer-as-built"] * (partitions > 0 and generation == "G0")
    setting = settings[int(which * len(settings))]
    if setting != "timer-as-built":
        kinds = tuple(dict.fromkeys((*kinds, "neighbour")))
    return SeldomParts(kinds, (setting,))


def is_sound(asked: Question) -> bool:
    """Whether no defect is built into a run, so that no oracle may object to it."""
    return not asked.switches and not set(asked.settings) & set(AS_BUILT)


def _kinds(draw: Draw, partitions: int, further: Iterable[str] = ()) -> tuple[str, ...]:
    """The kinds of faults of a run, in the order of their names. ``further``: what it may have beside KINDS."""
    how, has_strangers = draw(), draw() < STRANGERS
    if how < QUIET:
        return ()
    known = [kind for kind in (*KINDS, *further) if not partitions or kind not in PARTITION]
    drawn = {kind for kind in known if draw() < DRAWN}
    if how < FEW:
        drawn = {known[int(draw() * len(known))] for _ in range(1 + int(draw() * MOST))}
    return tuple(sorted(drawn | ({"stranger"} if has_strangers else set())))


def command(asked: Question) -> str:
    """The command that makes a run of the mix."""
    options = asked.options
    faults = options.faults if isinstance(options.faults, str) else ",".join(options.faults)
    words = ["holdfast simulate", f"--seed {asked.seed}", f"--version {asked.version}", f"--brokers {options.brokers}"]
    if options.partitions:
        words.append(f"--partitions {options.partitions} --generation {asked.generation}")
    if options.zones:
        words.append(f"--zones {options.zones}")
    words.append(f"--faults {faults}")
    if options.span_ms != SPAN_MS:
        words.append(f"--minutes {options.span_ms // 60_000}")
    words += [f"--setting {name}" for name in asked.settings]
    return " ".join([*words, *(f"--without {label}" for label in asked.without)])
