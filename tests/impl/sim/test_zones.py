"""Simulated clusters of three zones: clients speak to brokers of their zone, which forward what others lead."""

from __future__ import annotations

import pytest

from impl.broker import wal_format
from impl.broker.messages import FindLeaders, Produce, StepEvent, StoreRequest
from impl.broker.wal_format import WalPlace, WalRecord, encode, encode_record, end_of, folder_of
from impl.broker.zones.inline_records import InlineRecords
from impl.client.history import History
from impl.controller.routes import reported
from impl.metadata.log import MetadataBatch
from impl.oracles.judge import judge
from impl.records import Range, S3Stream, StreamState
from impl.sim.check import CheckResult, Question, check
from impl.sim.event_log import AppendedBatch, Event, SentSnapshots
from impl.sim.options import Options
from impl.sim.storage import sends_of
from impl.sim.timeline import timeline
from impl.sim.visibility import beyond, fallen, unreadable
from impl.sim.zones import ZoneTraffic, zone_of
from impl.store.interface import Delete, Get, Put


def zoned(seed: int, faults: str = "all", without: tuple[str, ...] = (), switches: tuple[str, ...] = ()) -> CheckResult:
    """A run with three zones."""
    options = Options(partitions=4, zones=3, faults=faults)
    return check(Question(seed=seed, options=options, without=without, switches=switches))


@pytest.mark.parametrize("seed", range(2))
def test_no_data_cross_zones(seed: int) -> None:
    """Without faults, not one byte of what producers and consumers send and get leaves its zone."""
    found = zoned(seed, faults="none")
    assert (found.violations, found.error) == ((), None)
    counts = found.run.counts
    assert counts["bytes of data between zones"] == 0
    assert counts["bytes of data within zones"] > 100_000
    assert counts["bytes of metadata between zones"] > 0
    # A quarter of the records at most would have a leader in the zone of their client anyway.
    assert found.run.decided["M-22"] > 20


def test_bytes_count_where_they_go() -> None:
    """Batches and reads of clients are data, and all else is metadata; nodes and clients take turns in the zones."""
    traffic = ZoneTraffic(3)
    assert [zone_of(number, 3) for number in (1, 2, 3, 4)] == ["a", "b", "c", "a"]
    sent = Produce("t", 0, (b"12345",))
    traffic.client(1, 4, sent, sent)
    assert traffic.counts()["bytes of data within zones"] > 5
    assert traffic.counts()["bytes of data between zones"] == 0
    traffic.client(1, 2, sent, sent)
    traffic.client(1, 2, FindLeaders("t"), {})
    traffic.peers(1, 3, {"answers": b"12345"})
    counts = traffic.counts()
    assert counts["bytes of data between zones"] == counts["bytes of data within zones"]
    assert counts["bytes of metadata between zones"] > 0
    assert counts["bytes of metadata within zones"] == 0


def test_the_oracles_of_zones_have_something_to_judge() -> None:
    """A run writes links, shows partitions to other zones, trims channels, and commits route epochs."""
    events = zoned(0, faults="none").run.log.events
    steps = {subject.action for _, _, _, subject in events if isinstance(subject, StepEvent)}
    assert {"show", "report_route_epoch"} <= steps
    stored = [subject.operation for _, _, _, subject in events if isinstance(subject, StoreRequest)]
    deleted = [key for each in stored if isinstance(each, Delete) for key in each.keys]
    assert any(key.startswith("channel/") for key in deleted)
    logs = [each for each in stored if isinstance(each, Put) and each.key.startswith("wal/")]
    assert any(record.count < 0 for each in logs for _, record in wal_format.decode(each.data))


@pytest.mark.parametrize(
    "seed", [0, 3, pytest.param(8, marks=pytest.mark.slow), pytest.param(14, marks=pytest.mark.slow)]
)
def test_faults_lose_nothing(seed: int) -> None:
    """Under faults nothing is lost, doubled or out of order, no link dangles, and all epochs are committed at last."""
    found = zoned(seed)
    assert (found.violations, found.error) == ((), None)
    assert found.run.healed
    assert found.run.counts["acks"] > 100


