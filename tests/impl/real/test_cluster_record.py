"""The reports of ``holdfast cluster test`` for other tools: a case for each oracle and each model."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.cli.app import main
from holdfast.cli.reporting import Reports
from impl.cli.cluster_answer import ClusterAnswer
from impl.cli.cluster_record import command, record_of
from impl.oracles.judge import NAMES, Verdict
from impl.real.run import NODE_ERROR
from impl.real.starts import ClusterRules
from impl.real.store_place import StorePlace
from tests.impl.real.reports import PART, PLAN, REPORT
from tests.impl.real.test_cluster_answer import ALL, LOSS, QUESTION
from tests.reports.validating import Files, read

MODELS = ("fast_close", "reassignment", "cancellation")


def files(answer: ClusterAnswer, folder: Path) -> Files:
    """Both reports of an answer, which follow their schemas."""
    junit, sarif = folder / "r.xml", folder / "r.sarif"
    Reports(junit=junit, sarif=sarif).give([record_of(answer)])
    return read(junit, sarif)


def test_a_run_without_findings(tmp_path: Path) -> None:
    """Every oracle and every model has passed, and so have the least numbers."""
    found = files(ClusterAnswer(QUESTION, PLAN, REPORT, ALL), tmp_path)
    assert found.suites == ["holdfast cluster test V6 G1 seed 0"]
    assert found.cases == dict.fromkeys((*NAMES, NODE_ERROR, *MODELS, "least numbers"), "passed")
    assert found.said("reassignment")[1] == "allows 10 events in 2 logs"
    assert found.said("least numbers")[1] == "1 times kill -9, 3,000 acknowledged records"


def test_findings_are_failures(tmp_path: Path) -> None:
    """An oracle and a model that object fail, with the text of the run, its faults and the command."""
    objects = replace(ALL[3], kind="impossible", said="event 7 is impossible")
    answer = ClusterAnswer(QUESTION, PLAN, replace(REPORT, verdict=LOSS), (*ALL[:3], objects, ALL[4]))
    found = files(answer, tmp_path)
    failed = {name for name, status in found.cases.items() if status == "failed"}
    assert failed == {"lost", objects.model}
    assert found.said("lost")[0] == "value 7 is gone"
    assert found.said(objects.model)[0] == f"partition {objects.partition}: event 7 is impossible"
    assert command(PLAN) in found.said("lost")[1]
    assert "0.499 s: kill -9 of b1.0" in str(found.results["lost"]["codeFlows"])
    assert len(found.fingerprints) == 2


@pytest.mark.parametrize(
    ("report", "unanswered"),
    [
        (replace(PART), {*NAMES, NODE_ERROR, *MODELS, "least numbers"}),
        (replace(REPORT, shortfalls=("no acknowledged send to partition 1",)), {"least numbers"}),
        (replace(REPORT, verdict=Verdict((), {}, "a value is sent twice")), {*NAMES, NODE_ERROR}),
    ],
    ids=["interrupted", "too little", "not judged"],
)
def test_open_questions_are_no_successes(tmp_path: Path, report: object, unanswered: set[str]) -> None:
    """An interrupted run, one in which too little happened, and one that cannot be judged are errors of the suite."""
    assert isinstance(report, type(REPORT))
    models = () if report.interrupted else ALL
    found = files(ClusterAnswer(QUESTION, PLAN, report, models, interrupted=bool(report.interrupted)), tmp_path)
    assert {name for name, status in found.cases.items() if status == "unanswered"} == unanswered


def test_the_command_has_all_options() -> None:
    """Every option that differs from the default comes back, and the command takes them."""
    plan = replace(
        PLAN,
        store=StorePlace("http://127.0.0.1:9", "b", own=False),
        rules=ClusterRules(version="legacy", generation="G0", without=("ST-14",), switches=("AM-20",)),
        seed=7,
        seconds=12,
        kill_every=2.5,
        faults=False,
    )
    assert command(plan) == (
        "holdfast cluster test --seed 7 --seconds 12 --kill-every 2.5 --brokers 3 --partitions 2 --batch 1000 "
        "--version legacy --generation G0 --without=ST-14 --switch=AM-20 --kills-only "
        "--s3 http://127.0.0.1:9 --bucket b"
    )


@pytest.mark.usefixtures("keys")
def test_the_command_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    """All options of the command are options of the verb: it goes as far as the store, which nobody serves."""
    pytest.importorskip("obstore")
    plan = replace(PLAN, store=StorePlace("http://127.0.0.1:9", "b", own=False), faults=False)
    assert main(shlex.split(command(plan))[1:]) == 2
    assert "bucket b at http://127.0.0.1:9: it cannot be reached" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--junit", "nowhere/r.xml"), "nowhere/r.xml"),
        (("--junit", "r", "--sarif", "r"), "--junit and --sarif both name r"),
        (("--github", "--json"), "--github prints to standard output"),
        (("--html", "nowhere/p.html"), "nowhere/p.html"),
        (("--html", "p", "--sarif", "p"), "--html and --sarif both name p; give each a file of its own"),
    ],
)
def test_reports_are_checked_before_the_work(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    said: str,
) -> None:
    """A report or a page that cannot be written is refused before a process starts."""
    pytest.importorskip("moto")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("impl.cli.cluster_test.ClusterRun", None)
    assert main(["cluster", "test", *options]) == 2
    assert said in capsys.readouterr().err
