"""Strangers: nothing that they ask for changes anything, and runs with them hold."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from impl import wire
from impl.bridge.guards.conformance import objection
from impl.errors import E
from impl.items import OpenItem, TrimItem
from impl.sim.check import Question, check
from impl.sim.event_log import AppendedBatch, EventLog, ExecutedRequest
from impl.sim.faults import RARE, swarm
from impl.sim.options import Options
from impl.sim.strangers import ABSENT, NOBODY, Stranger, is_taken
from impl.wire import ItemAnswer

KINDS = ("stranger",)
OPERATIONS = 100
SEEDS = range(2)
FETCHES = (16, 20, 22)
"""Runs in which strangers fetch beyond what is there, and below each start."""


def asked(
    seed: int, partitions: int, version: str = "V6", without: tuple[str, ...] = (), operations: int = OPERATIONS
) -> Question:
    """A run whose only faults are strangers."""
    options = Options(partitions=partitions, operations=operations, faults=KINDS)
    return Question(seed=seed, options=options, version=version, without=without)


def of_strangers(log: EventLog) -> Iterator[tuple[ExecutedRequest, bool]]:
    """The requests of strangers that a leader has executed, each with whether it led to a batch."""
    for (now, controller, _, subject), after in pairwise(log.events):
        if isinstance(subject, ExecutedRequest) and subject.sender == Stranger.name:
            # A controller appends the batch of a request in the step in which it executes the request.
            yield subject, after[:2] == (now, controller) and isinstance(after[3], AppendedBatch)


@pytest.mark.parametrize("version", ["legacy", "V6"])
@pytest.mark.parametrize("partitions", [0, 3])
def test_strangers_change_nothing(partitions: int, version: str) -> None:
    """Each request is refused or has no effect. No oracle and no model objects to the runs."""
    errors = set()
    for seed in SEEDS:
        checked = check(asked(seed, partitions, version))
        assert not checked.violations
        assert checked.run.happened.keys() == {"stranger"}
        for executed, changed in of_strangers(checked.run.log):
            found = {each.error for each in executed.answers or ()}
            assert not changed or (found and E.NONE not in found), executed.request
            errors |= found
    assert objection(asked(SEEDS[-1], partitions, version), checked) is None
    assert len(errors - {E.NONE}) > 5


def test_a_stranger_does_harm_without_a_rule() -> None:
    """Without a rule a stranger is served, and then an oracle objects."""
    found = [check(asked(seed, 0, without=("CK-02.node",))).violations for seed in range(6)]
    assert any(found)


def test_only_a_run_that_names_strangers_has_them() -> None:
    """The kinds that are drawn from all kinds leave them out; their rates are the same with and without strangers."""
    assert all(not swarm(seed).keys() & RARE.keys() for seed in range(50))
    both, alone = swarm(1, ("loss", "stranger")), swarm(1, ("loss",))
    assert both.keys() == {"loss", "stranger"}
    assert both["loss"] == alone["loss"]


def test_recorded_strangers_ask_again() -> None:
    """A run that is replayed from its tape has the same requests."""
    first = check(asked(1, 0)).run
    options = Options(faults="none", recorded=tuple(first.faults), operations_of=first.script)
    again = check(Question(seed=1, options=options)).run
    requests = [[executed.request for executed, _ in of_strangers(run.log)] for run in (first, again)]
    assert requests[0]
    assert requests[0] == requests[1]


def test_strangers_ask_brokers_for_nothing_that_is_there() -> None:
    """Brokers refuse to append no record, and to read or trim beyond what is there."""
    decided = {label for seed in FETCHES for label in check(asked(seed, 0)).run.decided}
    assert {"CL-02.count", "CL-05.order", "CL-05.start", "CL-05.confirm", "CL-06.confirm"} <= decided


@pytest.mark.parametrize("label", ["CL-05.order", "CL-05.start", "CL-05.confirm"])
def test_a_broker_that_does_not_refuse_a_stranger_is_noticed(label: str) -> None:
    """A fetch that the broker tries is a violation, although it changes nothing that a client sees."""
    # Without CL-05.confirm the broker waits for two minutes, and then the answer is a timeout.
    found = [check(asked(seed, 0, without=(label,), operations=300)).violations for seed in range(6)]
    assert {each.oracle for violations in found for each in violations} == {"strangers"}


def test_a_controller_that_does_not_refuse_a_stranger_is_noticed() -> None:
    """A request about a partition that does not exist succeeds without effect, and an oracle objects."""
    found = [check(asked(seed, 4, without=("RA-01.renewed",))).violations for seed in range(6)]
    assert {each.oracle for violations in found for each in violations} == {"strangers"}


REQUESTS = {
    "another partition": (wire.AlterReassignments({"t": {NOBODY: (1,)}}), True),
    "another broker": (wire.AlterReassignments({"t": {0: (NOBODY,)}}), True),
    "a replica that is none": (wire.AlterPartition("t", 0, 1, (1, NOBODY)), True),
    "another stream": (wire.OpenStreams(1, 2, (OpenItem(ABSENT, 1),)), True),
    "an offset and epochs": (wire.TrimStreams(1, NOBODY, (TrimItem(3, NOBODY, ABSENT),)), False),
    "a stream that is gone": (wire.DeleteStreams(1, 2, (ABSENT,)), False),
}
"""Requests, and whether they name what never exists, so that they have to be refused."""


@pytest.mark.parametrize("case", REQUESTS)
def test_answers_that_are_no_refusal(case: str) -> None:
    """The oracle objects if such a request succeeds, and not if it is refused, as a whole or for each partition."""
    request, is_absent = REQUESTS[case]
    assert is_taken(request, (ItemAnswer(E.STREAM_FENCED), ItemAnswer(E.NONE))) == is_absent
    assert is_taken(request, (ItemAnswer(E.NONE, {"rows": {"t-0": "NONE"}}),)) == is_absent
    assert not is_taken(request, (ItemAnswer(E.NONE, {"rows": {"t-0": "INVALID_REPLICA_ASSIGNMENT"}}),))
    assert not is_taken(request, (ItemAnswer(E.STREAM_NOT_EXIST),))
