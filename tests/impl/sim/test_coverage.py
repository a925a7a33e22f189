"""The coverage of runs: events, pairs of events of one stream, situations, and kinds of images."""

from __future__ import annotations

from collections import Counter
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from impl.broker.messages import StepEvent, StoreRequest
from impl.errors import E
from impl.metadata.log import MetadataBatch
from impl.records import BrokerRegistration, NodeWALMetadata, Range, S3Stream, StreamState
from impl.rules import decided
from impl.sim.check import CheckResult, Question, check
from impl.sim.coverage import DECISION, EVENTS, LACK, coverage_of, events
from impl.sim.decisions import DecisionLog
from impl.sim.event_log import AppendedBatch, Event, EventLog, ExecutedRequest, StoreEffect
from impl.sim.image_kinds import ImageKinds, kind_of, signature_of
from impl.sim.options import Options
from impl.sim.situation_names import CLUSTER, OF_STREAMS, SITUATIONS, situations
from impl.store.interface import Put, PutResult
from impl.wire import AlterReassignments, Body, GetOpeningStreams, ItemAnswer, OpenStreams, Request

SHORT = Options(operations=100, span_ms=30_000)


@cache
def _checked(seed: int, partitions: int = 0) -> CheckResult:
    return check(Question(seed=seed, options=replace(SHORT, partitions=partitions)))


def covered(*events: Event) -> Any:
    """The coverage of a run with these events, whose stream 7 has the key 0. No rule decides in it."""
    log = EventLog()
    log.events.extend(events)
    load = SimpleNamespace(keys=lambda: {7: 0})
    run: Any = SimpleNamespace(log=log, first_decided={}, simulation=SimpleNamespace(load=load))
    return coverage_of(run)


def start(process: str, node: int, epoch: int) -> Event:
    """A process starts."""
    return 0, process, "start", {"node": node, "epoch": epoch}


def step(process: str, action: str, **values: int) -> Event:
    """A process makes a step."""
    return 0, process, "step", StepEvent(action, values)


def executed(sender: str, body: Body, error: E = E.NONE, post: tuple[Any, ...] = ()) -> Event:
    """The leader executes a request."""
    found = ExecutedRequest(sender, Request(1, 1, body), stale=False)
    found.answers = (ItemAnswer(error),)
    found.post = post
    return 0, "c0", "execute", found


def test_a_rule_that_is_switched_off_makes_moments() -> None:
    """A moment has the rule and the two events before; of two alike the first one counts."""
    lack = {"rule": "ST-14"}
    found = covered(
        (1, "b1", "missing", lack),
        step("b1", "shut_down"),
        (2, "b1", "missing", lack),
        executed("b1", OpenStreams(1, 1, ())),
        (3, "c0", "missing", lack),
        (4, "c0", "missing", lack),
    ).moments
    of_rule = {moment: at for moment, at in found.items() if moment[0] == LACK}
    assert of_rule == {
        (LACK, "ST-14", ""): 1,
        (LACK, "ST-14", "shut_down"): 2,
        (LACK, "ST-14", "shut_down, OpenStreams"): 3,
    }


def batch(*records: Any) -> Event:
    """The leader appends a batch."""
    return 0, "c0", "batch", AppendedBatch(0, MetadataBatch(records))


SERVE = step("b1.0", "hear", stream=7, epoch=1, next=0)
OTHER = step("b2.0", "hear", stream=7, epoch=2, next=0)
ACK = step("b1.0", "ack", stream=7, epoch=1, base=0, count=1)
OPENED = ((7, SimpleNamespace(epoch=2), SimpleNamespace(node=2), None),)
MOVE, CANCEL = ({"t": {0: target}} for target in ((2,), None))
FIRST, SECOND = start("b1.0", 1, 10), start("b1.1", 1, 11)

