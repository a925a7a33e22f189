"""``holdfast walk``: its output, files and exit codes."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import itf_py
import pytest

from tests.cli.running import Run
from tests.cli.samples import COUNTER

BROKEN = COUNTER.replace("self.value[n] > Count(0) for n", "self.value[n] < Count(2) for n")
"""The counter with an invariant that growing violates."""

ENDLESS = COUNTER.replace('require(c > self.value[n], "CT-01")', "pass")
"""The counter that goes up and down for ever."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a model that holds, counter.py, one that does not, and one whose runs never end."""
    monkeypatch.chdir(tmp_path)
    Path("counter.py").write_text(COUNTER)
    Path("broken.py").write_text(BROKEN)
    Path("endless.py").write_text(ENDLESS)
    return tmp_path


def test_nothing_found_is_no_proof(holdfast: Run) -> None:
    """Random runs without a violation end with 0 and say how many there were, but never that a property holds."""
    ran = holdfast("walk", "counter.py", "--runs", 100)
    assert ran.code == 0
    assert ran.out.startswith("Counter, scope default: nothing found in 100 runs, which is no proof\n")
    assert not re.search(r"\b(holds|exhausted|proved)\b", ran.out)


def test_a_violation_is_shown(holdfast: Run) -> None:
    """The violating run is printed as a check prints it, and ends with 12."""
    ran = holdfast("walk", "broken.py", "--scope", "tiny", "--seed", "0x2a")
    assert ran.code == 12
    assert ran.out.startswith("grown_is_positive: violated after ")
    assert re.search(
        r"^Counter, scope tiny: violated in run \d+, after \d steps?: grown_is_positive", ran.out, re.MULTILINE
    )
    assert "of seed 42 drew its actions by weight: grow" in ran.out


def test_the_line_that_reproduces_does(holdfast: Run) -> None:
    """The printed command prints the same run again, byte for byte."""
    first = holdfast("walk", "broken.py", "--seed", 5, "--depth", 9, "--without", "CT-01", "--pct", 2)
    (line,) = re.findall(r"^reproduce: holdfast (.*)$", first.out, re.MULTILINE)
    assert "--run " in line
    assert holdfast(*shlex.split(line)).out == first.out


def test_the_older_name_of_an_option(holdfast: Run) -> None:
    """``--traces``, which earlier versions had, means ``--runs``."""
    assert holdfast("walk", "counter.py", "--traces", 30).out == holdfast("walk", "counter.py", "--runs", 30).out


def test_the_output_is_the_same_again(holdfast: Run) -> None:
    """Two equal commands print the same bytes; rates go to standard error only."""
    first = holdfast("walk", "counter.py", "--runs", 300)
    assert holdfast("walk", "counter.py", "--runs", 300).out == first.out
    assert " a second" in first.err
    assert " a second" not in first.out


CLIMBING = BROKEN.replace("require(c > self.value[n]", "require(c == self.value[n] + 1")
"""The broken counter, restricted to growing by one, so that the violation takes several steps."""


def test_the_run_is_shrunk(holdfast: Run) -> None:
    """The shown run is a shortest one, the text tells the original length, and line and file hold the shown run."""
    Path("climbing.py").write_text(CLIMBING)
    ran = holdfast("walk", "climbing.py", "--seed", 2, "--itf", "run.itf.json")
    assert ran.code == 12
    assert ran.out.startswith("grown_is_positive: violated after 2 steps\n")
    assert re.search(r": violated in run 0, shrunk from \d+ to 2 steps: grown_is_positive", ran.out)
    assert "No run in this scope shows grown_is_positive in fewer steps." in ran.out

    (line,) = re.findall(r"^replay: +holdfast (.*)$", ran.out, re.MULTILINE)
    assert line.count("grow(") == 2
    assert len(itf_py.trace_from_json(json.loads(Path("run.itf.json").read_text())).states) == 3


def test_the_run_as_it_was_drawn(holdfast: Run) -> None:
    """With --no-shrink the whole run is shown, and the printed command shows it again."""
    Path("climbing.py").write_text(CLIMBING)
    shrunk = json.loads(holdfast("walk", "climbing.py", "--seed", 2, "--json").out)
    ran = holdfast("walk", "climbing.py", "--seed", 2, "--no-shrink")
    record = json.loads(holdfast("walk", "climbing.py", "--seed", 2, "--no-shrink", "--json").out)

    assert shrunk["shrunk"]["from"] == record["findings"][0]["length"] > 2
    assert record["shrunk"] is None
    assert f"violated in run 0, after {record['findings'][0]['length']} steps: grown_is_positive" in ran.out
    (line,) = re.findall(r"^reproduce: holdfast (.*)$", ran.out, re.MULTILINE)
    assert holdfast(*shlex.split(line)).out == ran.out


def test_another_seed_is_another_campaign(holdfast: Run) -> None:
    """Another seed draws other runs."""
    one, two = (holdfast("walk", "counter.py", "--runs", 500, "--seed", seed, "--json").out for seed in (1, 2))
    assert json.loads(one)["figures"]["steps"] != json.loads(two)["figures"]["steps"]


