"""Recorded logs as the target of a campaign: wrong ones are named, the rest conform."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
from pathlib import Path

import attrs
import boto3
import pytest

import spark.cli.run
from impl.metadata.dump import write_dump
from impl.sim.check import Question, check
from impl.sim.conformance.log import conform_log
from impl.sim.options import Options
from spark.campaign.config import Config, LogCollection
from spark.campaign.log_target import LogTarget
from spark.campaign.summary import Summary, summarise
from spark.campaign.words import WORDS
from spark.cluster.storage import FolderStorage, StorageError, open_storage
from tests.cli.running import Run
from tests.conform.controller_dump import Controller
from tests.conform.dump_edits import removed
from tests.conform.simulated_logs import Line, without_an_open
from tests.spark.running import here, place, tables

SMALL = Options(operations=30, span_ms=10_000, streams=2)
GOOD = 6
MODEL = ("--model", "fast_close", "--map", "fast_close")


@pytest.fixture(autouse=True)
def workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of these tests start no Spark."""
    monkeypatch.setattr(spark.cli.run, "start_cluster", here)


def simulated(seed: int) -> list[Line]:
    """The lines of the log of a simulated run."""
    return [json.loads(line) for line in conform_log(check(Question(seed=seed, options=SMALL)).run.log).splitlines()]


