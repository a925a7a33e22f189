"""``holdfast scenario``: what it prints, its reports, and its exit codes."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from holdfast.cli.app import main
from impl.cli import scenario_run
from impl.scenario.language import Scenario
from impl.scenario.runner import ScenarioVerdict
from impl.scenario.switches import ALWAYS, OF_BROKERS, REFUSED, switches

MALFORMED = sorted((Path(__file__).parent / "malformed").glob("*.yaml"))
GOOD = "name: good\nsteps:\n  - {op: openings, node: 0, node_epoch: 1, expect: {error: NONE, streams: []}}\n"
BAD = "name: bad\nsteps:\n  - {op: has_opening, node: 0, expect: {value: true}}\n"
OWNER = """name: the owner
steps:
  - {op: openings, each: [{node: 0, node_epoch: 1}, {node: 1, node_epoch: 1}]}
  - {op: create, node: 0, node_epoch: 1}
  - {op: open, node: 0, node_epoch: 1, stream: 0, epoch: 0}
  - {op: open, node: 1, node_epoch: 1, stream: 0, epoch: 1, expect: {error: STREAM_NOT_CLOSED}}
"""
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder with a good and a bad file."""
    monkeypatch.chdir(tmp_path)
    Path("good.yaml").write_text(GOOD)
    Path("bad.yaml").write_text(BAD)
    Path("owner.yaml").write_text(OWNER)


def holdfast(*argv: str) -> int:
    """The exit code of a command."""
    return main(["scenario", *argv])


def test_all_pass(capsys: Captured) -> None:
    """A line for each scenario, and exit code 0."""
    assert holdfast("run", "good.yaml", "owner.yaml") == 0
    assert capsys.readouterr().out.splitlines() == [
        "ok    good.yaml:1: good (1 step)",
        "ok    owner.yaml:1: the owner (4 steps)",
        "2 scenarios, all as expected",
    ]


def test_one_fails(capsys: Captured) -> None:
    """A failing scenario shows its step, and the exit code is 12; the other scenarios run all the same."""
    assert holdfast("run", "bad.yaml", "good.yaml") == 12
    assert capsys.readouterr().out.splitlines() == [
        "FAIL  bad.yaml:1: bad (1 step)",
        "  bad.yaml:3: step 1: {op: has_opening, node: 0}",
        "           expected  actual",
        "    value  true      false",
        "ok    good.yaml:1: good (1 step)",
        "2 scenarios, 1 failed",
    ]


def test_a_folder_is_searched(capsys: Captured) -> None:
    """The files *.yaml and *.yml of a folder and its subfolders run, sorted."""
    Path("more/deep").mkdir(parents=True)
    Path("more/deep/b.yml").write_text(GOOD)
    Path("more/a.yaml").write_text(GOOD)
    Path("more/README.md").write_text("no scenario")

    assert holdfast("run", "more") == 0
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()[:-1]] == [
        "more/a.yaml:1:",
        "more/deep/b.yml:1:",
    ]


@pytest.mark.parametrize("path", MALFORMED, ids=lambda path: path.stem)
def test_malformed_files_end_with_one_line(path: Path, capsys: Captured) -> None:
    """A malformed file ends with exit code 2 and one line that begins with its place; no scenario runs."""
    line = path.read_bytes().split(b":")[0].decode().removeprefix("# line ")

    assert holdfast("run", "good.yaml", str(path)) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"holdfast: {path}:{line}: ")
    assert err.count("\n") == 1