def test_runs_take_the_scope_and_the_depth_for_runs(holdfast: Run) -> None:
    """Without --scope, runs take the scope for runs and its depth; --depth, --scope and --runs still decide."""
    deep = "tiny = Scope({Node: 2, Count: 2})\n    deep = Scope({Node: 2, Count: 9}, depth=77)"
    Path("deep.py").write_text(COUNTER.replace("tiny = Scope({Node: 2, Count: 2})", deep))

    def chosen(*options: object) -> tuple[str, int]:
        found = json.loads(holdfast("walk", "deep.py", "--runs", 5, "--json", *options).out)
        return found["scope"], found["figures"]["depth"]

    assert chosen() == ("deep", 77)
    assert chosen("--depth", 5) == ("deep", 5)
    assert chosen("--scope", "default") == ("default", 50)
    assert "10,000 runs" in holdfast("walk", "deep.py", "--depth", 1).out
    assert "100,000 runs" in holdfast("walk", "deep.py", "--scope", "tiny", "--depth", 1).out
    assert "scope tiny:" in (checked := holdfast("check", "deep.py").out)
    assert "scope deep" not in checked
    refusal = "for random runs, and TLC searches all states of a scope; choose --scope tiny or default\n"
    assert holdfast("tlc", "deep.py", "--scope", "deep").err.endswith(f"scope deep of Counter is {refusal}")


@pytest.mark.parametrize(
    ("model", "expect", "code"),
    [
        ("broken.py", "violated", 0),
        ("broken.py", "holds", 12),
        ("counter.py", "violated", 10),
        ("counter.py", "holds", 0),
    ],
)
def test_expectations(holdfast: Run, model: str, expect: str, code: int) -> None:
    """An expected violation is a success; if it does not occur, the command fails."""
    ran = holdfast("walk", model, "--expect", expect, "--runs", 100)
    assert ran.code == code
    assert ("A violation was expected, and nothing is violated." in ran.out) == (code == 10)


def test_json_is_all_there_is(holdfast: Run) -> None:
    """With --json, standard output holds one JSON record, whose lengths and stop reasons add up."""
    ran = holdfast("walk", "endless.py", "--runs", 200, "--depth", 8, "--json")
    record = json.loads(ran.out)
    lengths = record["figures"]["lengths"]
    assert (record["engine"], record["verdict"], record["exit_code"], record["run"]) == ("walk", "not_found", 0, None)
    assert (lengths["all"]["runs"], lengths["all"]["longest"], lengths["depth"]["shortest"]) == (200, 8, 8)
    assert sum(figures["steps"] for reason, figures in lengths.items() if reason != "all") == lengths["all"]["steps"]
    assert ran.err == ""


def test_a_run_is_written_as_itf(holdfast: Run) -> None:
    """--itf writes the violating run with its seed, and nothing if there is no violation."""
    assert holdfast("walk", "broken.py", "--scope", "tiny", "--seed", 3, "--itf", "run.itf.json").code == 12
    text = Path("run.itf.json").read_text()
    assert len(itf_py.trace_from_json(json.loads(text)).states) >= 2
    assert "--seed 3" in text

    ran = holdfast("walk", "counter.py", "--runs", 10, "--itf", "none.itf.json")
    assert "nothing is violated, so none.itf.json is not written" in ran.err
    assert not Path("none.itf.json").exists()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--seed", "lucky"], "--seed lucky: it is no number; write one, or hexadecimal such as 0x5eed"),
        (["--seed", "0x10000000000000000"], "choose a number from 0 to 18446744073709551615"),
        (["--runs", "0"], "--runs 0: it is out of range; choose a number from 1 to"),
        (["--depth", "1000001"], "--depth 1000001: it is out of range; choose a number from 1 to 1000000"),
        (["--run", "-1"], "--run -1: it is out of range; choose a number from 0 to"),
        (["--pct", "0"], "--pct 0: it is out of range; choose a number from 1 to"),
        (["--pct-sort", "Node"], "add --pct, such as --pct 3"),
        (["--pct", "2", "--pct-sort", "Count"], "has a parameter of sort 'Count'"),
        (["--cores", "0"], "--cores"),
        (
            ["--budget", "1e6states"],
            "random runs store no states, so their number cannot be limited; limit the runs (--runs)",
        ),
        (["--scope", "huge"], "Counter has no scope 'huge'; it has: tiny, default"),
        (["--property", "grwn"], "grown"),
        (["--itf", "no/such/place.json"], "no/such/place.json: cannot be written: No such file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_arguments(holdfast: Run, argv: list[str], said: str) -> None:
    """A wrong argument ends with code 2 and one line that names it; nothing is printed."""
    ran = holdfast("walk", "counter.py", *argv)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


def test_an_interrupted_walk_says_how_far_it_came(folder: Path, pytestconfig: pytest.Config) -> None:
    """SIGINT ends the random runs with code 20 and no answer, and the figures so far are printed."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "holdfast", "walk", folder / "endless.py", "--runs", str(10**12), "--cores", "2"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=theirs, text=True, cwd=pytestconfig.rootpath
    ) as process:
        os.close(theirs)
        seen = b""
        # Runs are counted on a terminal only, and only once the kernel makes them.
        while b" runs, " not in seen:
            seen += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        while _read_some(ours):
            pass
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(ours)
    assert process.returncode == 20
    assert re.search(r"no answer \(interrupted\); nothing found in [\d,]+ of 1,000,000,000,000\s+runs", out)
    assert "grow" in out


def _read_some(terminal: int) -> bool:
    """Read some more output; False at the end."""
    try:
        return bool(os.read(terminal, 4096))
    except OSError:
        return False
