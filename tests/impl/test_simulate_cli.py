"""``holdfast simulate``: its output, its files, and its exit codes."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from holdfast.cli.app import main
from impl.cli import simulations as campaign
from impl.oracles import judge
from impl.sim.check import CheckResult, Question, check
from impl.sim.run import always
from impl.sim.seeds import outcomes

Captured = pytest.CaptureFixture[str]
SMALL = ("--steps", "60")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def simulate(*argv: object) -> int:
    """The exit code of a command."""
    return main(["simulate", *map(str, argv)])


def kept() -> list[Path]:
    """The files of kept runs."""
    return sorted(Path("corpus").glob("*")) if Path("corpus").exists() else []


# One seed ---------------------------------------------------------------------------------------------------------


def test_one_run(capsys: Captured) -> None:
    """The output has the drawn faults, those that happened, the judged operations and the verdict. No file is kept."""
    assert simulate("--seed", 3, *SMALL) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "cluster V6, seed 3: nothing violated"
    assert {line.split("  ")[1] for line in lines[2:] if line.startswith("  ") and line[2] != " "} >= {
        "cluster",
        "operations",
        "happened",
        "looked at",
        "faults",
    }
    assert err.startswith("1 run in ")
    assert not kept()


def test_a_violation_is_kept_and_told(capsys: Captured) -> None:
    """The run is shrunk, and its file shows the violation again, but none with all rules."""
    assert simulate("--seeds", "0..5", "--without", "ST-14", "--jobs", 1, *SMALL) == 12
    out = capsys.readouterr().out
    (path,) = kept()
    assert f"  again           holdfast simulate {path}" in out
    assert "  with all rules  the same run violates nothing" in out
    assert "rule ST-14 is switched off; it would have decided here" in out
    assert "no single one can be left out" in out
    file = json.loads(path.read_text())
    assert len(file["script"]) <= 12
    assert len(file["faults"]) <= 3
    assert file["without"] == ["ST-14"]
    message = file["violation"]["message"]
    assert message in out

    assert simulate(path) == 12
    out = capsys.readouterr().out
    assert message in out
    assert f"cluster V6, seed {file['seed']}, without ST-14: violated" in out
    assert simulate(path, "--mended") == 0
    assert "nothing violated" in capsys.readouterr().out
    assert kept() == [path]


def test_a_violation_is_kept_as_it_was_drawn(capsys: Captured) -> None:
    """With the option the run is kept unshrunk, in a chosen folder."""
    assert simulate("--seed", 0, "--without", "ST-14", "--no-shrink", "--keep", "here/runs", *SMALL) == 12
    (path,) = Path("here/runs").glob("*.json")
    assert len(json.loads(path.read_text())["script"]) == 60
    assert "60 operations and" in capsys.readouterr().out


def test_log_history_and_timeline(capsys: Captured) -> None:
    """The log and history are JSON lines with their fields. The timeline stands below the figures."""
    assert simulate("--seed", 1, "--log", "log.ndjson", "--history", "history.ndjson", "--timeline", *SMALL) == 0
    assert "leads the controllers in term 1" in capsys.readouterr().out
    events = [json.loads(line) for line in Path("log.ndjson").read_text().splitlines()]
    assert {"source", "n", "t", "event", "kind"} <= set(events[0])
    ops = [json.loads(line) for line in Path("history.ndjson").read_text().splitlines()]
    assert {"process", "kind", "f", "key"} <= set(ops[0])


@pytest.mark.parametrize(
    ("version", "models"), [("legacy", ("ownership", "stream_log")), ("V6", ("fast_close",))], ids=["legacy", "V6"]
)
def test_a_model_judges_the_log(version: str, models: tuple[str, ...]) -> None:
    """The model judges the log with the mapping of its name, as the pages say."""
    assert simulate("--seed", 1, "--version", version, "--log", "events.ndjson", *SMALL) == 0
    for model in models:
        assert main(["conform", model, "events.ndjson", "--map", model]) == 0


def test_the_log_of_a_run_with_neighbours() -> None:
    """A neighbour creates and deletes partitions. They have no logs of their own, since no model judges these."""
    assert simulate("--seed", 2, "--faults", "neighbour", "--log", "events.ndjson") == 0
    assert sorted(path.name for path in Path().glob("*.ndjson")) == ["events.ndjson"]


@pytest.mark.parametrize("version", [pytest.param("legacy", marks=pytest.mark.slow), "V6"])
def test_one_seed_gives_equal_bytes(version: str) -> None:
    """Log, history and output are equal in processes with different hash seeds."""
    found = []
    for number in ("0", "1", "4242"):
        names = f"log{number}", f"history{number}"
        argv = ["simulate", "--seed", "1", "--version", version, "--log", names[0], "--history", names[1], "--json"]
        code = f"import sys; from holdfast.cli.app import main; sys.exit(main({argv!r}))"
        environment = {**os.environ, "PYTHONHASHSEED": number}
        ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
        found.append((ran.stdout, *(Path(name).read_bytes() for name in names)))
    assert found[0] == found[1] == found[2]
    assert min(len(each) for each in found[0]) > 1_000


# Many seeds -------------------------------------------------------------------------------------------------------


def test_the_answer_does_not_depend_on_the_jobs(capsys: Captured) -> None:
    """One process and two give equal bytes, with all figures."""
    outs = []
    for jobs in (1, 2):
        assert simulate("--seeds", "0..4", "--jobs", jobs, "--json", *SMALL) == 0
        outs.append(capsys.readouterr().out)
    assert outs[0] == outs[1]
    found = json.loads(outs[0])
    assert (found["verdict"], found["exit_code"], found["runs"], found["ended_by"]) == ("holds", 0, 5, None)
    assert found["least"]["handovers"] >= 3
    assert set(found["faults"]["pause"]) == {"drawn", "happened_in", "times"}
    assert len(found["awaits"]) > 100
    assert found["violations"] == []


def test_all_seeds_are_run_on_demand(capsys: Captured) -> None:
    """All seeds run, each oracle's first run is kept, and all violating seeds are listed."""
    assert simulate("--seeds", "0..9", "--without", "ST-14", "--keep-going", "--jobs", 2, "--json", *SMALL) == 12
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == 10
    assert len(found["violated_seeds"]) > 3
    oracles = [each["oracle"] for each in found["violations"]]
    assert len(oracles) == len(set(oracles)) == len(kept())
    assert not [each for each in multiprocessing.active_children() if each.is_alive()]


