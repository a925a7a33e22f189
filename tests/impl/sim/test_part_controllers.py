"""Runs of a controller alone: what the facts allow violates nothing, and the lack of a rule shows."""

from __future__ import annotations

import msgspec
import pytest

from impl.controller.node import Controller
from impl.rules import without
from impl.sim.part_cases import large_requests, object_clock
from impl.sim.part_cases.registry import PARTS, judged_run
from impl.sim.tape import stream
from impl.wire import Input, Output, Reply
from tests.impl.sim.part_findings import findings


@pytest.mark.parametrize(
    ("label", "seed", "said"),
    [
        ("CA-22.replicas", 346, "AlterReassignments: it has changed the metadata"),
        ("CS-04.destroyed", 7, "CommitStreamSetObject: it has changed the metadata"),
        ("CS-27", 87, "STREAM_FENCED, and had to be STREAM_INNER_ERROR"),
        ("CS-35", 3771, "the end of stream"),
        ("FO-01.registered", 5, "is not registered"),
        ("ND-03.listed", 155, "GetOpeningStreams: it has changed the metadata"),
        ("ND-03.many", 6868, "GetOpeningStreams: it has changed the metadata"),
        ("ND-03.none", 13, "GetOpeningStreams: it has changed the metadata"),
        ("ND-30", 50, "after the last heartbeat of its shutdown"),
        ("ND-40.active", 10, "and the node is active"),
        ("OB-02.redundant", 1, "and had to be NONE"),
        ("RA-47.recovery", 33, "AlterPartition: it has changed the metadata"),
        ("ST-16.back", 401, "OpenStreams: moved partition"),
        ("ST-17.tags", 157, "OpenStreams: opened stream"),
    ],
)
def test_the_lack_of_a_rule_shows(label: str, seed: int, said: str) -> None:
    """The oracle of answers objects to the run without the rule, and not to the run with it."""
    assert judged_run("controller", seed) is None
    with without(label):
        found = judged_run("controller", seed)
    assert found is not None
    assert (found.label, said in found.message) == ("answers", True)


def test_another_rule_decides_in_the_place_of_one() -> None:
    """Without an original list, CA-04 refuses a cancel; without CA-04, CA-22 does. Without both, nobody does."""
    with without("CA-04"):
        assert judged_run("controller", 1007) is None
    with without("CA-22.replicas"):
        assert judged_run("controller", 1007) is None
    with without("CA-04", "CA-22.replicas"):
        assert judged_run("controller", 1007) is not None


@pytest.mark.parametrize("label", ["OB-05.rest", "OB-05.retention", "OB-04"])
def test_objects_that_stay_too_long_are_noticed(label: str) -> None:
    """Without the rest of a round, the retention or the expiry, some object is not deleted in time."""
    with without(label):
        assert any(object_clock.judged(stream(seed, "object-clock")) for seed in range(3))


def test_a_request_beyond_the_cap_is_refused_whole() -> None:
    """Without RA-08.cap a request writes more records than it may."""
    with without("RA-08.cap"):
        found = [large_requests.judged(stream(seed, "large-request")) for seed in range(4)]
    assert "a request writes more records than it may" in [each.message for each in found if each is not None]


def test_an_exception_ends_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a violation, which has the name of the exception."""
    broken = PARTS["controller"]

    def fail(_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("impl.sim.part_cases.registry.PARTS", {"controller": type(broken)(fail, "broken", 1)})
    found = judged_run("controller", 0)
    assert found is not None
    assert (found.label, found.message) == ("node error", "KeyError: 'x'")


@pytest.mark.parametrize("answered", [False, True])
def test_a_controller_without_answers_is_noticed(answered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It sends no reply, or one without the answers to its items."""
    whole = Controller.handle

    def handle(controller: Controller, message: Input, now: int) -> list[Output]:
        outputs = whole(controller, message, now)
        emptied = [msgspec.structs.replace(each, answers=()) if isinstance(each, Reply) else each for each in outputs]
        return emptied if answered else [each for each in outputs if not isinstance(each, Reply)]

    monkeypatch.setattr(Controller, "handle", handle)
    assert any("it is not answered, or not all of its items are" in each for each in findings("controller", 40))
