"""Runs of batches that a proxy forwards to a main until the main has taken them, with failures on the way.

The proxy and the main hear of new epochs at different times. The main refuses requests of fenced epochs, reads fail,
answers are lost or short, and single batches are refused. Judged by the producers: one that hears an error for good
gives its batch up, so only a refusal of that batch itself may tell it one (ZR-26, ZR-27, V-2).
"""

from __future__ import annotations

import msgspec

from impl.sim.tape import Draw, one
from impl.sim.violation import PartViolation
from impl.zone.forwarding import producer_errors, requests

BATCHES, ROUNDS = 6, 6
"""The most batches of a run, and the number of rounds in which failures happen."""
PASSING = ("LEADER_NOT_AVAILABLE", "NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT")
"""The errors after which a producer asks for the metadata, and sends once more. Any other one is for good."""
REFUSALS = ("NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT", "OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_PRODUCER_EPOCH")
"""What a main may answer for one batch (ZR-26)."""
UNKNOWN, DENIED = "UNKNOWN_SERVER_ERROR", "CLUSTER_AUTHORIZATION_FAILED"
"""The answer of a main to a whole request that it refuses or fails, and to a proxy without the right to send one."""


class ForwardedBatch(msgspec.Struct):
    """A batch of a producer. ``epoch``: the epoch of its record in the channel, anew for each sending.

    ``told``: what the producer was told last.
    """

    number: int
    epoch: int = 0
    told: str = ""

    @property
    def is_waiting(self) -> bool:
        """Whether the producer sends the batch once more."""
        return not self.told or self.told in PASSING


class MainAnswer(msgspec.Struct, frozen=True):
    """The answer of a main to a request. ``error``: for the whole request. ``lost``: it does not come.

    ``answers``: the errors of the first batches of the request, in order; none if the whole request fails.
    """

    error: str
    answers: tuple[str, ...]
    lost: bool = False


def judged(draw: Draw) -> PartViolation | None:
    """Make a run of forwarded batches, and tell the first thing that their producers hear wrongly; None if nothing."""
    batches = [ForwardedBatch(number) for number in range(1 + int(draw() * BATCHES))]
    fenced = proxy = 0
    for number in range(ROUNDS + 1):
        fenced += one(draw, (0, 0, 1, 1, 2))
        last = number == ROUNDS
        if last or draw() < 0.5:
            proxy = fenced + 1 + one(draw, (0, 1))
        waiting = [each for each in batches if each.is_waiting]
        for batch in waiting:
            # The epoch of the channel may change between two appends.
            batch.epoch = proxy - (not last and draw() < 0.3)
        found = _round(draw, waiting, fenced, healthy=last)
        if found is not None:
            return found
    if any(each.is_waiting for each in batches):
        return PartViolation("V-2", "a producer does not get its batch through, though nothing fails any more")
    return None


def _round(draw: Draw, waiting: list[ForwardedBatch], fenced: int, *, healthy: bool) -> PartViolation | None:
    """All waiting batches are sent in requests of one epoch each, and their producers are told the outcome (ZR-23)."""
    cut = requests([each.epoch for each in waiting])
    epochs = [epoch for epoch, _ in cut]
    if epochs != sorted(set(epochs)):
        return PartViolation("ZR-23", "the requests of a proxy do not come by ascending epoch")
    if sum(count for _, count in cut) != len(waiting):
        return PartViolation("ZR-23", "a batch is in no request, or in two")
    for epoch, count in cut:
        items = [each for each in waiting if each.epoch == epoch]
        if len(items) != count:
            return PartViolation("ZR-23", "a request has batches of another epoch")
        found = _tell(items, _answer(draw, epoch, count, fenced, healthy=healthy))
        if found is not None:
            return found
    return None


def _answer(draw: Draw, epoch: int, count: int, fenced: int, *, healthy: bool) -> MainAnswer:
    """What a main answers. A fenced epoch, a read that fails and an unexpected failure look alike (ZR-26)."""
    if epoch <= fenced:
        return MainAnswer(UNKNOWN, ())
    if healthy:
        return MainAnswer("NONE", ("NONE",) * count)
    kind = draw()
    answers = tuple(one(draw, REFUSALS) if draw() < 0.2 else "NONE" for _ in range(count))
    if kind < 0.15:
        return MainAnswer(UNKNOWN, ())
    if kind < 0.3:
        return MainAnswer("NONE", answers, lost=True)
    if kind < 0.45:
        return MainAnswer("NONE", answers[: int(draw() * count)])
    return MainAnswer(DENIED, ()) if kind < 0.5 else MainAnswer("NONE", answers)


def _tell(items: list[ForwardedBatch], answer: MainAnswer) -> PartViolation | None:
    """Tell the producers the answer, and judge what they hear. The proxy hears nothing of a lost answer."""
    heard = MainAnswer("NONE", (), lost=True) if answer.lost else answer
    told = producer_errors(len(items), heard.error, heard.answers, lost=heard.lost)
    if len(told) != len(items):
        return PartViolation("ZR-24", "a proxy tells a producer nothing, or tells a producer that has asked nothing")
    for place, (batch, error) in enumerate(zip(items, told, strict=True)):
        batch.told = error
        if heard.error == DENIED:
            expected = DENIED
        else:
            expected = heard.answers[place] if place < len(heard.answers) else ""
        found = _heard(error, expected)
        if found is not None:
            return found
    return None


def _heard(error: str, expected: str) -> PartViolation | None:
    """Judge what a producer hears. ``expected``: the main's answer for its batch; "" if it has none."""
    if expected:
        return None if error == expected else PartViolation("ZR-27", "a proxy changes the answer of a main for a batch")
    if error == "NONE":
        return PartViolation("I-8", "a producer hears success for a batch that no main has answered")
    if error not in PASSING:
        return PartViolation("V-2", "a producer hears an error for good for a batch that no main has refused")
    if error != PASSING[0]:
        return PartViolation("ZR-27", "a producer hears of an unanswered batch by another error than the facts name")
    return None