def test_reports(capsys: Captured) -> None:
    """A report has a case for each oracle, and the violated one has its run."""
    options = ("--seed", 0, "--without", "ST-14", "--junit", "r.xml", "--sarif", "r.sarif", "--github", *SMALL)
    assert simulate(*options) == 12
    (path,) = kept()
    cases = {case.get("name"): case for case in ET.parse("r.xml").iter("testcase")}  # noqa: S314 - our own file
    assert set(judge.NAMES) <= set(cases)
    assert sum(case.find("failure") is not None for case in cases.values()) == 1
    (result,) = json.loads(Path("r.sarif").read_text())["runs"][0]["results"]
    assert str(path) in json.dumps(result)
    assert f"::error file={path}" in capsys.readouterr().out


# Limits, and what goes wrong --------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_budget_ends_the_runs(capsys: Captured, jobs: int) -> None:
    """A budget ends the runs with the results so far, which is no success."""
    assert simulate("--seeds", "0..999999", "--budget", "2s", "--jobs", jobs, *SMALL) == 20
    out, err = capsys.readouterr()
    assert out.startswith("cluster V6, seeds 0..999999: nothing violated so far, and not all seeds were run\n")
    assert err.strip().endswith("ended early (time: more than 2 s)")


def test_a_budget_ends_one_run(capsys: Captured) -> None:
    """A budget that ends in the middle of a run has no result for it."""
    assert simulate("--seed", 1, "--steps", "100000", "--budget", "0.2s") == 20
    assert "not all seeds were run" in capsys.readouterr().out