def test_each_malformed_file_of_a_folder_is_named(capsys: Captured) -> None:
    """Each malformed file gets one line with its first problem, also one that is the setup of several files."""
    Path("bad").mkdir()
    for name in ("a", "b"):
        Path(f"bad/{name}.yaml").write_text(f"setup: c.yaml\n{GOOD}")
    for name in ("c", "d"):
        Path(f"bad/{name}.yaml").write_text("steps: [{op: opeen}]\n")

    assert holdfast("run", "bad", "good.yaml") == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "holdfast: bad/c.yaml:1: unknown operation opeen; did you mean open?",
        "holdfast: bad/d.yaml:1: unknown operation opeen; did you mean open?",
    ]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ((), "no scenario is given; name files"),
        (("nowhere.yaml",), "there is no such file"),
        (("empty",), "holds no scenario files"),
        (("good.yaml", "--without", "ST-99"), "unknown label ST-99; known: ST-11, ST-12,"),
        (("good.yaml", "--without", "CK-01"), "unknown label CK-01; known: CK-01.expired, CK-01.flag, CK-01.unknown"),
        (("good.yaml", "--without", "XX"), "unknown label XX; known: BG-N, CA-N, CK-N,"),
        (("good.yaml", "--without", "WL-08"), "unknown label WL-08; known: BG-N, CA-N, CK-N,"),
        (("good.yaml", "--switch", "AM-77"), "unknown switch AM-77; known: AM-02, AM-04,"),
        (("good.yaml", "--switch", "AM-03"), "AM-03 is a spot of brokers, and a scenario has none; leave it out"),
        (("good.yaml", "--switch", "AM-12"), "AM-12 cannot be built in: AutoMQ fails with an error"),
        (("good.yaml", "--failover-at", "2"), "the longest scenario ends with step 1; give no more"),
        (("good.yaml", "--failover-at", "never"), "give the number of a step, from 1, or all"),
        (("good.yaml", "--failover-at", "0"), "give the number of a step"),
        (("good.yaml", "--failover-at", "all", "--replay"), "two kinds of runs"),
        (("good.yaml", "--json", "--github"), "choose one"),
        (("good.yaml", "--junit", "nowhere/x.xml"), "cannot be written"),
        (("good.yaml", "--fast"), "--fast"),
    ],
)
def test_wrong_arguments(argv: tuple[str, ...], words: str, capsys: Captured) -> None:
    """A wrong argument ends with exit code 2 and one line that says so."""
    Path("empty").mkdir()

    assert holdfast("run", *argv) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.count("\n") == 1


def test_without_a_rule(capsys: Captured) -> None:
    """The scenario of a rule fails without the rule. Afterwards the rule is on again."""
    assert holdfast("run", "owner.yaml", "--without", "ST-14") == 12
    assert "error  STREAM_NOT_CLOSED  NONE" in capsys.readouterr().out
    assert holdfast("run", "owner.yaml") == 0


def test_replay_and_failovers(capsys: Captured) -> None:
    """The two kinds of thorough runs pass, and the second one says how many runs it made."""
    assert holdfast("run", "owner.yaml", "--replay") == 0
    assert holdfast("run", "owner.yaml", "--failover-at", "all") == 0
    assert holdfast("run", "owner.yaml", "--failover-at", "2") == 0
    assert [line for line in capsys.readouterr().out.splitlines() if "runs" in line] == [
        "ok    owner.yaml:1: the owner (4 steps, 5 runs)",
        "ok    owner.yaml:1: the owner (4 steps, 2 runs)",
    ]


def test_a_switch_of_what_the_tables_have_says_so(capsys: Captured) -> None:
    """A switch that is built into the tables changes nothing, and a line says why. No switch is both."""
    assert holdfast("run", "good.yaml", "--switch", "AM-20") == 0
    said = capsys.readouterr()
    assert "all as expected" in said.out
    assert said.err.startswith("holdfast: --switch AM-20 changes nothing: an equal epoch opens a CLOSED stream again")
    assert set(ALWAYS) & set(switches()) == set()


def test_every_suspicious_spot_has_an_answer() -> None:
    """Each of AM-01 to AM-20 is exactly one: a switch, always built in, of brokers only, or refused with a reason."""
    named = [*ALWAYS, *OF_BROKERS, *REFUSED, *(name for name in switches() if name.startswith("AM-"))]
    assert sorted(named) == [f"AM-{number:02}" for number in range(1, 21)]


