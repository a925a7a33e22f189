"""The modelled quorum: commits that take time, and the tail that a change of leader loses."""

from __future__ import annotations

import random

import pytest

from impl import records as r
from impl import wire
from impl.controller.node import Controller
from impl.errors import E
from impl.metadata import snapshot
from impl.metadata.log import MetadataBatch, replay
from impl.metadata.quorum import Quorum
from impl.rules import without

ONE, TWO = MetadataBatch((r.RemoveS3Stream(1),)), MetadataBatch((r.RemoveS3Stream(2),))


def _led(delay: int = 0) -> Quorum:
    quorum = Quorum(delay)
    quorum.elect(1)
    return quorum


def test_a_commit_takes_its_time() -> None:
    """A batch is committed ``delay`` milliseconds after its append, in the order of the log."""
    quorum = _led(delay=10)
    assert quorum.next_commit() is None
    quorum.append(1, 0, ONE, now=0)
    quorum.append(1, 1, TWO, now=4)
    assert quorum.next_commit() == 10
    assert [quorum.commit_due(now) for now in (9, 10, 13, 14)] == [0, 1, 1, 2]


def test_a_log_may_begin_with_batches() -> None:
    """They are committed, and no change of leader loses them."""
    quorum = Quorum(5, (ONE,))
    leader = quorum.elect(0)
    assert (quorum.committed, quorum.learned(0)) == (1, (ONE,))
    assert quorum.append(leader.term, 1, TWO, now=0)
    assert quorum.resign() == (TWO,)
    assert quorum.learned(0) == (ONE,)


def test_a_change_of_leader_loses_the_tail() -> None:
    """What the majority had is committed; the rest is lost."""
    quorum = _led(delay=10)
    quorum.append(1, 0, ONE, now=0)
    quorum.append(1, 1, TWO, now=0)
    assert quorum.elect(2, kept=1).term == 2
    assert (quorum.committed, quorum.batches, quorum.learned(0)) == (1, [ONE], (ONE,))
    assert quorum.commit_due(99) == 1


def test_an_old_leader_appends_nothing() -> None:
    """A controller that has not heard of its successor appends without an effect."""
    quorum = _led()
    quorum.elect(2)
    assert not quorum.append(1, 0, ONE, now=0)
    quorum.resign()
    assert not quorum.append(2, 0, ONE, now=0)
    assert quorum.batches == []


def test_a_leader_leaves_out_no_index() -> None:
    """A hole in the log, or a batch that is written twice, is an error of the leader."""
    quorum = _led()
    for index in (1, -1):
        with pytest.raises(ValueError, match="but the log ends at 0"):
            quorum.append(1, index, ONE, now=0)


def test_only_pending_batches_can_be_kept() -> None:
    """The number of batches to keep must not exceed the pending ones."""
    with pytest.raises(ValueError, match="1 pending batches are to be kept, but 0 are pending"):
        _led().resign(kept=1)


@pytest.mark.parametrize("seed", range(12))
def test_two_controllers_agree_on_each_answer(seed: int) -> None:
    """EX-01 to EX-03, INV-17: after any changes of leader each answered id is in the common final log, once."""
    world = _World(random.Random(seed))
    world.run(300)
    assert len(world.answered) > 50
    assert world.disagreement() == ""


@pytest.mark.parametrize(("label", "found"), [("EX-01", "answers are lost"), ("EX-03", "images differ")])
def test_without_a_rule_they_disagree(label: str, found: str) -> None:
    """Without any one of the rules some seed shows a disagreement."""
    seen = set()
    for seed in range(12):
        world = _World(random.Random(seed))
        with without(label):
            world.run(300)
        seen.add(world.disagreement())
    assert found in seen


class _World:
    """A quorum, two controllers, and a client that prepares objects; leaders change by chance."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.quorum = Quorum(delay=3)
        self.controllers = [Controller(leads=False), Controller(leads=False)]
        self.answered: list[int] = []

    def run(self, steps: int) -> None:
        """Let time pass, and change the leader at the end, after which both controllers know the log."""
        for now in range(steps):
            if self.quorum.leader is None or self.draw.random() < 0.05:
                self._elect(now)
            elif self.draw.random() < 0.5:
                self._ask(now)
            if self.quorum.leader is not None:
                self.quorum.commit_due(now)
                self._give(
                    self.quorum.leader.controller, wire.CommitNotice(self.quorum.term, self.quorum.committed), now
                )
        self._elect(steps)

    def disagreement(self) -> str:
        """The first disagreement at the end, or an empty text."""
        expected = snapshot.snapshot(replay(self.quorum.batches))
        if any(snapshot.snapshot(controller.image) != expected for controller in self.controllers):
            return "images differ"
        known = replay(self.quorum.batches).objects
        lost = len(set(self.answered)) < len(self.answered) or not set(self.answered) <= set(known)
        return "answers are lost" if lost else ""

    def _elect(self, now: int) -> None:
        chosen = self.draw.randrange(2)
        elected = self.quorum.elect(chosen, self.draw.randint(0, len(self.quorum.batches) - self.quorum.committed))
        for number, controller in enumerate(self.controllers):
            self._give(number, wire.ResignationNotice(elected.term), now)
            begin = min(controller.log.end, self.quorum.committed)
            self._give(number, wire.LearnedBatches(begin, self.quorum.learned(begin)), now)
        self._give(chosen, wire.ElectionNotice(elected.term), now)

    def _ask(self, now: int) -> None:
        leader = self.quorum.leader
        assert leader is not None
        self._give(leader.controller, wire.Request(1, now, wire.PrepareObjects(1, 10**6)), now)

    def _give(self, number: int, event: wire.Input, now: int) -> None:
        for output in self.controllers[number].handle(event, now):
            if isinstance(output, wire.QuorumAppend) and self._leads(number) and self._follows(output):
                self.quorum.append(self.quorum.term, output.index, output.batch, now)
            elif isinstance(output, wire.Reply):
                answers = (answer for answer in output.answers if answer.error is E.NONE)
                self.answered.extend(answer.values["first"] for answer in answers)

    def _leads(self, number: int) -> bool:
        return self.quorum.leader is not None and self.quorum.leader.controller == number

    def _follows(self, append: wire.QuorumAppend) -> bool:
        """Whether the batch is the next one. A controller without EX-03 skips some."""
        return append.index == len(self.quorum.batches)
