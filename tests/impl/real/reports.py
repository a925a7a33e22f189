"""Reports of runs that never happened, for tests of what is made of them."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from impl.client.history import History
from impl.oracles.judge import Verdict
from impl.real.children import SentSignal
from impl.real.fault_driver import FaultEvent
from impl.real.merge import MergedLog
from impl.real.run import RunPlan
from impl.real.run_report import RecordCounts, RunReport
from impl.real.starts import ClusterRules
from impl.real.store_place import BUCKET, StorePlace
from impl.sim.event_log import EventLog

PLAN = RunPlan(folder=Path("nowhere"), store=StorePlace(None, BUCKET, own=True), rules=ClusterRules(), partitions=2)
REPORT = RunReport(
    interrupted="",
    signals=(
        SentSignal(1_500_000, "b1.0", 101, "SIGKILL"),
        SentSignal(2_000_000, "b2.0", 102, "SIGSTOP"),
        SentSignal(9_000_000, "b2.0", 102, "SIGKILL"),
    ),
    told=(
        FaultEvent(1_499_000, "kill", 800, "kill -9 of b1.0"),
        FaultEvent(2_000_000, "pause", 400, "SIGSTOP of b2.0 for 400 ms"),
    ),
    happened={"kill": 1, "pause": 1},
    begin=1_000,
    end=9_000,
    records=RecordCounts(3_000, 3_000, 0, 0),
    moves=2,
    handovers=1,
    objects=7,
    calls=80,
    phases={"start": 1.0},
    verdict=Verdict((), {}),
    history=History(),
    merged=MergedLog(EventLog(), 4, 20, ()),
)
"""A run of eight seconds in which b1.0 was killed; the end of the run killed b2.0."""
PART = replace(REPORT, interrupted="heal", records=RecordCounts(3_000, 0, None, None), objects=None)
"""The same run, interrupted after its faults."""
