"""The default mix: the version, load, sizes and faults of each run when thousands of runs are to reach all rules.

Half of the runs have streams, the others partitions. An eighth has no faults, three eighths have up to three kinds, and
the rest has half of the kinds. The runs with few kinds show which kinds reach a rule. In a quarter of the runs with
faults there are strangers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from impl.sim.check import Question
from impl.sim.faults import DRAWN, KINDS, PARTITION
from impl.sim.options import Options
from impl.sim.tape import stream

RUNS = 20_000
"""The number of runs that are made unless another number is named."""
QUIET, FEW = 0.125, 0.5
"""The share of runs without faults, and the share of runs with at most MOST kinds of faults, these included."""
MOST = 3
STRANGERS = 0.25
BROKERS = (3, 3, 3, 3, 2, 4)
PARTITIONS = (3, 6)
OPERATIONS = 300


def question(number: int, without: tuple[str, ...] = (), faults: tuple[str, ...] | None = None) -> Question:
    """Run ``number`` of the mix, whose number is its seed. ``without``: rules that are switched off.

    ``faults``: kinds of faults that replace those of the mix; the rates stay as they are.
    """
    draw = stream(number, "mix")
    version = "V6" if draw() < 0.5 else "legacy"
    generation: Literal["G0", "G1"] = "G1" if draw() < 0.5 else "G0"
    partitions = PARTITIONS[int(draw() * len(PARTITIONS))] if draw() < 0.5 else 0
    brokers = BROKERS[int(draw() * len(BROKERS))]
    kinds = _kinds(draw, partitions) if faults is None else faults
    return Question(
        seed=number,
        options=Options(brokers=brokers, partitions=partitions, operations=OPERATIONS, faults=kinds or "none"),
        version=version,
        generation=generation if partitions else "G1",
        without=without,
    )


def _kinds(draw: Callable[[], float], partitions: int) -> tuple[str, ...]:
    """The kinds of faults of a run, in the order of their names."""
    how, has_strangers = draw(), draw() < STRANGERS
    if how < QUIET:
        return ()
    known = [kind for kind in KINDS if not partitions or kind not in PARTITION]
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
    words.append(f"--faults {faults}")
    return " ".join([*words, *(f"--without {label}" for label in asked.without)])