@pytest.mark.slow
def test_many_runs_lose_nothing() -> None:
    """The same holds for many seeds, in which all rules of routing decide something."""
    decided: set[str] = set()
    for seed in range(100, 140):
        found = zoned(seed)
        assert (found.violations, found.error) == ((), None), seed
        decided |= set(found.run.decided)
    expected = {"M-05", "M-06", "M-09", "M-11", "M-12", "M-13", "M-14", "M-15", "M-16", "M-17", "M-18", "M-22", "M-23"}
    assert expected <= decided


# Shortcuts --------------------------------------------------------------------------------------------------------


SHORT, LONG = 4, 0
"""A seed with the shortcuts of zone routing, and one without."""


@pytest.mark.parametrize("seed", [SHORT, LONG])
def test_every_second_run_has_the_shortcuts(seed: int) -> None:
    """Records inside answers (ZR-42), batches that a proxy has in memory (ZR-18), sends without an answer (ZR-30).

    With batches in memory, hardly any proxy reads its own channel.
    """
    found = zoned(seed, faults="none")
    assert (found.violations, found.error) == ((), None)
    events = [subject for _, _, _, subject in found.run.log.events]
    answers = [each for each in events if isinstance(each, SentSnapshots)]
    inline = [each.records for each in answers if each.records]
    unanswered = [each for each in found.run.history.ops if each.error == "no answer was asked for"]
    records = [wal_format.decode_record(each) for sent in inline for each in sent]
    assert (sum(each.count < 0 for each in records) > 50) is (seed == SHORT)
    # What crosses zones in answers are links, and records without a batch of a producer, such as those of an index.
    assert not any(sends_of(each) for each in records if each.count > 0)
    assert bool(unanswered) is (seed == SHORT)
    # Also these runs have answers whose records do not fit: their readers read the WAL.
    assert any(each.records is None for each in answers[50:])
    own_reads = [
        subject
        for _, name, _, subject in found.run.log.events
        if isinstance(subject, StoreRequest)
        and isinstance(subject.operation, Get)
        and subject.operation.key.startswith(f"channel/{name[1]}/")
    ]
    assert (len(own_reads) > 20) is (seed == LONG), len(own_reads)


def test_a_session_that_was_dropped_meanwhile_has_no_records() -> None:
    """A late copy of an older request drops the session for which a main waits for news.

    It answers all the same, and its reader has to read the WAL: the main adds new records only to the sessions it has.
    """
    assert zoned(497).violations == ()


def test_an_answer_that_lacks_a_record_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A main that forgets the newest record of each answer shows what nobody can read yet (I-11)."""
    take = InlineRecords.take

    def forgetful(self: InlineRecords, wal_end: int) -> tuple[bytes, ...] | None:
        found = take(self, wal_end)
        return None if found is None else found[:-1]

    monkeypatch.setattr(InlineRecords, "take", forgetful)
    found = zoned(SHORT, faults="none")
    assert "nobody can read" in next(each.message for each in found.violations if each.oracle == "zones")


def test_a_node_that_breaks_at_once_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also before the clients begin."""

    def broken(*_: object) -> None:
        raise TypeError("broken")

    monkeypatch.setattr(InlineRecords, "take", broken)
    (found,) = zoned(0).violations
    assert found.message.startswith("a node ends with TypeError: broken, in b")


# Oracles ----------------------------------------------------------------------------------------------------------


def step(action: str, name: str = "b1.0", **values: object) -> Event:
    """A step of a process in the log of a run."""
    return 0, name, "step", StepEvent(action, values)


def committed(end: int) -> Event:
    """The metadata have stream 7 up to an offset."""
    batch = MetadataBatch((S3Stream(7, 0, 0, 0, StreamState.OPENED), Range(7, 0, 0, 0, end, 1)))
    return 0, "controller", "batch", AppendedBatch(0, batch)


def test_what_is_shown_was_confirmed() -> None:
    """By an ack before, or by the metadata: a recovery uploads records without an ack."""
    ack = step("ack", stream=7, base=4, count=2)
    assert list(beyond([ack, step("show", stream=7, end=6)])) == []
    assert list(beyond([step("show", stream=7, end=6), ack])) == [
        "b1.0 shows stream 7 up to 6, and only 0 is confirmed"
    ]
    assert len(list(beyond([ack, step("show", stream=7, end=7)]))) == 1
    assert list(beyond([committed(9), step("show", stream=7, end=9)])) == []


