"""The leader epochs against a plain list that has the epoch of every record."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from impl.broker.partition import epochs as module
from impl.broker.partition.epochs import Epochs, OldEpochError, from_checkpoint
from impl.broker.partition.meta_values import EpochEntry, LeaderEpochCheckpoint
from impl.broker.wal_format import DamagedError


class EpochsMachine(RuleBasedStateMachine):
    """A log that grows under successive epochs and loses records at both ends."""

    def __init__(self) -> None:
        super().__init__()
        self.epochs = Epochs()
        self.log: list[int] = []
        """The epoch of each record ever written, without those truncated at the end."""
        self.start = 0
        self.current: int | None = None
        """The epoch under which the next record is written."""

    def known(self) -> list[int]:
        """The epochs of the records, and the one under which the next is written."""
        return sorted({*self.log[self.start :], *([] if self.current is None else [self.current])})

    @rule(step=st.integers(0, 3))
    def lead(self, step: int) -> None:
        """A leader begins, perhaps under the same epoch."""
        epoch = step if self.current is None else self.current + step
        changed = self.epochs.assign(epoch, len(self.log))
        assert changed == (epoch != self.current)
        self.current = epoch

    @precondition(lambda self: self.current is not None)
    @rule(count=st.integers(1, 3))
    def append(self, count: int) -> None:
        """Write records."""
        assert self.current is not None
        self.log += [self.current] * count

    @rule(count=st.integers(0, 4))
    def truncate_end(self, count: int) -> None:
        """Remove the last records. The epoch becomes that of the last remaining record."""
        end = max(self.start, len(self.log) - count)
        before = list(self.epochs.entries)
        changed = self.epochs.truncate_end(end)
        assert changed == (before != self.epochs.entries)
        left = self.log[self.start : end]
        self.log = self.log[:end]
        self.current = left[-1] if left else None

    @rule(count=st.integers(0, 4))
    def truncate_start(self, count: int) -> None:
        """Remove the first records."""
        self.start = min(self.start + count, len(self.log))
        before = list(self.epochs.entries)
        changed = self.epochs.truncate_start(self.start)
        assert changed == (before != self.epochs.entries)

    @rule()
    def reopen(self) -> None:
        """Store the epochs and read them back."""
        data = self.epochs.checkpoint().encode()
        again = from_checkpoint(LeaderEpochCheckpoint.decode(data))
        assert again.entries == self.epochs.entries
        self.epochs = again

    @invariant()
    def every_epoch_ends_where_a_larger_one_begins(self) -> None:
        """The end of every epoch is right, also of unknown ones."""
        known = self.known()
        assert self.epochs.latest == self.current
        assert [each.epoch for each in self.epochs.entries] == known
        for epoch in range(-1, (known[-1] if known else 0) + 2):
            if not known or epoch > known[-1]:
                wanted = None
            else:
                larger = [place for place in range(self.start, len(self.log)) if self.log[place] > epoch]
                end = larger[0] if larger else len(self.log)
                wanted = (max((each for each in known if each <= epoch), default=epoch), end)
            assert self.epochs.end_of(epoch, len(self.log)) == wanted


EpochsMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=25)
TestEpochs = EpochsMachine.TestCase


def filled() -> Epochs:
    """Epoch 2 from offset 0, 4 from 10, 7 from 20."""
    found = Epochs()
    for epoch, start in ((2, 0), (4, 10), (7, 20)):
        found.assign(epoch, start)
    return found


def test_an_epoch_ends_where_the_next_one_begins() -> None:
    """Pinned answers, with a log that ends at 30."""
    found = filled()
    asked = {epoch: found.end_of(epoch, 30) for epoch in (1, 2, 3, 4, 6, 7, 8)}
    assert asked == {1: (1, 0), 2: (2, 10), 3: (2, 10), 4: (4, 20), 6: (4, 20), 7: (7, 30), 8: None}


@pytest.mark.parametrize(("epoch", "start"), [(8, 19), (7, 19), (-1, 30), (8, -1)])
def test_starts_do_not_go_back(epoch: int, start: int) -> None:
    """SP-03. An epoch with an earlier start is refused, and nothing changes."""
    found = filled()
    with pytest.raises(ValueError, match=f"leader epoch {epoch} from offset {start}"):
        found.assign(epoch, start)
    assert found.entries == filled().entries


def test_epochs_do_not_go_back() -> None:
    """SP-03. An outdated leader does not write."""
    found = filled()
    with pytest.raises(OldEpochError, match="leader epoch 6 comes after epoch 7"):
        found.assign(6, 25)
    assert found.entries == filled().entries


@pytest.mark.parametrize("wrong", [[(3, 0), (3, 5)], [(3, 0), (2, 5)], [(3, 5), (4, 5)], [(3, 5), (4, 2)], [(-1, 0)]])
def test_a_wrong_checkpoint_is_refused(wrong: list[tuple[int, int]]) -> None:
    """Epochs and starts ascend, from 0 on."""
    with pytest.raises(DamagedError, match="leader epoch"):
        from_checkpoint(LeaderEpochCheckpoint(tuple(EpochEntry(*each) for each in wrong)))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=4))
def test_what_is_accepted_can_be_assigned(entries: list[tuple[int, int]]) -> None:
    """A checkpoint is accepted exactly if a log can reach it."""
    checkpoint = LeaderEpochCheckpoint(tuple(EpochEntry(*each) for each in entries))
    made = Epochs()
    try:
        for each in checkpoint.entries:
            made.assign(each.epoch, each.start)
    except (ValueError, OldEpochError):
        made.entries.clear()
    if made.checkpoint() == checkpoint:
        assert from_checkpoint(checkpoint).entries == made.entries
    else:
        with pytest.raises(DamagedError):
            from_checkpoint(checkpoint)


def keep_equal(self: Epochs, end: int) -> bool:
    """A faulty truncation that keeps an epoch that began at the new end."""
    self.entries = [each for each in self.entries if each.start <= end]
    return False


@pytest.mark.parametrize("wrong", [lambda self, end: False, keep_equal], ids=["all", "equal"])
def test_known_wrong_variants_are_caught(wrong: Callable[[Epochs, int], bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """With it the next leader's records would count as those of a truncated epoch."""

    def play() -> None:
        machine = EpochsMachine()
        machine.lead(1)
        machine.append(2)
        machine.lead(1)
        machine.append(1)
        machine.lead(1)
        machine.truncate_end(1)
        machine.every_epoch_ends_where_a_larger_one_begins()

    play()
    monkeypatch.setattr(module.Epochs, "truncate_end", wrong)
    with pytest.raises(AssertionError):
        play()
