"""Moves of several histories in several variants, each beside the result of the formula."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from impl.broker.wal import WalLimits
from impl.sim.move.conditions import MIB, Conditions
from impl.sim.move.formula import copy_seconds, expected, list_term
from impl.sim.move.history import stored
from impl.sim.move.simulation import BATCH_BYTES, MoveVariant, run_move
from impl.sim.move.steps import StepTimes, measured

VARIANTS = (MoveVariant("G0", "legacy"), MoveVariant("G1", "legacy"), MoveVariant("G1", "V6"))
TAIL_BYTES, LARGEST_TAIL = 500 * MIB, 1_000 * MIB
"""The default is AutoMQ's upload threshold. A tail above the largest one makes the active segment roll."""
LARGEST_HISTORY = 18 * 10**12
"""The list of the segments of a larger history fills a bulk of the WAL, which is another case."""
LONGEST_UPLOAD_S = 100
"""A longer upload may outlast a replay, which waits two minutes for its objects (PL-13), and then begins anew."""


class LimitError(ValueError):
    """The simulator does not run this move. The message names the value and the remedy."""


class Move(msgspec.Struct, frozen=True):
    """A move that was run. ``label``: the history as the caller names it, of ``size`` bytes. ``uploaded``: the bytes of
    the objects that the source has uploaded. ``list_term``: by step, the milliseconds that the list of segments adds.
    """

    label: str
    size: int
    segments: int
    log_bytes: int
    variant: MoveVariant
    steps: StepTimes
    formula: StepTimes
    list_term: dict[str, int]
    uploaded: int

    @property
    def base(self) -> dict[str, int]:
        """By step: its duration in milliseconds, less the part that the list of segments adds."""
        return {name: ms - self.list_term.get(name, 0) for name, ms in self.steps.durations().items()}


class MoveStudy(msgspec.Struct, frozen=True):
    """The moves to measure. Raises LimitError for a move that the simulator does not run.

    ``histories``: their bytes, by the names that the report uses. ``tail``: in bytes. ``texts``: options as the user
    wrote them, for messages.
    """

    histories: Mapping[str, int]
    tail: int = TAIL_BYTES
    variants: tuple[MoveVariant, ...] = VARIANTS
    conditions: Conditions = Conditions()
    texts: Mapping[str, str] = {}

    def __post_init__(self) -> None:
        for label, size in self.histories.items():
            if not 0 < size <= LARGEST_HISTORY:
                raise LimitError(f"--history {label}: out of range; give sizes up to 18TB, such as 1GB,1TB")
        if not BATCH_BYTES <= self.tail <= LARGEST_TAIL:
            raise LimitError(
                f"--tail {self.texts.get('--tail', self.tail)}: it does not fit into one segment; give 1MiB to 1000MiB"
            )
        if (copy_seconds(self.tail, self.conditions.bandwidth) or 0) > LONGEST_UPLOAD_S:
            raise LimitError(
                f"--bandwidth {self.texts.get('--bandwidth', self.conditions.bandwidth)}: the tail takes more than"
                f" {LONGEST_UPLOAD_S} s;"
                " give more bandwidth, or a smaller --tail"
            )

    def run(self) -> Iterator[Move]:
        """Run the moves, by variant and history."""
        for variant in self.variants:
            for label, size in self.histories.items():
                yield self._move(label, size, variant)

    def _move(self, label: str, size: int, variant: MoveVariant) -> Move:
        history = stored(size)
        assert history.log_bytes < WalLimits().bulk, "the list of segments leaves room in a bulk"
        run = run_move(history, self.tail, variant, self.conditions)
        case = (self.conditions, self.tail, history.log_bytes, variant)
        return Move(
            *(label, size, history.segments, history.log_bytes, variant, measured(run.moments)),
            *(expected(*case), list_term(*case)),
            sum(each.size for each in run.transfers if each.kind == "put" and each.key.startswith("object/")),
        )