def text(lines: list[Line]) -> str:
    """A log."""
    return "".join(f"{json.dumps(line)}\n" for line in lines)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with logs of which two are damaged alike, two are impossible, and the others conform."""
    folder = tmp_path_factory.mktemp("logs")
    for seed in range(GOOD):
        (folder / f"good{seed}.ndjson").write_text(text(simulated(seed)), encoding="utf-8")
    for seed in (10, 11):
        (folder / f"cut{seed}.ndjson").write_text(text(simulated(seed))[:-20], encoding="utf-8")
        (folder / f"lost{seed}.ndjson").write_text(
            text(without_an_open(random.Random(1), simulated(seed))), encoding="utf-8"
        )
    return folder


def run_words(logs: object, out: object, *more: object) -> list[object]:
    """A campaign over logs."""
    return ["campaign", "run", "--target", "log", "--in", logs, *MODEL, "--out", out, *more]


def _names(summary: Summary, kind: str) -> set[str]:
    return {log for finding in summary.findings if finding.property == kind for log in finding.logs}


def test_wrong_logs_are_named_and_the_rest_conform(holdfast: Run, logs: Path, tmp_path: Path) -> None:
    """Damaged and impossible logs are findings that name each log, and all others conform."""
    ran = holdfast(*run_words(logs, tmp_path / "a"))
    summary = summarise(place(tmp_path / "a"))

    assert ran.code == 12
    assert _names(summary, "damaged") == {"cut10.ndjson", "cut11.ndjson"}
    assert _names(summary, "impossible") == {"lost10.ndjson", "lost11.ndjson"}
    assert {stop.reason: stop.runs for stop in summary.stops} == {
        "conforms": GOOD, "impossible": 2, "damaged": 2, "no answer": 0,
    }  # fmt: skip
    assert all(name in ran.out for name in ("cut10.ndjson", "cut11.ndjson", "lost10.ndjson", "lost11.ndjson"))
    assert sum(action.taken for action in summary.actions) >= summary.steps > 100


def test_a_finding_is_a_kind_of_event_and_a_rule(holdfast: Run, logs: Path, tmp_path: Path) -> None:
    """Logs that are damaged alike are one finding; the file name and its numbers are no part of it."""
    holdfast(*run_words(logs, tmp_path / "a"))
    summary = summarise(place(tmp_path / "a"))

    [damaged] = [finding for finding in summary.findings if finding.property == "damaged"]
    impossible = [finding for finding in summary.findings if finding.property == "impossible"]
    assert damaged.times == 2
    assert "cut1" not in damaged.action
    assert WORDS["log"].by(damaged.action) == damaged.action != ""
    assert all(WORDS["log"].by(finding.action) == f"at {finding.action}" for finding in impossible)
    actions = {action.name for action in summary.actions}
    assert all(finding.action in actions for finding in impossible)
    assert all(finding.state for finding in impossible)


def test_a_finding_is_repeated_by_conform(holdfast: Run, logs: Path, tmp_path: Path) -> None:
    """The command of each finding gives the same answer about the log."""
    holdfast(*run_words(logs, tmp_path / "a"))
    for finding in summarise(place(tmp_path / "a")).findings:
        assert finding.shrunk is not None
        again = holdfast(*finding.shrunk.replay.split()[1:])
        assert again.code == (2 if finding.property == "damaged" else 12)
        said = (again.out + again.err).replace(f"{logs}/", "")
        assert finding.shrunk.sentence in said


def test_a_report_places_a_finding_at_its_line(holdfast: Run, logs: Path, tmp_path: Path) -> None:
    """In SARIF a finding of a log is on the line that its sentence names, which is not the first."""
    holdfast(*run_words(logs, tmp_path / "a", "--sarif", tmp_path / "r.sarif"))
    assert_lines(tmp_path / "r.sarif", summarise(place(tmp_path / "a")))


def assert_lines(sarif: Path, summary: Summary) -> None:
    """Each finding is on the line of its log that its sentence names."""
    [run] = json.loads(sarif.read_text(encoding="utf-8"))["runs"]
    sentences = [finding.shrunk.sentence for finding in summary.findings if finding.shrunk]
    for sentence, result in zip(sentences, run["results"], strict=True):
        [location] = result["locations"]
        at = location["physicalLocation"]
        assert at["region"]["startLine"] > 1
        assert f"{Path(at['artifactLocation']['uri']).name}:{at['region']['startLine']}" in sentence


def test_tables_of_logs_can_be_resumed_and_shown(holdfast: Run, logs: Path, tmp_path: Path) -> None:
    """A campaign over logs goes on after its last unit is gone, writes the same tables, and has a page."""
    ran = holdfast(*run_words(logs, tmp_path / "a"))
    before = tables(place(tmp_path / "a"))
    last = max((tmp_path / "a" / "runs").iterdir())
    last.unlink()

    assert holdfast("campaign", "resume", tmp_path / "a").out == ran.out
    assert tables(place(tmp_path / "a")) == before
    assert holdfast("campaign", "report", tmp_path / "a", "--junit", tmp_path / "r.xml").code == 0
    assert "logs: cut10.ndjson, cut11.ndjson" in (tmp_path / "r.xml").read_text(encoding="utf-8")
    page = (tmp_path / "a" / "report.html").read_text(encoding="utf-8")
    assert "<code>lost10.ndjson</code>" in page
    assert holdfast("campaign", "status", tmp_path / "a").code == 12


def test_another_log_is_another_campaign(holdfast: Run, logs: Path, tmp_path: Path) -> None:
    """If a log came or went since the campaign began, it is not continued."""
    copy = tmp_path / "logs"
    copy.mkdir()
    for name in ("good0.ndjson", "good1.ndjson"):
        (copy / name).write_bytes((logs / name).read_bytes())
    assert holdfast(*run_words(copy, tmp_path / "a")).code == 0
    (copy / "good1.ndjson").unlink()
    ran = holdfast("campaign", "resume", tmp_path / "a")
    assert ran.code == 2
    assert "not one campaign" in ran.err


def test_a_log_that_was_mended_is_no_finding(holdfast: Run, logs: Path, tmp_path: Path) -> None:
    """It was damaged when it was judged. Its campaign, which cannot show that any more, says so."""
    copy = tmp_path / "logs"
    copy.mkdir()
    (copy / "log.ndjson").write_bytes((logs / "cut10.ndjson").read_bytes())
    assert holdfast(*run_words(copy, tmp_path / "a")).code == 12
    (copy / "log.ndjson").write_bytes((logs / "good0.ndjson").read_bytes())
    (tmp_path / "a" / "findings.parquet").unlink()
    ran = holdfast("campaign", "resume", tmp_path / "a")
    assert ran.code != 12
    assert "log.ndjson: has changed since it was judged; begin another campaign" in ran.err


def test_files_that_are_damaged_alike_are_one_finding(holdfast: Run, tmp_path: Path) -> None:
    """The message names no line, so it begins with the path of a copy, which has a random name."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in ("d1", "d2", "dump"):
        (folder / name).write_text("no record\n")
    words = ["--model", "controller_tables", "--map", "automq-metadata"]
    made = []
    for out in ("a", "b"):
        holdfast("campaign", "run", "--target", "log", "--in", folder, *words, "--out", tmp_path / out)
        made.append(summarise(place(tmp_path / out)).findings)
    ((one,), (two,)) = made
    assert (one.signature, one.times, one.action) == (two.signature, 3, two.action)
    assert "/" not in one.action