EXAMPLES: dict[str, tuple[Event, ...]] = {
    "a superseded process acks": (FIRST, SERVE, SECOND, ACK),
    "a process acks under an old epoch": (FIRST, SERVE, executed("b2.0", OpenStreams(2, 1, ()), post=OPENED), ACK),
    "a fenced broker acks": (FIRST, SERVE, batch(BrokerRegistration(1, "fenced")), ACK),
    "two processes serve": (FIRST, start("b2.0", 2, 10), SERVE, OTHER),
    "an open overtakes a close": (FIRST, SERVE, step("b1.0", "send_close", stream=7, epoch=1, end=3), OTHER),
    "a process ends during a close": (
        *(FIRST, SERVE, step("b1.0", "send_close", stream=7, epoch=1, end=3), (0, "b1.0", "crash", {})),
    ),
    "an open is refused": (executed("b2.0", OpenStreams(2, 1, ()), E.STREAM_FENCED, OPENED),),
    "a move is cancelled before its close": (
        *(executed("o", AlterReassignments(MOVE)), executed("o", AlterReassignments(CANCEL))),
    ),
    "a move is cancelled during its close": (
        *(executed("o", AlterReassignments(MOVE)), step("b1.0", "freeze", partition=0)),
        executed("o", AlterReassignments(CANCEL)),
    ),
    "a move is cancelled after its close": (
        *(executed("o", AlterReassignments(MOVE)), step("b1.0", "freeze", partition=0)),
        *(step("b1.0", "end_close", partition=0), executed("o", AlterReassignments(CANCEL))),
    ),
    "two processes open": tuple(step(f"b{node}.0", "begin_open", partition=0, leader_epoch=1) for node in (1, 2)),
    "crossed recovery": tuple(executed(f"b{node}.0", GetOpeningStreams(3, 1, failover=True)) for node in (1, 2)),
    "a failover of a living process": (FIRST, executed("b2.0", GetOpeningStreams(1, 1, failover=True))),
    "a successor beside its predecessor": (FIRST, SECOND),
    "an equal or older node epoch": (FIRST, (0, "b1.0", "crash", {}), start("b1.1", 1, 10)),
    "a registration is refused": (executed("b1.0", GetOpeningStreams(1, 1), E.NODE_EPOCH_EXPIRED),),
    "a paused process is fenced": (FIRST, (0, "b1.0", "pause", {}), batch(BrokerRegistration(1, "fenced"))),
    "a put takes effect after the end of its process": (
        *(FIRST, (0, "b1.0", "halt", {})),
        (0, "b1.0", "effect", StoreEffect(StoreRequest(1, Put("wal/1", b"")), PutResult("1"))),
    ),
}
"""By situation: the events of a run that reaches it."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_situation_is_seen(name: str) -> None:
    """Without the last of these events the situation is not reached, and with it it is."""
    events = EXAMPLES[name]
    subject = CLUSTER if SITUATIONS.index(name) >= SITUATIONS.index("crossed recovery") else 0

    assert (name, subject) in covered(*events).situations
    assert name not in {found for found, _ in covered(*events[:-1]).situations}


def test_a_finished_recovery_is_not_crossed() -> None:
    """Two recoveries of one node, one after the other, do not cross."""
    first, second = EXAMPLES["crossed recovery"]
    assert ("crossed recovery", CLUSTER) not in covered(first, step("b1.0", "reset_wal"), second).situations


def test_an_open_that_is_given_up_is_over() -> None:
    """A process that gives an open up does not open beside the next one."""
    first, second = EXAMPLES["two processes open"]
    found = covered(first, step("b1.0", "freeze", partition=0), second)
    assert "two processes open" not in {name for name, _ in found.situations}


def test_pairs_are_of_one_stream() -> None:
    """A pair is two consecutive events of one stream; events of another stream do not come between them."""
    other = step("b1.0", "ack", stream=8, epoch=1, base=0, count=1)
    found = covered(FIRST, SERVE, other, ACK, other, (0, "b1.0", "crash", {}))
    assert found.pairs == {("hear", "ack"): 1, ("ack", "ack"): 1, ("ack", "crash"): 1}


def test_lost_requests_are_not_counted() -> None:
    """A request that a failover has lost is no event, and a refused one is counted apart."""
    lost = executed("b2.0", OpenStreams(2, 1, ()))
    lost[3].lost = True
    found = covered(lost, executed("b2.0", OpenStreams(2, 1, ()), E.STREAM_FENCED))
    assert (found.events, found.refused) == ({}, {"OpenStreams": 1})


# Kinds of images --------------------------------------------------------------------------------------------------


def _kinds(*streams: tuple[int, int, int], node: int = 1, state: str = "active") -> ImageKinds:
    """The kinds of images with some streams: the id, epoch and start of each."""
    kinds = ImageKinds()
    records: list[Any] = [BrokerRegistration(node, state), NodeWALMetadata(node, 5)]
    for stream, epoch, begin in streams:
        records += [S3Stream(stream, epoch, 0, begin, StreamState.OPENED), Range(stream, epoch, 0, begin, begin, node)]
    kinds.add(MetadataBatch(tuple(records)))
    return kinds


def test_a_kind_has_no_numbers() -> None:
    """Other ids, epochs, offsets and nodes make the same kind; another state of a stream does not."""
    assert _kinds((1, 1, 3), (2, 4, 0)).signatures == _kinds((5, 9, 0), (8, 2, 7), node=3).signatures
    assert _kinds((1, 1, 3)).signatures == _kinds((1, 1, 3), (2, 1, 3)).signatures
    assert _kinds((1, 1, 3)).signatures != _kinds().signatures
    assert _kinds((1, 1, 3)).signatures != _kinds((1, 1, 3), state="fenced").signatures


def test_a_signature_is_the_same_everywhere() -> None:
    """A signature is a hash of the kind's text, so that it does not depend on the process."""
    leader = _checked(1).run.simulation.cluster.leader
    assert 0 <= signature_of(kind_of(leader.image)) < 1 << 16
    assert signature_of(((), (), ())) == 24801


