"""A rule deleted by hand from a copy of the model's text behaves like the same rule removed by its label."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from holdfast.check.budget import Budget
from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.compile import source as sources
from holdfast.ir.load import load_model, names_in
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System

FOLDER = Path(__file__).parents[2] / "models"

CHOSEN = [
    ("ownership", "ST-11"),
    ("ownership", "ST-13"),
    ("ownership", "ST-14"),
    ("ownership", "ST-21"),
    ("ownership", "ST-44.lift"),
    ("ownership", "CK-01.flag"),
    ("ownership", "CK-02.epoch_old"),
    ("ownership", "CK-02.node"),
    ("ownership", "CS-28"),
    ("ownership", "CS-29b"),
    ("ownership", "CL-07.sent"),
    ("stream_log", "ST-14"),
    ("stream_log", "PL-03"),
    ("stream_log", "PL-25"),
    ("stream_log", "WL-05"),
    ("wal", "FO-06.reserve_first"),
    ("wal", "FO-06.list_first"),
    ("wal", "WL-05.stored"),
    ("wal", "WL-05.in_order"),
    ("wal", "WL-05.verify"),
    ("wal", "WL-06.trimmed"),
    ("wal", "WL-08"),
    ("reassignment", "RA-03"),
    ("reassignment", "EL-12.tag"),
    ("reassignment", "RA-11"),
    ("reassignment", "ST-14"),
]
"""Rules whose removal soon violates a property: guards, conditions and effects, in the models and in their parts."""

LIMIT = Budget(states=5_000)
"""The limit of both searches, which stops both at the same state."""


def statement_end(lines: list[str], start: int) -> int:
    """The index of the line after the statement that begins at ``start``, which may span several lines."""
    depth = 0
    for position in range(start, len(lines)):
        depth += lines[position].count("(") - lines[position].count(")")
        if depth == 0:
            return position + 1
    raise AssertionError(f"no end of {lines[start]!r}")


def indent(line: str) -> int:
    """How far a line is indented."""
    return len(line) - len(line.lstrip())


def block_end(lines: list[str], start: int, depth: int) -> int:
    """The index of the line after the block that begins at ``start`` and is indented deeper than ``depth``."""
    end = start
    while end < len(lines) and (not lines[end].strip() or indent(lines[end]) > depth):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    return end


def without_rule(text: str, label: str) -> str | None:
    """The text without the line or block of a rule, or None if the text does not have the rule."""
    lines = text.splitlines()
    for start, line in enumerate(lines):
        if not re.match(r"\s*(require|if rule|elif rule)\(", line):
            continue
        end = statement_end(lines, start)
        if f'"{label}"' not in "".join(lines[start:end]):
            continue
        kept: list[str] = []
        if line.lstrip().startswith("elif"):
            end = block_end(lines, end, indent(line))
        elif line.lstrip().startswith("if"):
            end = block_end(lines, end, indent(line))
            margin, following = " " * indent(line), lines[end] if end < len(lines) else ""
            if following == f"{margin}else:":
                other = block_end(lines, end + 1, indent(line))
                kept, end = [each[4:] for each in lines[end + 1 : other]], other
            elif following.startswith(f"{margin}elif "):
                kept, end = [following.replace("elif", "if", 1)], end + 1
        if not kept and lines[start - 1].endswith(":") and indent(lines[end]) < indent(line):
            kept = [" " * indent(line) + "pass"]
        return "\n".join([*lines[:start], *kept, *lines[end:]]) + "\n"
    return None


def without_declarations(text: str) -> str:
    """The text without its declared outcomes of mutants: a declaration of a missing rule would be refused."""
    lines = text.splitlines()
    for start, line in enumerate(lines):
        if line.startswith("    mutants = outcomes("):
            return "\n".join([*lines[:start], *lines[statement_end(lines, start) :]]) + "\n"
    return text


def deleted(folder: Path, model: str, label: str) -> System:
    """A copy of the model, its parts and its bases in which the rule is deleted by hand.

    The rule may stand at several places, only one of which the model uses: the others are in helpers that the model
    overrides or never calls.
    """
    package = f"copy_of_{model}_{re.sub('[^a-z0-9]', '_', label.lower())}"
    edited = 0
    for path in sorted(FOLDER.rglob("*.py")):
        text = without_declarations(path.read_text(encoding="utf-8"))
        while path.stem in {model, *parts_of(model)} and (shorter := without_rule(text, label)) is not None:
            text, edited = shorter, edited + 1
        copy = folder / package / path.relative_to(FOLDER)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text.replace("from models.", f"from {package}."), encoding="utf-8")
    assert edited, f"{label} stands nowhere in {model}"
    return compile_model(load_model(str(folder / package / f"{model}.py")))


@cache
def parts_of(model: str) -> frozenset[str]:
    """The parts that a model imports, by the names of their files."""
    return frozenset(base.__module__.rpartition(".")[2] for base in load_model(str(FOLDER / f"{model}.py")).__mro__)


@cache
def original(model: str) -> System:
    """The model without changes."""
    return compile_model(load_model(str(FOLDER / f"{model}.py")))


def answer(system: System) -> tuple[object, ...]:
    """The answer of a search of tiny: the verdict, the number of states, and any violation with its shortest run."""
    result = search(system, system.scopes["tiny"], budget=LIMIT, engine="interpreter")
    runs = [(run.shown.name, [(step.action, step.args) for step in run.steps]) for run in result.findings]
    return result.verdict, result.figures.distinct, result.figures.depth, runs


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Forget the modules of the copies after a test."""
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith("copy_of_"):
            del sys.modules[name]
    sources._tree.cache_clear()


@pytest.mark.parametrize(("model", "label"), CHOSEN)
def test_a_deleted_rule_is_a_removed_rule(tmp_path: Path, model: str, label: str) -> None:
    """The copy without the line gives the same answer as the model without the label, and it is a violation."""
    found = answer(deleted(tmp_path, model, label))
    assert found == answer(remove_rules(original(model), (label,)))
    assert found[0] == "violated"


def test_another_rule_is_another_answer(tmp_path: Path) -> None:
    """The answers for two different rules differ."""
    found = answer(deleted(tmp_path, "ownership", "ST-14"))
    assert found != answer(remove_rules(original("ownership"), ("ST-21",)))


@pytest.mark.slow
@pytest.mark.parametrize("model", names_in(FOLDER))
def test_many_deleted_rules_are_removed_rules(tmp_path: Path, model: str) -> None:
    """The same holds for every sixth rule of all models, also for those whose removal is noticed late."""
    system = original(model)
    different = [
        rule.label
        for rule in system.rules[::6]
        if answer(deleted(tmp_path, model, rule.label)) != answer(remove_rules(system, (rule.label,)))
    ]
    assert different == []
