"""A run in which too little happens is never green."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from msgspec.structs import replace

from holdfast.cli.app import main
from impl.cli.cluster_answer import ClusterAnswer
from impl.cli.cluster_report import to_json, to_text
from impl.client.node import ClientNode
from impl.real.load import PAUSE_MS, RealLoad
from impl.real.schedule import KILLS, make_schedule
from impl.real.shortfall import least_kills, least_sends, shortfalls
from tests.impl.real.reports import PLAN, REPORT
from tests.impl.real.test_cluster_answer import ALL, LOSS, QUESTION


def missing(kills: int = 6, sends: tuple[int, ...] = (10, 10), seconds: int = 40) -> list[str]:
    """What is missing in a run of two partitions with twelve scheduled kills."""
    counts = Counter(dict(enumerate(sends)))
    return list(shortfalls(kills=kills, scheduled=12, kill_every=5, sends=counts, partitions=2, seconds=seconds))


def test_the_least_numbers() -> None:
    """Half of the kills, rounded up, and one in any case; a send for each partition, and one for every two seconds."""
    assert [least_kills(scheduled, 5) for scheduled in (0, 1, 2, 3, 12, 13)] == [1, 1, 1, 2, 6, 7]
    assert least_kills(0, 0) == 0
    assert [least_sends(4, 1), least_sends(4, 9), least_sends(4, 60)] == [4, 4, 30]


def test_each_thing_that_is_missing_is_one_line() -> None:
    """The line has the number, the least number, and the remedy."""
    assert missing() == []
    assert missing(kills=5) == [
        "5 times kill -9, and at least 6 are needed with --kill-every 5; lengthen --seconds, or give --kill-every 0"
    ]
    assert missing(sends=(40, 0)) == ["no acknowledged send to partition 1; lengthen --seconds, or lower --partitions"]
    assert missing(sends=(0, 0))[0].startswith("no acknowledged send to partitions 0, 1; ")
    (line,) = missing(sends=(9, 10))
    assert line.startswith("19 acknowledged sends, and at least 20 are needed in 40 s to 2 partitions; lower --batch")


def test_a_short_run_cannot_have_the_kills_that_are_asked_for() -> None:
    """The schedule of two seconds has no kill, although --kill-every asks for some."""
    schedule = make_schedule(0, seconds=2, kill_every=5, brokers=3)
    scheduled = sum(each.kind in KILLS for each in schedule)
    found = shortfalls(kills=0, scheduled=scheduled, kill_every=5, sends=Counter([0]), partitions=1, seconds=2)
    assert scheduled == 0
    assert len(list(found)) == 1


def test_too_little_is_inconclusive() -> None:
    """The answer ends with 20, and with 12 if something was violated nevertheless."""
    short = replace(REPORT, shortfalls=("0 times kill -9",))
    answer = ClusterAnswer(QUESTION, PLAN, short, ALL)
    assert (answer.exit_code, answer.words) == (20, "nothing violated, and too little happened")
    assert "\n  too little      0 times kill -9\n" in f"{to_text(answer)}\n"
    assert to_json(answer)["shortfalls"] == ["0 times kill -9"]
    assert ClusterAnswer(QUESTION, PLAN, replace(short, verdict=LOSS), ALL).exit_code == 12


async def idle(load: RealLoad, node: ClientNode, partition: int) -> None:
    """A producer that sends nothing to a partition."""
    while partition >= 0 and not load._stopping:
        await node.sleep(PAUSE_MS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kill_every", "produces", "said"),
    [("5", True, "0 times kill -9"), ("0", False, "no acknowledged send to partitions 0, 1, 2, 3")],
)
def test_a_run_without_anything_is_not_green(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, kill_every: str, produces: bool, said: str
) -> None:
    """Nothing is violated, and all models allow the log: only the least numbers show that the run says nothing."""
    if not produces:
        monkeypatch.setattr(RealLoad, "_produce", idle)
    code = main(["cluster", "test", "--seconds", "2", "--kill-every", kill_every, "--kills-only", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (found["violations"], {each["verdict"] for each in found["models"]}) == ([], {"conforms"})
    assert (code, found["verdict"]) == (20, "nothing violated, and too little happened")
    assert [each.partition("; ")[0].partition(", and")[0] for each in found["shortfalls"]] == [said]