# Whole runs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("partitions", [0, 3])
def test_runs_cover_known_names(partitions: int) -> None:
    """A run covers events, pairs, situations and images, and each name is on its list."""
    found = coverage_of(_checked(1, partitions).run)
    known = set(events(partitions=partitions > 0))
    assert set(found.events) | set(found.refused) <= known
    assert {name for pair in found.pairs for name in pair} <= known
    assert {name for name, _ in found.situations} <= set(situations(partitions=partitions > 0))
    assert len(found.images) > 10


def test_coverage_changes_nothing() -> None:
    """Whoever reads the coverage of a run leaves its log as it is. A second reading gives the same coverage."""
    run = _checked(2).run
    before, first = run.log.render(), coverage_of(run)
    assert (run.log.render(), coverage_of(run)) == (before, first)


def test_runs_reach_most_situations() -> None:
    """A few runs reach more than half of the situations of streams and of clusters."""
    reached = {name for seed in range(12) for name, _ in coverage_of(_checked(seed).run).situations}
    assert len(reached) >= 14


# Circumstances ----------------------------------------------------------------------------------------------------

OPENED_BY_1 = executed(
    "b1.0", OpenStreams(1, 1, ()), post=((7, SimpleNamespace(epoch=1), SimpleNamespace(node=1), None),)
)
REFUSED = executed("b2.0", OpenStreams(2, 1, ()), E.STREAM_FENCED, ((7, None, None, None),))
CLOSE = step("b1.0", "send_close", stream=7, epoch=1, end=3)
OWNED = FIRST, OPENED_BY_1

CIRCUMSTANCES: dict[str, tuple[Event, ...]] = {
    "no process serves it, no node has opened it": (),
    "one process serves it, no node has opened it": (FIRST, SERVE),
    "no process serves it": OWNED,
    "one process serves it": (*OWNED, SERVE),
    "several processes serve it": (*OWNED, SERVE, start("b2.0", 2, 10), OTHER),
    "no process serves it, a close waits": (*OWNED, SERVE, CLOSE),
    "no process serves it, no process of its owner lives": (*OWNED, SERVE, (0, "b1.0", "crash", {})),
    "one process serves it, a process of its owner is paused": (*OWNED, SERVE, (0, "b1.0", "pause", {})),
    "one process serves it, its owner is fenced": (*OWNED, SERVE, batch(BrokerRegistration(1, "fenced"))),
    "no process serves it, its owner recovers": (*OWNED, executed("b1.0", GetOpeningStreams(1, 1))),
    "no process serves it, no process of its owner lives, its owner is fenced": (
        *(*OWNED, (0, "b1.0", "halt", {}), batch(BrokerRegistration(1, "fenced"))),
    ),
}
"""By the circumstances of a refused open: the events before it."""


@pytest.mark.parametrize("circumstances", CIRCUMSTANCES)
def test_a_situation_has_its_circumstances(circumstances: str) -> None:
    """They are those of the stream after the event that reaches the situation."""
    found = covered(*CIRCUMSTANCES[circumstances], REFUSED).circumstances
    assert ("an open is refused", circumstances) in found
    assert len([name for name, _ in found if name == "an open is refused"]) == 1


@pytest.mark.parametrize(
    ("events", "usual"),
    [
        ((*OWNED, SERVE, (0, "b1.0", "pause", {}), (0, "b1.0", "resume", {})), "one process serves it"),
        ((*OWNED, batch(BrokerRegistration(1, "fenced"), BrokerRegistration(1, "active"))), "no process serves it"),
        (
            (*OWNED, executed("b1.0", GetOpeningStreams(1, 1)), step("b1.0", "reset_wal")),
            "no process serves it",
        ),
        (
            (*OWNED, executed("b2.0", OpenStreams(2, 1, ()), post=OPENED), (0, "b1.0", "crash", {})),
            "no process serves it",
        ),
    ],
    ids=["resumed", "unfenced", "recovered", "another owner"],
)
def test_circumstances_pass(events: tuple[Event, ...], usual: str) -> None:
    """What has ended is no circumstance any more, and only the newest owner counts."""
    found = covered(start("b2.0", 2, 10), *events, REFUSED).circumstances
    assert ("an open is refused", usual) in found


