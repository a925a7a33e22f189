"""The page of ``holdfast cluster test``: its timeline, its markup, and texts that are no markup."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from impl.cli.cluster_answer import ClusterAnswer
from impl.cli.cluster_page import cluster_run
from impl.client.history import History
from impl.metadata.log import MetadataBatch
from impl.oracles.judge import Verdict
from impl.oracles.verdict import Violation
from impl.real.children import SentSignal
from impl.real.fault_driver import FaultEvent
from impl.real.merge import MergedLog
from impl.real.run_report import RunReport
from impl.real.run_timeline import timeline_of
from impl.records import MetadataRecord, Partition, PartitionChange
from impl.sim.event_log import AppendedBatch, EventLog
from impl.sim.partitions.metadata import TOPIC
from impl.sim.spans import LeaderSpan
from reports.system_page.system_page import render
from tests.impl.real.reports import PART, PLAN, REPORT
from tests.impl.real.test_cluster_answer import ALL, QUESTION
from tests.reports.test_html import Page


def batch(*records: MetadataRecord, lost: bool = False) -> AppendedBatch:
    """A batch of the metadata log."""
    found = AppendedBatch(0, MetadataBatch(records))
    found.lost = lost
    return found


def led(leader: int) -> PartitionChange:
    """Partition 0 gets another leader."""
    return PartitionChange(topic=TOPIC, partition=0, leader=leader)


def page_of(answer: ClusterAnswer) -> str:
    """The page of an answer."""
    return render(cluster_run(answer))


@pytest.fixture
def drawn() -> RunReport:
    """A run with a move, a kill, a zombie and two acknowledged sends. Its faults begin at 1 s and end at 9 s."""
    history = History()
    for at, key in ((1_100, 0), (3_900, 1)):
        index = history.invoke("client", "send", key, at, at, count=500)
        history.complete(index, "ok", at + 50, offset=0)
    index = history.invoke("operators", "move", 0, 2, 4_000)
    history.complete(index, "ok", 4_100)
    log = EventLog()
    log.events = [
        (500, "b1.0", "start", {"node": 1, "epoch": 1}),
        (600, "b2.0", "start", {"node": 2, "epoch": 1}),
        (700, "c.0", "batch", batch(Partition(topic=TOPIC, partition=0, replicas=(1,), isr=(1,), leader=1))),
        (1_500, "b1.0", "crash", {"awaits": []}),
        (2_000, "b2.0", "pause", {"ms": 0}),
        (2_200, "c.0", "batch", batch(led(7), lost=True)),
        (2_300, "c.0", "batch", batch(led(-1))),
        (2_400, "b2.0", "resume", {}),
        (2_500, "b1.1", "start", {"node": 1, "epoch": 2}),
        (4_100, "c.0", "batch", batch(led(2))),
        (9_000, "b2.0", "crash", {"awaits": []}),
    ]
    phases = {"start": 1.0, "faults": 8.0, "heal": 0.5, "judge": 3.0}
    return replace(REPORT, history=history, merged=MergedLog(log, 3, 11, ()), phases=phases)


def test_the_timeline(drawn: RunReport) -> None:
    """It tells who led what, which processes lived and were stopped, and how many records each second had."""
    found = timeline_of(drawn)
    assert [(each.name, each.begin, each.end) for each in found.phases] == [
        ("start", 0, 1_000),
        ("faults", 1_000, 9_000),
        ("heal", 9_000, 9_500),
    ]
    assert found.leaders == {0: (LeaderSpan(700, 2_300, 1), LeaderSpan(2_300, 4_100, -1), LeaderSpan(4_100, 9_500, 2))}
    assert [(each.name, each.begin, each.end, each.stopped) for each in found.processes] == [
        ("b1.0", 500, 1_500, []),
        ("b2.0", 600, 9_000, [(2_000, 2_400)]),
        ("b1.1", 2_500, 9_500, []),
    ]
    assert (found.acked, found.moves) == ({1: 500, 3: 500}, ((4_100, 0),))


def test_a_process_that_stays_stopped(drawn: RunReport) -> None:
    """It is stopped until it is killed, or until the end of the run."""
    log = EventLog()
    log.events = [
        (0, "b1.0", "start", {}),
        (0, "b2.0", "start", {}),
        (5, "b1.0", "pause", {}),
        (6, "b2.0", "pause", {}),
        (9, "b1.0", "crash", {}),
    ]
    found = timeline_of(replace(drawn, merged=MergedLog(log, 1, 5, ())))
    assert [each.stopped for each in found.processes] == [[(5, 9)], [(6, 9_500)]]


def test_the_page_shows_the_run(drawn: RunReport) -> None:
    """The picture has a mark for everything that happened, with its time since the faults began."""
    text = page_of(ClusterAnswer(QUESTION, PLAN, drawn, ALL))
    for about in (
        "0.500 s: kill -9 of b1.0, pid 101",
        "b2.0: stopped for 400 ms",
        "1.300 s to 3.100 s: nobody leads it",
        "3.100 s to 8.500 s: node 2 leads it",
        "3.100 s: a move is accepted",
        "0 s: 500 records acknowledged",
        "1.000 s: SIGSTOP of b2.0 for 400 ms",
    ):
        assert f"<title>{about}</title>" in text
    assert "No oracle and no model objects to anything." in text
    assert Page(text).faults == []


def test_texts_are_never_markup(drawn: RunReport) -> None:
    """A text with markup, a quote or a control character shows as it is, and the page loads and runs nothing."""
    hostile = "<script>alert(1)</script>\"'&\x1b]0;x\x07"
    report = replace(
        drawn,
        verdict=Verdict((Violation("lost", 0, hostile),), {}),
        told=(FaultEvent(1_499_000, hostile, 5, hostile),),
        signals=(SentSignal(1_500_000, hostile, 101, "SIGKILL"),),
        shortfalls=(hostile,),
    )
    model = replace(ALL[0], kind="impossible", said=hostile)
    text = page_of(ClusterAnswer(replace(QUESTION, without=(hostile,)), PLAN, report, (model, *ALL[1:])))
    found = Page(text)
    assert found.faults == []
    assert {tag for tag, _ in found.tags} & {"img", "iframe"} == set()
    assert [tag for tag, _ in found.tags].count("script") == 1
    assert "\x1b" not in text
    assert "default-src &#39;none&#39;" in text
    assert "alert(1)" in "".join(found.inside["li"])


@pytest.mark.parametrize(
    "report", [PART, replace(PART, interrupted="start", phases={}, begin=0, end=0, told=(), signals=())]
)
def test_a_part_of_a_run_has_a_page(report: RunReport) -> None:
    """An interrupted run shows what is known, also if nothing is."""
    text = page_of(ClusterAnswer(QUESTION, PLAN, report, (), interrupted=True))
    assert Page(text).faults == []
    assert "Not judged: oracle storage" in text