def test_switches(capsys: Captured) -> None:
    """A spot that is built in reaches the controller: the size becomes the timestamp (AM-07)."""
    assert holdfast("run", "good.yaml", "--switch", "AM-07") == 0
    assert "all as expected" in capsys.readouterr().out


def test_interrupted(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends the running scenario. The results so far are printed, and are no verdict on the rest."""

    def interrupting(scenario: Scenario, *_: object, **__: object) -> ScenarioVerdict:
        if scenario.name == "the owner":
            signal.raise_signal(signal.SIGINT)
        return ScenarioVerdict(scenario)

    monkeypatch.setattr(scenario_run, "run_scenario", interrupting)
    # A shell that runs the tests in the background makes them ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert holdfast("run", "good.yaml", "owner.yaml") == 20
    finally:
        signal.signal(signal.SIGINT, before)

    said = capsys.readouterr()
    assert said.out.splitlines()[1:] == ["1 scenario, all as expected"]
    assert said.err == "holdfast: interrupted: 1 of 2 scenarios were run\n"


def test_scenario_without_expectations_says_so(capsys: Captured) -> None:
    """A scenario without expectations always passes, and the output says so."""
    Path("blank.yaml").write_text("steps:\n  - {op: list}\n")

    assert holdfast("run", "blank.yaml") == 0
    assert capsys.readouterr().out.splitlines()[0] == "ok    blank.yaml:1: blank 1 (1 step, no expectation)"


def test_help_has_its_own_exit_codes(capsys: Captured) -> None:
    """The help of ``scenario run`` explains its own exit codes."""
    assert holdfast("run", "--help") == 0
    said = capsys.readouterr().out
    assert "12  a result is not as expected" in said
    assert "mutant" not in said


def test_json(capsys: Captured) -> None:
    """With ``--json`` standard output has one line of JSON for each scenario and nothing else."""
    assert holdfast("run", "good.yaml", "bad.yaml", "--json") == 12

    verdicts = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["name"], each["verdict"]) for each in verdicts] == [("good", "passed"), ("bad", "failed")]
    assert verdicts[1]["failure"]["differences"] == [{"path": "value", "expected": "true", "actual": "false"}]


def test_reports(capsys: Captured) -> None:
    """JUnit and SARIF are written, and GitHub's annotation names the line of the step."""
    argv = ("run", "good.yaml", "bad.yaml", "--junit", "j.xml", "--sarif", "s.json", "--github")
    assert holdfast(*argv) == 12

    suites = ET.parse("j.xml").getroot()  # noqa: S314 - our own file
    assert (suites.get("tests"), suites.get("failures")) == ("2", "1")
    (result,) = [each for part in json.loads(Path("s.json").read_text())["runs"] for each in part["results"]]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 3
    assert "::error file=bad.yaml,line=3" in capsys.readouterr().out


def test_new_writes_a_file_that_passes(capsys: Captured) -> None:
    """``new`` writes a file that passes, and overwrites no file."""
    assert holdfast("new", "mine") == 0
    assert holdfast("run", "mine.yaml") == 0
    assert holdfast("new", "mine") == 2
    assert "mine.yaml exists already" in capsys.readouterr().err


def test_schema_is_printed(capsys: Captured) -> None:
    """``schema`` prints the JSON schema."""
    assert holdfast("schema") == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Scenario of the reference implementation"


def test_a_rule_of_zone_routing_can_be_switched_off(capsys: Captured) -> None:
    """The page of the rules names this command, and it fails as the page says."""
    file = str(Path(__file__).parents[1] / "scenarios" / "zone" / "epochs.yaml")
    assert main(["scenario", "run", file, "--without", "M-10"]) == 12
    assert "FAIL" in capsys.readouterr().out
    assert main(["scenario", "run", file]) == 0
