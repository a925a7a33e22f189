"""Malformed model files and arguments: never a traceback, always a documented exit code and a line with the reason."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from holdfast.ir.errors import MOST_TOLD
from tests.cli.running import CommandRun, Run
from tests.cli.samples import COUNTER

DOCUMENTED = {0, 2, 10, 11, 12, 20, 150}
"""The documented exit codes of a check; 1 would be an internal error."""

CASES = 200

WORDS = [
    *(
        "None",
        "True",
        "self",
        "Node",
        "Count",
        "Counter",
        "Model",
        "Map",
        "Sort",
        "Nat",
        "old",
        "n",
        "c",
        "value",
        "grow",
    ),
    *("action", "init", "invariant", "witness", "require", "all", "any", "bool", "int", "0", "7", "1.5", "2", "lambda"),
    *("yield", "await", "del", "while", "return", "not", "in", "is", "for", "if", "else", "class", "def", "pass"),
]
SIGNS = [
    *("(", ")", "[", "]", ":", ",", ".", "=", "==", ">", "-", " * ", "@", "'", '"', "\\", "#", "\0", "\t", "é", "…"),
    *(" and ", " or ", " not in ", " if ", " += ", " is ", ", *", "[0]", "()"),
]
ARGUMENTS = [
    *(
        "check",
        "new",
        "models",
        "chek",
        "counter.py",
        "counter.py:Counter",
        "counter.py:",
        ":",
        ".",
        "/",
        "..",
        "nothing",
    ),
    *(
        "",
        "-",
        "--",
        "---",
        "-x",
        "--scope",
        "--variant",
        "--without",
        "--property",
        "--expect",
        "--keep-going",
        "é",
        "\0",
    ),
    *(
        "--no-symmetry",
        "--symmetry=maybe",
        "--budget",
        "--json",
        "--itf",
        "--graph",
        "--help",
        "--version",
        "--json=no",
    ),
    *(
        "tiny",
        "default",
        "CT-01",
        "CT-01@grow",
        "@",
        "grown",
        "violated",
        "5states",
        "1s",
        "-1s",
        "1e999states",
        "9" * 40,
    ),
]
COMMANDS = [
    ["check", "counter.py", "--scope", "tiny", "--budget", "100states"],
    ["check", "counter.py", "--json", "--without", "CT-01", "--expect", "violated"],
    ["check", "counter.py:Counter", "--itf", "run.json", "--property", "grown", "--keep-going"],
    ["check", "counter.py", "--graph", "graph.dot", "--scope", "tiny", "--no-symmetry"],
    ["new", "mylock"],
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the model counter.py, and with a folder of models that is empty."""
    monkeypatch.chdir(tmp_path)
    Path("models").mkdir()
    Path("counter.py").write_text(COUNTER)
    return tmp_path


def judge(ran: CommandRun, most: int = 1) -> None:
    """Check the conditions that every result must satisfy. ``most``: how many errors it may tell, a line each."""
    assert ran.code in DOCUMENTED, ran
    assert "Traceback" not in ran.out + ran.err
    errors = [line for line in ran.err.splitlines() if line.startswith("holdfast: ")]
    assert len(errors) <= most, ran.err
    if ran.code in (2, 150):
        assert errors == ran.err.splitlines(), ran.err


@pytest.mark.parametrize("seed", range(CASES))
def test_malformed_models(holdfast: Run, seed: int) -> None:
    """A model file with some words replaced, lines moved or bytes broken is answered in a line for each error."""
    chance = random.Random(seed)
    path = Path(f"mutant_{seed}.py")
    path.write_bytes(mutant(COUNTER, chance))
    ran = holdfast("check", path, "--scope", "tiny", "--budget", "300states")
    judge(ran, most=MOST_TOLD + 1)
    errors = [line for line in ran.err.splitlines() if line.startswith("holdfast: ")]
    assert len(errors) <= 1 or all(re.match(rf"holdfast: {path}:\d+:\d+: ", line) for line in errors), ran.err


@pytest.mark.parametrize("seed", range(CASES))
def test_malformed_arguments(holdfast: Run, seed: int) -> None:
    """An argument list with arguments dropped, doubled, swapped, invented or misspelt is answered in one line."""
    chance = random.Random(seed)
    judge(holdfast(*misspelt(chance.choice(COMMANDS), chance)))


def test_the_unmutated_pass(holdfast: Run) -> None:
    """The unmutated inputs succeed, so the mutants are close to real input."""
    for command in COMMANDS:
        assert holdfast(*command).code in (0, 10), command


def mutant(source: str, chance: random.Random) -> bytes:
    """The source with one or two mutations."""
    for _ in range(chance.randint(1, 2)):
        lines = source.splitlines(keepends=True)
        at = chance.randrange(len(lines))
        match chance.randrange(12):
            case 0:
                del lines[at]
            case 1:
                lines.insert(chance.randrange(len(lines)), lines[at])
            case 2:
                lines[at] = lines[at].lstrip()
            case 3:
                lines = [*lines[:at], lines[at][: chance.randrange(len(lines[at]) + 1)]]
            case _:
                # Every other part is a word. A word mostly becomes another word, which keeps the syntax whole.
                parts = re.split(r"(\W+)", lines[at])
                part = chance.randrange(len(parts))
                part -= part % 2 if chance.random() < 0.7 else 0
                parts[part] = chance.choice(SIGNS if part % 2 else WORDS)
                lines[at] = "".join(parts)
        source = "".join(lines) or "\n"
    raw = source.encode()
    if chance.random() < 0.05:
        at = chance.randrange(len(raw))
        raw = raw[:at] + b"\xff\xfe" + raw[at:]
    return raw


def misspelt(command: list[str], chance: random.Random) -> list[str]:
    """The command with one to three mutations."""
    argv = list(command)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(argv)) if argv else 0
        match chance.randrange(5) if argv else 0:
            case 0:
                argv.insert(at, chance.choice(ARGUMENTS))
            case 1:
                del argv[at]
            case 2:
                argv[at] = chance.choice(ARGUMENTS)
            case 3:
                other = chance.randrange(len(argv))
                argv[at], argv[other] = argv[other], argv[at]
            case _:
                cut = chance.randrange(len(argv[at]) + 1)
                argv[at] = argv[at][:cut] + chance.choice(WORDS + SIGNS) + argv[at][cut + 1 :]
    return argv
