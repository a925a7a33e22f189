"""Runs of a controller alone: random requests, and rounds, on random metadata, judged by the oracle of answers.

The metadata of a cluster fit each other, since every request has kept the rules. Those of another version may not, and
the controller has to refuse what it cannot do with them.
"""

from __future__ import annotations

from impl.controller.node import Controller
from impl.controller.view import Profile
from impl.metadata.log import MetadataBatch
from impl.oracles.answers.watch import REQUEST, AnswerWatch
from impl.sim.part_cases.metadata import NODES, START_MS, random_metadata
from impl.sim.part_cases.requests import random_request
from impl.sim.tape import Draw, one
from impl.sim.violation import PartViolation
from impl.wire import Body, CommitNotice, DeleteObjects, DeletionNotice, Reply, Request, SetBroker, WakeNotice

EVENTS = 8
STEPS_MS = (1_000, 1_000, 10_000, 70_000, 1_800_000)
"""The times between rounds, of which the last one is the period of the cleanup (ND-40)."""

RETENTION_MS = 10**9
"""So long that no object is deleted: a run jumps in time, and the clock of the objects goes by rounds (OB-05)."""


def judged(draw: Draw) -> PartViolation | None:
    """Make a run of a controller, and tell the first thing that it answers or does against the facts."""
    profile = Profile(
        v6=draw() < 0.8, cancel=one(draw, ("H", "K")), handshake=one(draw, ("G0", "G1")), min_insync=one(draw, (1, 2)),
        unclean_election=draw() < 0.2, object_retention_ms=RETENTION_MS,
    )  # fmt: skip
    controller, watch, now = Controller(profile, START_MS), AnswerWatch(), START_MS
    controller.log.commit(controller.log.append(MetadataBatch(random_metadata(draw))))
    for _ in range(1 + int(draw() * EVENTS)):
        how = draw()
        if how < 0.3:
            now += one(draw, STEPS_MS)
            _wake(controller, watch, now)
        elif how < 0.4:
            now = _leave(controller, watch, one(draw, NODES), now, one(draw, STEPS_MS))
        else:
            _ask(controller, watch, random_request(draw, controller.image), now)
        if watch.found:
            return PartViolation("answers", watch.found[0].partition(REQUEST)[0])
    return None


def _leave(controller: Controller, watch: AnswerWatch, node: int, now: int, ms: int) -> int:
    """A broker shuts down, and after ``ms`` milliseconds it is fenced. Returns the time of the round after that."""
    _ask(controller, watch, SetBroker(node, "shutting_down"), now)
    _ask(controller, watch, SetBroker(node, "fenced"), now + ms)
    _wake(controller, watch, now + ms + STEPS_MS[0])
    return now + ms + STEPS_MS[0]


def _ask(controller: Controller, watch: AnswerWatch, body: Body, now: int) -> None:
    expected = watch.expect(controller, body, now)
    outputs = controller.handle(Request(0, 0, body), now)
    watch.executed(expected, controller)
    replies = [each for each in [*outputs, *_committed(controller, now)] if isinstance(each, Reply)]
    for each in replies:
        watch.answered(expected, each.answers)
    answers = sum(len(each.answers) for each in replies)
    if len(replies) != 1 or (expected is not None and answers < len(expected.items)):
        watch.found.append(f"{type(body).__name__}: it is not answered, or not all of its items are")


def _wake(controller: Controller, watch: AnswerWatch, now: int) -> None:
    mark = controller.image.mark()
    outputs = controller.handle(WakeNotice(), now)
    watch.woken(controller, mark, now)
    _committed(controller, now)
    for each in outputs:
        if isinstance(each, DeleteObjects):
            watch.deletes(controller, each.objects, now)
            controller.handle(DeletionNotice(each.objects), now)
            _committed(controller, now)
            watch.deleted(controller, each.objects, now)


def _committed(controller: Controller, now: int) -> list[object]:
    return list(controller.handle(CommitNotice(controller.term or 0, controller.log.end), now))
