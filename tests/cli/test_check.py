"""``holdfast check``: its output, files and exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import itf_py
import pytest

from tests.cli.running import Run
from tests.cli.samples import COUNTER

BROKEN = COUNTER.replace("self.value[n] > Count(0) for n", "self.value[n] < Count(2) for n")
"""The counter with an invariant that growing violates."""

LAST = COUNTER.replace(
    "all(self.value[n] > Count(0) for n in Node if self.value[n] > Count(1))",
    "any(self.value[n] < Count(2) for n in Node)",
)
"""The counter with an invariant that is violated only in the last state of scope tiny."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a model that holds, counter.py, and one that does not, broken.py."""
    monkeypatch.chdir(tmp_path)
    Path("counter.py").write_text(COUNTER)
    Path("broken.py").write_text(BROKEN)
    return tmp_path


def test_two_scopes_are_searched(holdfast: Run) -> None:
    """Without --scope, tiny and then default are searched, and both results are printed."""
    ran = holdfast("check", "counter.py")
    assert ran.code == 0
    assert ran.out.index("Counter, scope tiny: exhausted") < ran.out.index("Counter, scope default: exhausted")


def test_one_scope_is_searched(holdfast: Run) -> None:
    """With --scope, that scope alone is searched."""
    out = holdfast("check", "counter.py", "--scope", "default").out
    assert "scope default" in out
    assert "scope tiny" not in out


def test_a_violation_ends_the_search(holdfast: Run) -> None:
    """A violation in tiny is shown with its run and ends 12; the larger scope is not searched."""
    ran = holdfast("check", "broken.py")
    assert ran.code == 12
    assert "grown_is_positive: violated after 1 step" in ran.out
    assert "Counter, scope default" not in ran.out
    assert "Not searched: scope default." in ran.out


def test_keep_going_searches_every_scope(holdfast: Run) -> None:
    """With --keep-going, default is searched even after a violation in tiny, and the code stays 12."""
    ran = holdfast("check", "broken.py", "--keep-going")
    assert ran.code == 12
    assert "Counter, scope tiny: violated" in ran.out
    assert "Counter, scope default: violated" in ran.out


@pytest.mark.parametrize("model", ["counter.py", "broken.py"])
def test_the_output_is_the_same_again(holdfast: Run, model: str) -> None:
    """Two runs print the same bytes; times go to standard error only."""
    first = holdfast("check", model)
    assert holdfast("check", model).out == first.out
    assert " a second" in first.err
    assert " a second" not in first.out


def test_hash_order_changes_nothing(folder: Path, pytestconfig: pytest.Config) -> None:
    """The output does not depend on PYTHONHASHSEED."""

    def run(seed: str) -> bytes:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-m", "holdfast", "check", folder / "broken.py", "--keep-going"]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False, cwd=pytestconfig.rootpath)
        return done.stdout

    assert run("1") == run("2") != b""


@pytest.mark.parametrize("source", [BROKEN, LAST], ids=["at the first step", "in the last state"])
def test_symmetry_changes_no_run(holdfast: Run, source: str) -> None:
    """A violation reads the same, byte for byte, with and without symmetry."""
    Path("model.py").write_text(source)
    with_symmetry = holdfast("check", "model.py")
    assert with_symmetry.code == 12
    assert with_symmetry.out == holdfast("check", "model.py", "--no-symmetry").out


def test_symmetry_is_a_choice(holdfast: Run) -> None:
    """Without symmetry, states that differ in names count separately: nine, not six, for two counters up to two."""

    def states(*options: str) -> int:
        out = holdfast("check", "counter.py", "--scope", "tiny", "--json", *options).out
        return int(json.loads(out)["figures"]["distinct"])

    assert (states(), states("--no-symmetry")) == (6, 9)


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
    """An expected violation is a success; if it does not occur, the check fails."""
    ran = holdfast("check", model, "--expect", expect)
    assert ran.code == code
    assert ("A violation was expected, and nothing is violated." in ran.out) == (code == 10)


def test_an_unanswered_expectation_stays_unanswered(holdfast: Run) -> None:
    """If a limit ends the search before the expected violation, the question is open: code 20, not 10."""
    assert holdfast("check", "counter.py", "--expect", "violated", "--budget", "2states").code == 20


def test_a_budget_ends_the_search(holdfast: Run) -> None:
    """A search that exceeds a limit ends with code 20, names the limit, and starts no larger scope."""
    ran = holdfast("check", "counter.py", "--budget", "2states")
    assert ran.code == 20
    assert "no answer (states: more than 2)" in ran.out
    assert "Counter, scope default" not in ran.out
    assert "Not searched: scope default." in ran.out


def test_a_rule_can_be_removed(holdfast: Run) -> None:
    """--without takes a label, or a label in one action, and the result names what was removed."""
    for rule in ("CT-01", "CT-01@grow"):
        ran = holdfast("check", "counter.py", "--scope", "tiny", "--without", rule)
        assert ran.code == 0
        assert f"without {rule}" in ran.out


def test_json_is_all_there_is(holdfast: Run) -> None:
    """With --json standard output holds one JSON record for each scope and nothing else."""
    ran = holdfast("check", "counter.py", "--json")
    records = [json.loads(line) for line in ran.out.splitlines()]
    assert [(record["scope"], record["verdict"], record["exit_code"]) for record in records] == [
        ("tiny", "exhausted", 0),
        ("default", "exhausted", 0),
    ]
    assert ran.err == ""


def test_a_run_is_written_as_itf(holdfast: Run) -> None:
    """--itf writes the violating run, and itf-py reads as many states as the run has."""
    assert holdfast("check", "broken.py", "--itf", "run.itf.json").code == 12
    trace = itf_py.trace_from_json(json.loads(Path("run.itf.json").read_text()))
    assert len(trace.states) == 2


def test_no_violation_writes_no_itf(holdfast: Run) -> None:
    """Without a violation no run is written, and standard error says so."""
    ran = holdfast("check", "counter.py", "--itf", "run.itf.json")
    assert ran.code == 0
    assert "nothing is violated, so run.itf.json is not written" in ran.err
    assert not Path("run.itf.json").exists()


@pytest.mark.parametrize(("name", "begins"), [("graph.dot", "digraph"), ("graph.graphml", "<graphml")])
def test_the_state_graph_is_written(holdfast: Run, name: str, begins: str) -> None:
    """--graph writes the states of the first scope in the format that the suffix names."""
    assert holdfast("check", "counter.py", "--graph", name).code == 0
    assert Path(name).read_text().startswith(begins)


def test_models_are_listed(holdfast: Run) -> None:
    """``holdfast models`` also lists the models/ folder of the working directory, with scopes and variants."""
    Path("models").mkdir()
    Path("models/counter.py").write_text(COUNTER)
    ran = holdfast("models")
    assert ran.code == 0
    row = next(line for line in ran.out.splitlines() if line.startswith("counter"))
    assert re.split(r"\s{2,}", row)[1:3] == ["Counters that only grow.", "tiny, default"]
