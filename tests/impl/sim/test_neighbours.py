"""Neighbours: they use the controllers for things of their own, and runs with them hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from impl import wire
from impl.bridge.guards.conformance import objection
from impl.oracles.verdict import Violation
from impl.records import TOPIC_TAG
from impl.sim.case_file import CaseError, case_of, read_case, text
from impl.sim.check import Question, check
from impl.sim.event_log import EventLog, ExecutedRequest
from impl.sim.neighbours import LISTS, LOCKED, LONER, TAG, Neighbour
from impl.sim.options import Options
from impl.sim.script import ScriptOperation

KINDS = ("neighbour",)
ALWAYS = ("FO-01.registered", "ND-11.locked", "OB-04", "OB-05.rest", "RA-44")
"""Rules that each of these runs reaches."""


def asked(seed: int, partitions: int, version: str = "V6", *settings: str) -> Question:
    """A run whose only faults are neighbours."""
    options = Options(partitions=partitions, operations=100, faults=KINDS)
    return Question(seed=seed, options=options, version=version, settings=settings)


def requests(log: EventLog) -> Iterator[wire.Body]:
    """The requests of neighbours."""
    for *_, subject in log.events:
        if isinstance(subject, ExecutedRequest) and subject.sender == Neighbour.name:
            yield subject.request.body


def streams_of(body: wire.Body) -> list[int]:
    """The streams that a request names."""
    match body:
        case wire.OpenStreams() | wire.CloseStreams():
            return [each.stream for each in body.items]
        case wire.DeleteStreams(_, _, streams):
            return list(streams)
        case wire.CommitStreamObject(commit):
            return [commit.stream]
        case wire.CommitStreamSetObject(commit):
            return [each.stream for each in commit.ranges]
        case _:
            return []


@pytest.mark.parametrize("version", ["legacy", "V6"])
@pytest.mark.parametrize("partitions", [0, 3])
def test_a_run_goes_on_beside_neighbours(partitions: int, version: str) -> None:
    """No oracle and no model objects, though the neighbours are served, and reach rules that nobody else reaches."""
    question = asked(1, partitions, version)
    checked = check(question)
    assert not checked.violations
    assert checked.error is None
    assert checked.run.happened.keys() == {"neighbour"}
    assert objection(question, checked) is None
    assert set(ALWAYS) <= checked.run.decided.keys()


@pytest.mark.parametrize("partitions", [0, 3])
def test_neighbours_touch_only_what_is_theirs(partitions: int) -> None:
    """They name no node, no stream and no topic of the run; and no broker opens a partition of theirs."""
    checked = check(asked(2, partitions))
    image = checked.run.simulation.cluster.leader.image
    bodies = list(requests(checked.run.log))
    named = {stream for body in bodies for stream in streams_of(body)} & image.streams.keys()
    assert named
    assert all(any(tag.key == TAG for tag in image.streams[each].tags) for each in named)
    nodes = {body.node for body in bodies if isinstance(body, wire.OpenStreams | wire.CloseStreams)}
    assert nodes == {LONER, LOCKED}
    moved = {topic for body in bodies if isinstance(body, wire.AlterReassignments) for topic in body.topics}
    assert moved == {LISTS}
    assert not [row for row in image.streams.values() for tag in row.tags if (tag.key, tag.value) == (TOPIC_TAG, LISTS)]


def test_recorded_neighbours_ask_again() -> None:
    """A run that is replayed from its tape has the same requests."""
    first = check(asked(1, 0)).run
    options = Options(faults="none", recorded=tuple(first.faults), operations_of=first.script)
    again = check(Question(seed=1, options=options)).run
    bodies = [list(requests(run.log)) for run in (first, again)]
    assert bodies[0]
    assert bodies[0] == bodies[1]


def test_a_cancel_meets_the_settings() -> None:
    """A cancel with no original replica in sync is refused, or marked where unclean elections are allowed."""
    usual, unclean, two = (check(asked(0, 0, "V6", *each)) for each in ((), ("unclean-elections",), ("min-insync-2",)))
    assert usual.run.decided.get("CA-22", 0)
    assert not usual.run.decided.get("CA-25", 0)
    assert unclean.run.decided.get("CA-25", 0)
    assert not unclean.run.decided.get("CA-22", 0)
    assert two.run.decided.get("CA-26.min_isr", 0)


def test_a_file_keeps_the_settings(tmp_path: Path) -> None:
    """A kept run has its settings, with and without all rules; an unknown one is refused with the nearest name."""
    options = Options(recorded=(), operations_of=(ScriptOperation(0, 0, "append", 0, value=1),))
    question = Question(seed=1, options=options, settings=("min-insync-2",), without=("ST-14",))
    path = tmp_path / "case.json"
    path.write_text(text(case_of(question, Violation("log", 0, "said"))))
    for mended in (False, True):
        assert read_case(path, "case.json").question(mended=mended).settings == ("min-insync-2",)
    path.write_text(path.read_text().replace("min-insync-2", "min-insync-3"))
    with pytest.raises(CaseError, match=r"case.json: settings: .*min-insync-2"):
        read_case(path, "case.json")
