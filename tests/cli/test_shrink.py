"""``holdfast shrink``: its results for lines and files, and the input that it refuses."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.running import Run
from tests.cli.samples import COUNTER

BROKEN = COUNTER.replace("self.value[n] > Count(0) for n", "self.value[n] < Count(2) for n")
BROKEN = BROKEN.replace("require(c > self.value[n]", "require(c == self.value[n] + 1")
"""The counter with an invariant that growing twice violates."""

STEPS = "grow(n2,1) grow(n1,1) grow(n2,2)"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a model that holds, counter.py, and one that does not, broken.py."""
    monkeypatch.chdir(tmp_path)
    Path("counter.py").write_text(COUNTER)
    Path("broken.py").write_text(BROKEN)
    return tmp_path


@pytest.fixture
def line(holdfast: Run) -> str:
    """A line with a run to the violation, and one step that the violation does not need."""
    shown = holdfast("check", "broken.py", "--scope", "tiny").out
    (printed,) = re.findall(r"^replay: +holdfast replay '(.*)'$", shown, re.MULTILINE)
    head, _, _ = printed.partition(": ")
    return f"{head}: {STEPS}"


def test_a_line_is_shrunk(holdfast: Run, line: str) -> None:
    """The shrunk run is shown with its own line and the number of removed steps; the code is 0."""
    ran = holdfast("shrink", line)
    assert (ran.code, ran.err) == (0, "")
    assert "Shrunk from 3 to 2 steps; " in ran.out
    assert ran.out.endswith("No run in this scope shows grown_is_positive in fewer steps.\n")

    (command,) = re.findall(r"^replay: +(.*)$", ran.out, re.MULTILINE)
    assert command.endswith("grown_is_positive: grow(n1,1) grow(n1,2)'")
    assert "reproduce:" not in ran.out
    assert holdfast(*shlex.split(command)[1:]).code == 12


def test_a_file_is_shrunk_and_written(holdfast: Run, line: str) -> None:
    """A random run's file is shrunk like its line, and --itf writes the result, which cannot be shrunk further."""
    drawn = holdfast("walk", "broken.py", "--scope", "tiny", "--seed", 1, "--no-shrink", "--itf", "raw.itf.json")
    assert drawn.code == 12
    ran = holdfast("shrink", "raw.itf.json", "--itf", "small.itf.json", "--model", "broken.py")
    again = holdfast("shrink", "small.itf.json", "--model", "broken.py")

    assert ran.code == again.code == 0
    assert holdfast("shrink", line).out.partition("Shrunk")[0] == again.out.partition("No step")[0]
    assert "No step could be left out of 2; " in again.out


def test_what_must_stay_can_be_named(holdfast: Run, line: str) -> None:
    """With --property the run is shrunk to a run that reaches that witness."""
    ran = holdfast("shrink", line, "--property", "grown")
    assert ran.code == 0
    assert ran.out.startswith("grown: reached after 2 steps\n")


def test_another_model_can_replay_it(holdfast: Run, line: str) -> None:
    """With --model the run is shrunk on that model, where it must show the same claim."""
    ran = holdfast("shrink", line, "--model", "counter.py", "--property", "grown")
    assert (ran.code, "replay:    holdfast replay 'counter.py tiny " in ran.out) == (0, True)
    assert "the model has changed" in ran.err


def test_json_is_all_there_is(holdfast: Run, line: str) -> None:
    """With --json, standard output holds one record: the run, and the figures of shrinking."""
    ran = holdfast("shrink", line, "--json")
    record = json.loads(ran.out)
    assert record["shrunk"] | {"tried": 0} == {"from": 3, "tried": 0, "shortest": True, "interrupted": False}
    assert [step["action"] for step in record["run"]["steps"]] == ["init", "grow", "grow"]
    assert record["run"]["command"] is None


def test_a_small_budget_is_told(holdfast: Run, line: str) -> None:
    """After the last try the shortest run so far is shown, without a claim about shorter runs."""
    ran = holdfast("shrink", line, "--budget", 1)
    assert ran.code == 0
    assert "1 candidate tried.\nA shorter run may exist; try more candidates with --budget." in ran.out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--budget", "0"], "--budget"),
        (["--property", "grwn"], "did you mean grown"),
        (["--itf", "no/such/place.json"], "no/such/place.json: cannot be written"),
        (["--model", "nothing.py"], "there is no model file nothing.py"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_arguments(holdfast: Run, line: str, argv: list[str], said: str) -> None:
    """A wrong argument ends with code 2 and one line that names it; nothing is printed."""
    ran = holdfast("shrink", line, *argv)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert said in ran.err


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        (b"", "empty"),
        (b"\x00\xff\x01", "run.itf.json"),
        (b'{"vars": ["n"], "states": [{"n": 1', "run.itf.json"),
        (b'{"vars": ["n"], "states": [{"n": 1}, {"n": 2}]}', "name one with --model"),
    ],
)
def test_files_that_cannot_be_shrunk(holdfast: Run, contents: bytes, said: str) -> None:
    """An empty, binary or truncated file, and one without a model behind it, end with code 2 and one line."""
    Path("run.itf.json").write_bytes(contents)
    ran = holdfast("shrink", "run.itf.json")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert said in ran.err


def test_a_run_that_violates_nothing(holdfast: Run, line: str) -> None:
    """If the run's end violates nothing, the error names the remedy."""
    ran = holdfast("shrink", line.removesuffix(" grow(n2,2)"))
    assert (ran.code, ran.out) == (2, "")
    assert "violates nothing at its end; name what it must still show with --property" in ran.err
