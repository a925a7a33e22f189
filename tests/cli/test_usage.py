"""Wrong use of the command line gives one line that names the problem and the remedy."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import __version__
from holdfast.cli.app import VERBS
from tests.cli.running import Run
from tests.cli.samples import COUNTER


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with one small model, counter.py, and a file that is no model."""
    monkeypatch.chdir(tmp_path)
    Path("counter.py").write_text(COUNTER)
    Path("run.json").write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["chek"], 'unknown command "chek". Did you mean "check"?'),
        (["check"], "requires an argument"),
        (["check", "counter.py", "--scop", "tiny"], "unknown option: --scop. Did you mean --scope?"),
        (["check", "counter.py", "extra"], "unexpected argument 'extra'"),
        (["check", "counter.py", "--expect", "luck"], 'invalid value "luck" for --expect. Choose from:'),
        (["check", "counter.py", "--budget", "soon"], "budget 'soon': 'soon' is not a limit; write limits such as"),
        (["check", "counter.py", "--scope", "huge"], "Counter has no scope 'huge'; it has: tiny, default"),
        (["check", "counter.py", "--variant", "x"], "Counter has no variant 'x'; it has: none"),
        (["check", "counter.py", "--without", "CT-1"], "Counter has no rule 'CT-1'; did you mean CT-01?"),
        (["check", "counter.py", "--without", "CT-01@shrink"], "it serves: grow"),
        (["check", "counter.py", "--property", "grwn"], "grown"),
        (["check", "counter.py:Clock"], "counter.py has no model 'Clock'; it has: Counter"),
        (["check", "missing.py"], "there is no model file missing.py"),
        (["check", "./run.json"], "./run.json is no model: its name does not end in .py; give a path to a .py file"),
        (["check", "countr"], "there is no model 'countr'"),
        (["check", "counter.py", "--itf", "no/such/place.json"], "no/such/place.json: cannot be written: No such file"),
        (["check", "counter.py", "--itf", "."], ".: cannot be written: Is a directory"),
        (["check", "counter.py", "--graph", "graph.png"], "graph.png: the suffix names no format for graphs"),
        (["new"], "requires an argument"),
        (["verify", "everything"], "unexpected argument 'everything'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_arguments(holdfast: Run, folder: Path, argv: list[str], said: str) -> None:
    """A wrong argument ends with code 2 and one line that names it; nothing is printed or written."""
    before = set(folder.iterdir())
    ran = holdfast(*argv)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("holdfast: ")
    assert ran.err.count("\n") == 1
    assert said in ran.err
    assert {path for path in folder.iterdir() if path.name != "__pycache__"} == before


def test_a_verb_starts_without_the_others() -> None:
    """The command imports the verb that is called, and no other."""
    shown = "print([verb for verb in VERBS if 'holdfast.cli.' + verb in sys.modules])"
    code = f"import sys; from holdfast.cli.app import VERBS, main; main(['models']); {shown}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "['models']"


def test_the_help_says_what_each_verb_does(holdfast: Run) -> None:
    """The help of the command has a row for each verb, with a sentence, also for verbs of other packages."""
    shown = holdfast("--help").out
    for verb in (*VERBS, "campaign", "cluster", "scenario", "simulate"):
        assert re.search(rf"^│ {verb} +[A-Z]", shown, re.MULTILINE), verb


def test_the_help_needs_no_extra() -> None:
    """If the module of a verb cannot be imported, the help has its name, and the sentences of the others."""
    code = "import sys; sys.modules['impl.cli.simulate'] = None; from holdfast.cli.app import main; main(['--help'])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.search(r"^│ simulate +│$", ran.stdout, re.MULTILINE)
    assert re.search(r"^│ campaign +[A-Z]", ran.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("self.value[n] = c", "while True: pass", "bad.py:29:9: "),
        ("c > self.value[n]", "n > self.value[n]", "bad.py:28:"),
        ("self.value[n] = c", "self.value[n] = (", "bad.py:29:"),
        ("class Node(Sort): ...", "class Node(Sort): ...\nimport no_such_module", "ModuleNotFoundError"),
        ("class Node(Sort): ...", "class Node(Sort): ...\nraise SystemExit(0)", "SystemExit"),
    ],
    ids=["unsupported construct", "type error", "syntax error", "import error", "an end of the program"],
)
def test_a_model_outside_the_language(holdfast: Run, old: str, new: str, said: str) -> None:
    """A model that cannot be compiled ends with code 150 and one line with file, line and column."""
    Path("bad.py").write_text(COUNTER.replace(old, new))
    ran = holdfast("check", "bad.py")
    assert (ran.code, ran.out) == (150, "")
    assert ran.err.startswith("holdfast: bad.py:")
    assert ran.err.count("\n") == 1
    assert said in ran.err


def test_a_model_nested_too_deeply(holdfast: Run) -> None:
    """An expression beyond the depth that Python can follow ends with code 150 and one line."""
    Path("deep.py").write_text(COUNTER.replace("c > self.value[n]", "not " * 900 + "c > self.value[n]"))
    ran = holdfast("check", "deep.py")
    assert (ran.code, ran.out, ran.err.count("\n")) == (150, "", 1)
    assert "nested too deeply" in ran.err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("any(self.value[n] == Count(2) for n in Node)", "all(self.value[n] > Count(3) for n in Node)", "grown"),
        ("if self.value[n] > Count(1))", "if self.value[n] > Count(3))", "grown_is_positive"),
    ],
    ids=["unreachable witness", "vacuous invariant"],
)
def test_a_model_that_says_nothing(holdfast: Run, old: str, new: str, said: str) -> None:
    """A witness that is never reached, and an invariant that never applies, end with code 10 and are named."""
    Path("hollow.py").write_text(COUNTER.replace(old, new))
    ran = holdfast("check", "hollow.py", "--scope", "default")
    assert ran.code == 10
    assert said in ran.out


def test_version(holdfast: Run) -> None:
    """``--version`` prints the version and ends 0."""
    assert holdfast("--version").out.strip() == __version__


@pytest.mark.parametrize("argv", [["--help"], ["check", "--help"], []])
def test_help(holdfast: Run, argv: list[str]) -> None:
    """--help, or no verb at all, ends 0 and shows the usage."""
    ran = holdfast(*argv)
    assert ran.code == 0
    assert "Usage: holdfast" in ran.out


def test_a_fault_of_ours_is_one_line(holdfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """An internal error ends 1 with one line that asks for a report; the traceback is shown only on request."""

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("out of luck")

    monkeypatch.setattr("holdfast.cli.check.load_variant", fail)
    ran = holdfast("check", "counter.py")
    assert ran.code == 1
    assert ran.err.splitlines() == [
        "holdfast: internal error: ZeroDivisionError: out of luck; please report it (HOLDFAST_DEBUG=1 shows where)"
    ]
    monkeypatch.setenv("HOLDFAST_DEBUG", "1")
    assert "Traceback" in holdfast("check", "counter.py").err