def test_a_dump_whose_records_are_no_operation_is_a_finding(holdfast: Run, tmp_path: Path) -> None:
    """All events conform, and the records after them fit no operation: impossible, as `holdfast conform` says."""
    folder = tmp_path / "logs"
    folder.mkdir()
    batches = Controller(1).operations(40).batches
    (folder / "good").write_text("\n".join([*write_dump(batches), ""]))
    for name, seed in (("bad1", 1), ("bad2", 3)):
        _, edited = removed(random.Random(seed), batches, frozenset({"RANGE_RECORD"}))
        (folder / name).write_text("\n".join([*write_dump(edited), ""]))
    words = ["--model", "controller_tables", "--map", "automq-metadata"]
    ran = holdfast("campaign", "run", "--target", "log", "--in", folder, *words, "--out", tmp_path / "a")
    codes = {path.name: holdfast("conform", words[1], path, *words[2:]).code for path in folder.iterdir()}
    assert codes == {"good": 0, "bad1": 12, "bad2": 12}
    assert ran.code == 12
    [finding] = summarise(place(tmp_path / "a")).findings
    assert (finding.property, finding.logs) == ("impossible", ("bad1", "bad2"))
    assert "are no operation of automq-metadata.yaml" in finding.action
    assert not re.search(r"[/0-9]", finding.action)


def isolated(*variants: str) -> str:
    """A log of the model reassignment whose header names variants. Its event is impossible in the variant G1 only."""
    header = {"holdfast": "log", "version": 1, "model": "Reassignment", "literals": {"Epoch": {"1": 9}}}
    post = {"replica": "n2", "leader": None, "leader_epoch": 13, "active": {"n1": False}, "timer": True}
    event = {"source": "n1", "seq": 1, "t": [1, 1], "action": "isolate", "n": "n1", "x": "n2", "post": post}
    return text([{**header, "variants": list(variants)}, event])


def test_the_variants_of_a_header_choose_the_model(holdfast: Run, tmp_path: Path) -> None:
    """One variant is chosen, as by `holdfast conform`; several get no answer, and an unknown one is damage."""
    folder = tmp_path / "logs"
    folder.mkdir()
    kinds = {"both": "no answer", "none": "conforms", "one": "impossible", "unknown": "damaged"}
    for name, variants in zip(kinds, (("G1", "log_grain"), (), ("G1",), ("nothing",)), strict=True):
        (folder / name).write_text(isolated(*variants))
    options = LogCollection(place=str(folder), model="reassignment")
    asked = Config(target="log", scope="", traces=4, depth=1, seed=0, traces_per_unit=4, log=options)
    target = LogTarget.of(asked).ready()
    said = {name: target.judged(name) for name in kinds}
    assert {name: answer.kind for name, answer in said.items()} == kinds
    assert "has no variant 'nothing'" in said["unknown"].sentence
    assert "the variants G1, log_grain" in said["both"].sentence
    codes = {name: holdfast("conform", "reassignment", folder / name).code for name in ("none", "one", "unknown")}
    assert codes == {"none": 0, "one": 12, "unknown": 2}

    chosen = LogTarget.of(attrs.evolve(asked, variants=("G1",))).ready()
    assert {chosen.judged(name).kind for name in kinds} == {"impossible"}
    assert shlex.split(chosen.show(0, 0).replay)[-2:] == ["--variant", "G1"]


