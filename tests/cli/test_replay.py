"""``holdfast replay``: repeating a run from the line that a failure printed."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.running import Run
from tests.cli.samples import COUNTER

BROKEN = COUNTER.replace("self.value[n] > Count(0) for n", "self.value[n] < Count(2) for n")
"""The counter with an invariant that growing violates."""

STUCK = COUNTER.replace(
    "    @invariant", '    @final\n    def unchanged(self) -> bool:\n        """Nothing has grown."""\n'
    "        return all(self.value[n] == Count(0) for n in Node)\n\n    @invariant",
).replace("import Map", "import final, Map")  # fmt: skip
"""A counter that stops at its greatest value; only its initial state is final."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a model that holds, one that does not, and one that deadlocks."""
    monkeypatch.chdir(tmp_path)
    Path("counter.py").write_text(COUNTER)
    Path("my broken.py").write_text(BROKEN)
    Path("stuck.py").write_text(STUCK.replace("require(c > self.value[n]", "require(c == self.value[n] + 1"))
    return tmp_path


def line_of(out: str) -> list[str]:
    """The arguments of the command with which an output says to repeat its run."""
    (line,) = re.findall(r"^replay: +holdfast (.*)$", out, re.MULTILINE)
    return shlex.split(line)


def shown(out: str) -> list[str]:
    """The printed run, without commands and figures of the engine that found it."""
    return [line for line in out.partition("\nreplay:")[0].splitlines() if not line.startswith("reproduce:")]


def changed(holdfast: Run, source: str) -> list[str]:
    """The arguments that replay the broken counter's run on another source; a process imports each file only once."""
    verb, line = line_of(holdfast("check", "my broken.py").out)
    Path("changed.py").write_text(source)
    return [verb, line.replace("my%20broken.py", "changed.py")]


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["check", "my broken.py"], 12),
        (["walk", "my broken.py", "--seed", 3], 12),
        (["check", "my broken.py", "--without", "CT-01", "--scope", "default", "--property", "CT-10"], 12),
        (["check", "stuck.py"], 11),
    ],
    ids=["check", "walk", "without", "deadlock"],
)
def test_a_failure_is_repeated(holdfast: Run, argv: list[object], code: int) -> None:
    """A failure's line shows the same run and ends with the same exit code, also on the second replay."""
    first = holdfast(*argv)
    again = holdfast(*line_of(first.out))

    assert (first.code, again.code, again.err) == (code, code, "")
    assert shown(again.out) == shown(first.out)
    assert holdfast(*line_of(again.out)) == again


def test_the_verdict_is_the_last_line(holdfast: Run) -> None:
    """The output ends with the verdict, as the output of a check does."""
    first = holdfast("check", "my broken.py", "--scope", "tiny")

    assert holdfast(*line_of(first.out)).out.splitlines()[-1] == first.out.splitlines()[-2]


def test_json_holds_the_line(holdfast: Run) -> None:
    """Each run in a JSON result has its line, runs to witnesses included."""
    record = json.loads(holdfast("check", "my broken.py", "--scope", "tiny", "--json").out)
    for run, code in ((record["findings"][0], 12), (record["witnesses"][0]["run"], 0)):
        first, *argv = shlex.split(run["replay"])
        assert first == "holdfast"
        assert holdfast(*argv).code == code


@pytest.mark.parametrize("what", ["line", "output", "argument"])
def test_standard_input(holdfast: Run, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """A dash reads a line from standard input, with or without its command, or a failing command's whole output."""
    out = holdfast("check", "my broken.py").out
    text = {"line": f"holdfast {shlex.join(line_of(out))}\n", "output": out, "argument": line_of(out)[1]}[what]
    monkeypatch.setattr("sys.stdin", io.StringIO(text))

    assert holdfast("replay", "-", "--model", "my broken.py") == holdfast(*line_of(out))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty; give a replay line"),
        ("a b\nc d\n", "holds 2 lines; give one"),
        ("counter.py\n", "the scope is missing"),
    ],
)
def test_standard_input_without_a_line(holdfast: Run, monkeypatch: pytest.MonkeyPatch, text: str, problem: str) -> None:
    """Standard input without exactly one line ends with 2, and names in it are not opened as files."""
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    ran = holdfast("replay", "-")

    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_changed_model(holdfast: Run) -> None:
    """For a fixed model the output says that it changed and that the run shows no violation, and the code is 0."""
    ran = holdfast(*changed(holdfast, COUNTER))

    assert ran.code == 0
    assert ran.out.splitlines()[-1] == "Counter, scope tiny: a run of 1 step, which does not show grown_is_positive"
    assert "the model has changed since the run was made: its fingerprint in scope tiny was" in ran.err


def test_a_run_that_is_no_longer_possible(holdfast: Run) -> None:
    """If the model no longer allows the run, the step and the rule are named, and the code is 20."""
    ran = holdfast(*changed(holdfast, BROKEN.replace("require(c > self.value[n]", "require(c < self.value[n]")))

    assert (ran.code, ran.out) == (20, "")
    assert ran.err.startswith("holdfast: the run is no longer possible: step 1, grow(n2,2), is refused by CT-01;")


def test_another_property_is_violated(holdfast: Run) -> None:
    """If a run violates another property than its claim, both are named; a run without a claim is checked too."""
    target, *rest = line_of(holdfast("check", "my broken.py", "--scope", "tiny").out)[1].split()
    for claim, said in (("grown:", " (and not grown)"), ("-:", "")):
        ran = holdfast("replay", " ".join([target, *rest]).replace("grown_is_positive:", claim))
        if claim == "-:":
            assert ran.code == 12
            assert ran.out.splitlines()[-1].endswith(f"violated after 1 step: grown_is_positive (CT-10){said}")
        else:
            # The run does reach the witness that it claims.
            assert (ran.code, ran.out.splitlines()[-1]) == (0, "Counter, scope tiny: reached after 1 step: grown")


def test_a_file_is_replayed(holdfast: Run) -> None:
    """An ITF file of ours replays like its line; with --model it is replayed on another model."""
    first = holdfast("check", "my broken.py", "--itf", "run.itf.json")
    again = holdfast("replay", "run.itf.json", "--model", "my broken.py")
    assert (again.code, shown(again.out)) == (12, shown(first.out))
    mended = holdfast("replay", "run.itf.json", "--model", "counter.py")
    assert (mended.code, mended.out.splitlines()[-1][:30]) == (0, "Counter, scope tiny: a run of ")


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        ([], "requires an argument"),
        (["counter.py"], "counter.py: contains no run"),
        (["nothing"], "there is no file 'nothing'; give an ITF file"),
        (["."], "is a folder; name a file in it"),
        (["counter.py tiny"], "the line, column 16: the fingerprint is missing"),
        (["nowhere tiny #0000000000000000 -:"], "there is no model 'nowhere'"),
        (["counter.py huge #0000000000000000 -:"], "Counter has no scope 'huge'"),
        (["counter.py tiny +x #0000000000000000 -:"], "x"),
        (["counter.py tiny -XX-1 #0000000000000000 -:"], "Counter has no rule 'XX-1'"),
        (["--modle"], "unknown option '--modle'"),
        (["--", "-x"], "unknown option '-x'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_arguments(holdfast: Run, argv: list[str], problem: str) -> None:
    """A wrong argument ends with code 2 and one line that names it; nothing is printed."""
    ran = holdfast("replay", *argv)

    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err
    assert len(ran.err.splitlines()) == 1