def show(epoch: int, end: int, *spans: tuple[int, int], name: str = "b1.0") -> Event:
    """A proxy shows stream 7."""
    return step("show", name, stream=7, epoch=epoch, end=end, spans=spans or ((0, end),))


@pytest.mark.parametrize(
    ("shown", "falls"),
    [
        ([show(4, 3), show(4, 3), show(4, 5), show(5, 5)], False),
        ([show(4, 3), show(3, 3)], True),  # An owner of before has taken the partition over (M-19).
        ([show(4, 3), show(5, 2)], True),
        ([show(4, 3), show(4, 2)], True),
        ([show(4, 3), step("hide", stream=7), show(3, 2)], False),  # The session was over.
        ([show(4, 3), step("hide", stream=8), show(3, 3)], True),
        ([show(4, 3), show(3, 2, name="b1.1")], False),  # Another process has shown nothing yet.
        ([show(4, 3), step("hide", "b1.1", stream=7), show(3, 3)], True),
    ],
)
def test_what_is_shown_does_not_fall(shown: list[Event], falls: bool) -> None:
    """Neither the leader epoch nor the end, while the proxy shows the partition."""
    assert bool(list(fallen(shown))) == falls


def of_wal(*ends: int, stream: int = 7) -> tuple[str, bytes]:
    """An object of the WAL of node 2. It has links of a stream that end at these offsets, without a gap."""
    records = [WalRecord(stream, 0, base, base - end, b"") for base, end in zip((0, *ends), ends, strict=False)]
    data, _ = encode(0, 2, 3, -1, records)
    return WalPlace(3, 0, end_of(0, len(data))).key(folder_of(2)), data


def put(stored: tuple[str, bytes], name: str = "b2.0") -> Event:
    """A main puts an object."""
    return 0, name, "store", StoreRequest(1, Put(*stored))


def get(stored: tuple[str, bytes], name: str = "b1.0") -> Event:
    """A proxy reads an object."""
    return 0, name, "store", StoreRequest(1, Get(stored[0]))


def answer(*ends: int, number: int = 1) -> Event:
    """An answer of node 2 to the reader b1.0, with the records that ``of_wal`` has."""
    records = tuple(encode_record(record) for _, record in wal_format.decode(of_wal(*ends)[1]))
    sent = SentSnapshots("b1.0", number, 2, False, 5, 1, (), 3, 400, records)
    return 0, "b2.0", "snapshots", sent


def take(number: int = 1) -> Event:
    """The reader takes the answer."""
    return step("take_answer", main=2, id=number)


WAL = of_wal(2, 4)
"""The records [0, 2) and [2, 4)."""


@pytest.mark.parametrize(
    ("events", "gap"),
    [
        ([put(WAL), get(WAL), show(4, 4)], None),
        ([put(WAL), show(4, 4)], 0),  # The proxy has not read the WAL, and nothing is uploaded (M-17).
        ([put(WAL), get(WAL, "b1.1"), show(4, 4)], 0),
        ([get(WAL), put(WAL), show(4, 4)], 0),  # The object was not there yet.
        ([put(WAL), get(WAL), show(4, 5)], 4),
        ([put(WAL), committed(4), show(4, 4)], None),
        ([put(WAL), committed(2), show(4, 4)], 2),
        ([put(WAL), get(WAL), committed(2), show(4, 4)], None),
        ([put(of_wal(2, 4, stream=8)), get(of_wal(2, 4, stream=8)), show(4, 4)], 0),
        # ZR-42. An answer that the reader has not taken, or not yet, does not help it.
        ([answer(2, 4), take(), show(4, 4)], None),
        ([answer(2, 4), take(), show(4, 5)], 4),
        ([answer(2, 4), show(4, 4)], 0),
        ([answer(2, 4), answer(2, number=2), take(2), show(4, 4)], 2),
        # What a log has skipped, since a recovery has truncated it, is not shown.
        ([committed(2), show(4, 6, (0, 2), (6, 6))], None),
        ([committed(2), show(4, 6, (0, 2), (4, 6))], 4),
    ],
)
def test_what_is_shown_can_be_read(events: list[Event], gap: int | None) -> None:
    """It is committed, or the proxy has read it in the WAL or in an answer (I-11)."""
    found = list(unreadable(events))
    assert [each.rpartition("read ")[2] for each in found] == ([] if gap is None else [f"{gap} yet"])