@pytest.mark.parametrize("kind", ["folder", "link", "pipe", "draft", "bytes"])
def test_what_is_no_log_is_named(holdfast: Run, tmp_path: Path, kind: str) -> None:
    """Nothing in the folder of the logs is skipped without a word."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a").write_text(isolated())
    name = {"draft": ".draft-x", "bytes": os.fsdecode(b"x\xff")}.get(kind, "x")
    other = folder / name
    make = {"folder": other.mkdir, "link": lambda: other.symlink_to("nowhere"), "pipe": lambda: os.mkfifo(other)}
    make.get(kind, lambda: other.write_text(isolated()))()
    words = ["--in", folder, "--model", "reassignment", "--out", tmp_path / "a"]
    ran = holdfast("campaign", "run", "--target", "log", *words)
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1
    assert (r"b'x\xff'" if kind == "bytes" else f"{name} is no log") in ran.err


def test_the_place_of_the_logs_is_absolute(holdfast: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A campaign goes on from another working directory, with the same logs. Tables never lie among the logs."""
    for folder in ("one", "two/one"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "one" / "a").write_text(isolated("G1"))
    (tmp_path / "two" / "one" / "a").write_text(isolated())
    words = ["campaign", "run", "--target", "log", "--in", "one", "--model", "reassignment", "--out"]
    monkeypatch.chdir(tmp_path)
    for out in ("./one", "one/", str(tmp_path / "one"), "one/out"):
        ran = holdfast(*words, out)
        assert ran.code == 2
        assert "name a" in ran.err.splitlines()[-1]
    assert holdfast(*words, "out").code == 12
    next((tmp_path / "out" / "runs").iterdir()).unlink()
    monkeypatch.chdir(tmp_path / "two")
    assert holdfast("campaign", "resume", tmp_path / "out").code == 12