def test_memory_is_limited(capsys: Captured) -> None:
    """The limit is for the memory of all processes together."""
    assert simulate("--seeds", "0..99", "--budget", "1MB", *SMALL) == 20
    assert "memory: more than 1 MB" in capsys.readouterr().err


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_runs(capsys: Captured, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals) -> None:
    """After a signal the results so far are printed."""
    made = iter(range(100))

    def interrupted(*args: object) -> object:
        for each in outcomes(*args):
            if next(made) == 2:
                signal.raise_signal(sent)
            yield each

    monkeypatch.setattr(campaign, "outcomes", interrupted)
    assert simulate("--seeds", "0..99", "--jobs", 1, *SMALL) == 20
    out, err = capsys.readouterr()
    assert "not all seeds were run" in out
    assert err.startswith("3 of 100 runs in ")
    assert "ended early (interrupted)" in err


def test_a_run_that_cannot_be_judged_is_a_fault(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that cannot be judged is an error, neither a success nor a violation."""

    def unjudged(question: Question, go_on: object = always) -> CheckResult:
        del go_on
        return CheckResult(check(question).run, (), {}, "operation 3 ends twice")

    monkeypatch.setattr(campaign, "check", unjudged)
    assert simulate("--seed", 1, *SMALL) == 1
    out = capsys.readouterr().out
    assert "a run cannot be judged" in out
    assert "seed 1 cannot be judged: operation 3 ends twice" in out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--seeds", "5..1"), "--seeds 5..1: it is no range; write A..B, two numbers, with A not above B"),
        (("--seeds", "5"), "--seeds 5: it is no range; write A..B"),
        (("--seeds", "0..1", "--seed", "1"), "--seed and --seeds are both given; give one of them"),
        (("--seeds", "0..1", "--log", "x"), "--log: it shows one run; give --seed instead of --seeds"),
        (("--jobs", "2"), "--jobs: there is one run without --seeds; leave it out"),
        (("--mended",), "--mended: it belongs to a file that is made again; leave it out"),
        (
            ("--partitions", "2", "--faults", "pause,open_fails"),
            "--faults open_fails: it happens to --streams, and not to --partitions; leave it out",
        ),
        (("--faults", "report_loss"), "--faults report_loss: it happens only in a cluster with --zones; leave it out"),
        (("--faults", "join"), "--faults join: it happens only in a cluster with --zones; leave it out"),
        (("--faults", "pause,explosion"), "--faults: unknown kind of fault explosion"),
        (("--faults", ""), "--faults: unknown kind of fault"),
        (("--timeline", "--json"), "--json: --timeline prints text; leave it out"),
        (("--without", "ST-99"), "--without: unknown label ST-99; known: ST-"),
        (("--without", "CA-02"), "--without: unknown label CA-02"),
        (("--switch", "AM-77"), "--switch: unknown switch AM-77"),
        (("--version", "V7"), "--version"),
        (("--brokers", "0"), "--brokers"),
        (("--streams", "100000"), "--streams"),
        (("--budget", "10states"), "--budget 10states: a simulation counts no states"),
        (("--budget", "x"), "budget 'x'"),
        (("missing.json",), "missing.json: cannot be read: No such file or directory"),
        (("bad.json",), "bad.json: "),
        (("bad.json", "--seed", "1"), "--seed: bad.json says what is run; leave it out"),
        (("bad.json", "--no-shrink"), "--no-shrink: bad.json says what is run"),
        (("--log", "no/folder/x"), "no/folder/x: cannot be written"),
        (("--json", "--github"), "--github prints to standard output"),
    ],
)
def test_what_is_wrong_is_said(capsys: Captured, argv: tuple[str, ...], message: str) -> None:
    """A wrong argument is one line on standard error, before any run."""
    Path("bad.json").write_text('{"format": "\x1b[31m"}')
    assert simulate(*argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert len(err.splitlines()) == 1
    assert err.strip().isprintable()


def test_a_folder_that_cannot_be_written(capsys: Captured) -> None:
    """The error is one line. The violation is found nevertheless, and the exit code is that of a wrong argument."""
    Path("corpus").write_text("a file")
    assert simulate("--seed", 0, "--without", "ST-14", *SMALL) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_a_named_folder_that_cannot_be_written(capsys: Captured) -> None:
    """It is refused before the runs: otherwise a violation would be found and lost."""
    Path("file").write_text("a file")
    assert simulate("--seeds", "0..3", "--keep", "file/runs") == 2
    said = capsys.readouterr().err
    assert said.startswith("holdfast: --keep file/runs: ")
    assert said.endswith("is no folder in which files can be written; choose another folder\n")


def test_the_report_of_a_file_repeats_the_file(capsys: Captured) -> None:
    """The run of a kept file has a script and faults, which no option names."""
    case = Path(__file__).parents[2] / "corpus" / "V6-without-ST-14-log-7.json"
    assert simulate(case, "--junit", "r.xml") == 12
    assert f"holdfast simulate {case}" in Path("r.xml").read_text(encoding="utf-8")
    assert f"again           holdfast simulate {case}" in capsys.readouterr().out


def test_files_of_a_run_that_was_not_finished(capsys: Captured) -> None:
    """Each file that is not written is named."""
    files = ("--log", "l.ndjson", "--history", "h.json", "--html", "p.html")
    assert simulate("--seed", 1, "--budget", "0.001s", *files) == 20
    said = capsys.readouterr().err
    for name in ("l.ndjson", "h.json", "p.html"):
        assert f"the run was not finished, so {name} is not written" in said
        assert not Path(name).exists()


def test_the_page_of_many_seeds_names_the_seed(capsys: Captured) -> None:
    """The seed that violates something is not the first one."""
    assert simulate("--seeds", "0..9", "--without", "CL-02", "--no-shrink", "--html", "p.html", "--json") == 12
    (seed,) = json.loads(capsys.readouterr().out)["violated_seeds"]
    assert seed != 0
    assert f"seed {seed}, without CL-02" in Path("p.html").read_text(encoding="utf-8")


def test_partitions_with_many_records() -> None:
    """The final read is one poll, however many records there are."""
    assert simulate("--partitions", 1, "--steps", 1500, "--faults", "none") == 0


# A model's run ---------------------------------------------------------------------------------------------------


def test_run_of_a_model(capsys: Captured) -> None:
    """A kept run is shown as a run of a model: the first event that the model does not allow, and a line to replay."""
    case = Path(__file__).parents[2] / "corpus" / "V6-without-ST-14-log-7.json"
    Path("kept.json").write_bytes(case.read_bytes())
    assert simulate("kept.json", "--as-model", "fast_close") == 12
    out = capsys.readouterr().out
    assert "kept.fast_close.ndjson as a run of fast_close:" in out
    line = next(each for each in out.splitlines() if "holdfast replay '" in each)
    assert main(["replay", line.partition("'")[2].rpartition("'")[0]]) == 0
    assert "open(" in capsys.readouterr().out


def test_model_that_does_not_judge_such_runs(capsys: Captured) -> None:
    """A model that does not know fast close is refused for a run of V6; so is the option without a file."""
    case = Path(__file__).parents[2] / "corpus" / "V6-without-ST-14-log-7.json"
    assert simulate(case, "--as-model", "ownership") == 2
    assert "model of V6" in capsys.readouterr().err
    assert simulate("--seed", 1, "--as-model", "ownership") == 2
    assert "--as-model: it belongs to a file" in capsys.readouterr().err