def test_a_lost_batch_of_the_metadata_commits_nothing() -> None:
    """A failover of the controllers has lost it."""
    event = committed(4)
    event[3].lost = True
    assert list(unreadable([event, show(4, 4)])) != []


def test_the_verdict_names_what_breaks_zone_routing() -> None:
    """One objection of them is enough."""
    history = History()
    history.missing = ""
    assert [each.message for each in judge(history, zones=["one", "two"]).violations] == ["one"]


@pytest.mark.parametrize(
    ("label", "seed", "oracle"),
    [
        ("M-16", 0, "bound"),  # A main does not wait for the appends whose end it shows.
        ("M-22", 0, "zones"),  # A main appends in the order in which reads end.
    ],
)
def test_a_missing_rule_is_found(label: str, seed: int, oracle: str) -> None:
    """Without the rule an oracle objects."""
    found = zoned(seed, faults="none", without=(label,))
    assert oracle in {each.oracle for each in found.violations}


def test_a_broker_joins() -> None:
    """A further broker starts while the faults last, serves, and reports route epochs as the others do (ZR-54)."""
    found = zoned(3, faults="join")
    assert not found.violations
    simulation = found.run.simulation
    assert sorted(simulation.fleet.current) == [1, 2, 3, 4]
    assert reported(simulation.load.metadata.image, 4) is not None


STORE = "store_error,store_timeout_before,store_throttle,store_timeout_after"


@pytest.mark.parametrize(
    ("label", "seed", "faults", "oracle"),
    [
        ("M-03", 19, "read_slow", "storage"),  # A node reports an epoch while an older batch is still being read.
        ("M-10", 5, "join,report_loss", "storage"),  # An epoch is committed before a broker has reported any.
        ("M-17", 1, "all", "zones"),  # A main shows what it has not uploaded for a new session.
        ("M-18", 1, "store_error,store_timeout_before", "heal"),  # A cache keeps what lies before a hole.
        ("ZG-2", 2, "read_slow", "storage"),  # As built: a batch whose producer has its answer counts no more.
        ("ZG-4", 1, STORE, "heal"),  # As built: after a failed upload the process goes on, and commits nothing.
        ("ZG-5", 0, "none", "heal"),  # As built: a commit with nothing to upload waits for the next append.
    ],
)
def test_a_missing_rule_is_found_under_faults(label: str, seed: int, faults: str, oracle: str) -> None:
    """Without the rule, or with the spot as built, an oracle objects; with the rules none does."""
    switches, without = ((label,), ()) if label.startswith("ZG-") else ((), (label,))
    found = zoned(seed, faults, without=without, switches=switches)
    assert oracle in {each.oracle for each in found.violations}
    assert not zoned(seed, faults).violations


def test_a_run_is_made_twice() -> None:
    """The same seed makes the same run: history, faults and figures."""
    one, two = zoned(5), zoned(5)
    assert list(one.run.history.lines()) == list(two.run.history.lines())
    assert (one.run.faults, one.run.counts, one.run.decided) == (two.run.faults, two.run.counts, two.run.decided)


def test_a_finding_has_a_timeline() -> None:
    """The steps of zone routing have no epoch of a stream, or no stream at all."""
    found = zoned(0, faults="none", without=("M-16",))
    rows = "\n".join(timeline(found.run))
    assert "to its zone" in rows
    assert "a link to [" in rows
    assert "report route epoch epoch" in rows


@pytest.mark.long
def test_an_idle_process_without_its_wal_ends() -> None:
    """Another process recovers the WAL of a paused one, which appends nothing afterwards: it still has to end.

    Otherwise it reports no route epoch any more, and none is committed.
    """
    assert not check(Question(seed=366, options=Options(partitions=4, zones=3, brokers=3))).violations