def test_logs_without_an_answer_are_named(holdfast: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal, the status, the page and the reports name each with its reason, also if there is a finding."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for name, variants in {"both": ("G1", "log_grain"), "denied": (), "none": (), "wrong": ("G1",)}.items():
        (folder / name).write_text(isolated(*variants))
    read = FolderStorage.read

    def deny(storage: FolderStorage, path: str) -> bytes | None:
        if path == "denied":
            raise StorageError("denied") from PermissionError(13, "Permission denied")
        return read(storage, path)

    monkeypatch.setattr(FolderStorage, "read", deny)
    words = ["campaign", "run", "--target", "log", "--in", folder, "--model", "reassignment", "--junit"]
    for out, code in (("a", 12), ("b", 20)):
        ran = holdfast(*words, tmp_path / f"{out}.xml", "--out", tmp_path / out)
        holdfast("campaign", "report", tmp_path / out)
        status = holdfast("campaign", "status", tmp_path / out)
        assert ran.code == status.code == code
        assert "2 logs without an answer" in ran.out.replace("\n  ", " ")
        page = (tmp_path / out / "report.html").read_text(encoding="utf-8")
        for said in (ran.out, status.out, page, (tmp_path / f"{out}.xml").read_text(encoding="utf-8")):
            assert "both" in said
            assert "G1, log_grain" in said
            assert "denied" in said
            assert "Permission denied" in said
        (folder / "wrong").unlink(missing_ok=True)


def test_logs_are_not_told_apart_by_what_only_one_of_them_has(holdfast: Run, tmp_path: Path) -> None:
    """Names, numbers and values are no part of a kind: logs that are wrong alike are one finding, and none is lost."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for number, name in enumerate(("a", 'b;"\\b', "c" * 200)):
        header, event = (json.loads(line) for line in isolated().splitlines())
        event["post"] |= {"active": {name: False}, "timer": False, "replica": name}
        (folder / f"value{number}").write_text(text([header, {**event, "n": name, "source": name}]))
        (folder / f"kind{number}").write_text(text([header, {**event, "action": "no", "source": name}]))
        (folder / f"number{number}").write_text(text([header, {**event, "seq": name}]))
    words = ["campaign", "run", "--target", "log", "--in", folder, "--model", "reassignment", "--out", tmp_path / "a"]
    assert holdfast(*words).code == 12

    found = {finding.logs: (finding.action, finding.state) for finding in summarise(place(tmp_path / "a")).findings}
    assert found == {
        ("kind0", "kind1", "kind2"): ("Reassignment has no action no", ()),
        ("number0", "number1", "number2"): ('seq is "…"', ()),
        ("value0", "value1", "value2"): (
            "isolate",
            ("leader, leader_epoch, replica after the step is another in the log",),
        ),
    }


def test_logs_of_two_models_are_not_compared(holdfast: Run, logs: Path, tmp_path: Path) -> None:
    """The message names both models."""
    holdfast(*run_words(logs, tmp_path / "a"))
    words = ["--model", "controller_tables", "--map", "automq-metadata"]
    holdfast("campaign", "run", "--target", "log", "--in", logs, *words, "--out", tmp_path / "b")
    ran = holdfast("campaign", "diff", tmp_path / "a", tmp_path / "b")
    assert ran.code == 2
    assert "logs of FastClose" in ran.err
    assert "logs of ControllerTables" in ran.err


def test_logs_in_a_bucket_are_judged(holdfast: Run, s3: str, keys: tuple[str, str], logs: Path, tmp_path: Path) -> None:
    """Logs in a bucket give the findings of logs in a folder, at the same lines."""
    client = boto3.client("s3", endpoint_url=s3, region_name="us-east-1")
    client.create_bucket(Bucket="logs")
    bucket = open_storage("s3://logs/a", s3)
    for path in logs.iterdir():
        bucket.write(path.name, path.read_bytes())
    ran = holdfast(*run_words("s3://logs/a", tmp_path / "a", "--s3", s3, "--sarif", tmp_path / "r.sarif"))
    summary = summarise(place(tmp_path / "a"))
    assert ran.code == 12
    assert _names(summary, "damaged") | _names(summary, "impossible") == {
        path.name for path in logs.iterdir() if not path.name.startswith("good")
    }
    assert_lines(tmp_path / "r.sarif", summary)
    assert not [key for key in keys if key in ran.out + ran.err]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--target", "log", "--model", "fast_close"), "--target log needs --in"),
        (("--target", "log", "--in", "{logs}"), "--target log needs --model"),
        (("--target", "log", "--in", "nowhere", *MODEL), "--in nowhere: does not exist; name a folder"),
        (("--target", "log", "--in", "{file}", *MODEL), "which is a file; name a folder"),
        (("--target", "log", "--in", "{empty}", *MODEL), "holds no file; name a folder"),
        (("--target", "log", "--in", "{logs}", *MODEL, "--runs", 3), "--runs: it belongs to runs that are drawn"),
        (("--target", "log", "--in", "{logs}", *MODEL, "--brokers", 3), "--brokers: it belongs to runs"),
        (("--target", "ownership", "--in", "{logs}"), "--in: it belongs to --target log"),
        (("--target", "log", "--in", "{logs}", "--model", "nothing"), "nothing"),
        (("--target", "log", "--in", "{logs}", "--model", "balancer"), "Balancer computes with it (+)"),
        (("--target", "log", "--in", "{logs}", *MODEL, "--s3", "http://127.0.0.1:1"), "--s3: neither --in nor --out"),
        (("--target", "log", "--in", "{out}", *MODEL), "holds the logs; name another folder"),
    ],
)
def test_wrong_options_are_one_line(
    holdfast: Run, logs: Path, tmp_path: Path, words: tuple[object, ...], message: str
) -> None:
    """A missing or wrong option is one line, and no campaign begins."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "log").touch()
    places = {
        "{out}": str(tmp_path / "a"),
        "{logs}": str(logs),
        "{empty}": str(tmp_path / "empty"),
        "{file}": str(tmp_path / "file"),
    }
    given = [places.get(str(word), word) for word in words]
    ran = holdfast("campaign", "run", *given, "--out", tmp_path / "a")
    assert ran.code == 2
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not (tmp_path / "a" / "campaign.parquet").exists()