def test_no_situation_is_called_like_an_event() -> None:
    """A pair of events and a situation with its circumstances are two names each, and a guide tells them apart."""
    assert not set(SITUATIONS) & set(EVENTS)


def test_circumstances_are_those_of_the_first_time() -> None:
    """A situation that a run reaches again for the same stream has no more circumstances; the first time counts."""
    timed = [(time, *event[1:]) for time, event in enumerate((*OWNED, REFUSED, SERVE, REFUSED))]
    assert covered(*timed).circumstances == {("an open is refused", "no process serves it"): 2}


# Moments ----------------------------------------------------------------------------------------------------------


def test_a_moment_has_the_events_before_it() -> None:
    """A situation of a stream has the last two events of this stream with it, and the time; it counts once a run."""
    events = [start("a", 1, 5), step("a", "hear", stream=7, epoch=1), step("a", "ack", stream=7, epoch=1)]
    events += [start("b", 1, 6), step("a", "ack", stream=7, epoch=1), step("a", "ack", stream=7, epoch=1)]
    timed = [(time, *event[1:]) for time, event in enumerate(events)]
    found = covered(*timed)
    assert found.moments == {("a superseded process acks", "ack", "ack"): 4}
    assert found.first_pairs == {("hear", "ack"): 2, ("ack", "ack"): 4}


def test_situations_of_the_cluster_have_no_moment() -> None:
    """Only a stream or a partition has events of its own."""
    found = covered(start("a", 1, 5), start("b", 1, 6))
    assert found.situations
    assert not found.moments


@pytest.mark.parametrize("partitions", [0, 3])
def test_moments_are_those_of_reached_situations(partitions: int) -> None:
    """A run has a moment of each situation that it reaches for a stream or partition, and of no other."""
    checked = _checked(1, partitions)
    found = coverage_of(checked.run)
    assert {name for name, key in found.situations if key != CLUSTER} <= {name for name, *_ in found.moments}
    assert {name for name, *_ in found.moments} <= {*SITUATIONS, DECISION}
    assert {name for name, _ in found.circumstances} <= {name for name, *_ in found.moments} & set(OF_STREAMS)
    assert {name for name, key in found.situations} & set(OF_STREAMS) <= {name for name, _ in found.circumstances}
    assert set(found.first_pairs) == set(found.pairs)
    begin, end = checked.run.log.events[0][0], checked.run.log.events[-1][0]
    times = [at for (name, *_), at in found.moments.items() if name != DECISION]
    times += found.circumstances.values()
    assert all(begin <= at <= end for at in (*times, *found.first_pairs.values()))


def test_a_rule_is_noted_in_the_step_of_its_first_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later decision does not count, and neither does a step in which no rule decides."""
    monkeypatch.setattr("impl.sim.decisions.decided", counter := Counter[str]())
    log = DecisionLog()
    for now, labels in enumerate(([], ["ST-14"], [], ["ST-14", "CS-04", "AM-08"], ["AM-08"])):
        counter.update(labels)
        log.note_missed(now, "c0")
    assert log.first_decided == {"ST-14": 1, "CS-04": 3, "AM-08": 3}
    assert not log.events


def test_each_deciding_rule_makes_a_moment() -> None:
    """The moment has the time of the first decision: switched off, the rule would first have decided just then."""
    run = _checked(1).run
    made = {rule: at for (name, rule, _), at in coverage_of(run).moments.items() if name == DECISION}
    assert made == run.first_decided
    assert made.keys() == run.decided.keys()
    label, at = max(made.items(), key=lambda each: each[1])
    lacking = check(Question(seed=1, options=SHORT, without=(label,))).run
    lacks = [now for now, _, kind, _ in lacking.log.events if kind == "missing"]
    assert lacks[0] == at > lacking.begin
    assert label not in lacking.first_decided


def test_a_run_does_not_count_the_decisions_of_others() -> None:
    """A run that is made again has the same decisions, and ``decided`` has the sum over all runs."""
    before = decided.copy()
    first, again = (check(Question(seed=3, options=SHORT)).run for _ in range(2))
    assert again.first_decided == first.first_decided
    assert again.decided == first.decided
    assert decided - before == Counter(first.decided) + Counter(again.decided)
