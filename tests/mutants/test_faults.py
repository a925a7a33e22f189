"""The faults that a source can have, how a sample is drawn, and that each edit makes the fault it names."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from mutants.declarations import declared
from mutants.draw import draw, draw_from
from mutants.faults import faults, faults_of

ROOT = Path(__file__).parents[2]


def changes(source: str) -> list[str]:
    """The original and the replacement of each fault of a source."""
    return [fault.change for fault in faults("holdfast/ir/a.py", dedent(source))]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = f(a < b)", ["a < b -> (a >= b)", "a < b -> (a <= b)"]),
        ("x = a and b", ["a and b -> a", "a and b -> a or b", "a and b -> b"]),
        ("x = not a", ["not a -> a"]),
        ("x = a + b", ["a + b -> a", "a + b -> a - b"]),
        ("x = 3", ["3 -> 2", "3 -> 4"]),
        ("x = 101", []),
        ("x = True", ["True -> False"]),
        ("x = any(a)", ["any -> all"]),
        ("x = [a, b]", ["[a, b] -> [a]", "[a, b] -> [b]"]),
        ("x = {a: b, c: d}", ["{a: b, c: d} -> {a: b}", "{a: b, c: d} -> {c: d}"]),
        ("x = [a for a in b if a]", ["[a for a in b if a] -> [a for a in b]"]),
        ("def f():\n    return a", ["return a -> return None"]),
        ("a.b = c", ["a.b = c -> pass"]),
        ("a |= b", ["a |= b -> a &= b", "a |= b -> a = b", "a |= b -> pass"]),
        ("if a:\n    b", ["a -> False", "a -> not a"]),
        ("match a:\n    case 'b':\n        c", ["'b' -> 'b' if False"]),
        ("for a in b:\n    continue", ["continue -> break", "continue -> pass"]),
        ("x = f('and')", ["'and' -> 'or'"]),
    ],
)
def test_each_kind_of_fault(source: str, expected: list[str]) -> None:
    """Each kind of construct has these faults, and no others."""
    assert sorted(changes(source)) == sorted(expected)


@pytest.mark.parametrize(
    "source",
    [
        '"""A text."""',
        "from a import b",
        "assert a < 1",
        "raise ValueError(1)",
        "x: int | None",
        "def f(a: int | None) -> str | int: ...",
        "x = f'{a + 1}'",
        "def __repr__(self):\n    return 1 + 1",
        "if TYPE_CHECKING:\n    x = 1",
        "Name = Callable[[int, str], int | None]",
        "x = zip(a, b, strict=True)",
        "x = UsageError(1 + 1)",
        "match a:\n    case _:\n        pass",
    ],
)
def test_what_has_no_fault(source: str) -> None:
    """Strings, types, assertions and messages have no faults."""
    assert changes(source) == []


@pytest.mark.parametrize(
    ("source", "old", "new", "meant"),
    [
        ("x = (a < b) + c + d", "(a < b) + c", "a < b", "x = (a < b) + d"),
        ("x = a * b * c", "a * b", "a + b", "x = (a + b) * c"),
        ("x = q or (a if b else c) and d", "(a if b else c) and d", "a if b else c", "x = q or (a if b else c)"),
        ("x = y and (a or b)", "a or b", "a and b", "x = y and (a and b)"),
    ],
)
def test_a_fault_keeps_the_structure_around_it(source: str, old: str, new: str, meant: str) -> None:
    """The replacement of a part of an expression remains one operand, whatever binds more tightly around it."""
    (fault,) = (
        fault for fault in faults("a.py", source) if (fault.before, fault.after) in [(old, new), (old, f"({new})")]
    )
    assert ast.dump(ast.parse(fault.planted(source.encode()))) == ast.dump(ast.parse(meant))


def test_every_fault_of_a_file_can_be_planted() -> None:
    """Every fault of a long engine file is an edit that Python accepts and that changes the program."""
    path = ROOT / "holdfast" / "lower" / "python" / "expression_text.py"
    source = path.read_bytes()
    found = faults("holdfast/lower/python/expression_text.py", source.decode())
    sound = ast.dump(ast.parse(source))
    assert len(found) > 100
    assert all(ast.dump(ast.parse(fault.planted(source))) != sound for fault in found[::7])


def test_a_changed_file_is_not_edited() -> None:
    """A fault is not planted in a file whose text has changed since the fault was found."""
    (fault, *_) = faults("a.py", "x = 1")
    with pytest.raises(RuntimeError, match=r"a\.py: byte 4: expected '1'; the file was changed"):
        fault.planted(b"x = 2")


def test_one_seed_draws_one_sample(toy: Path) -> None:
    """Equal seeds draw equal samples, with equally many faults in each folder. Another seed draws another sample."""
    assert draw(toy, 1, 6) == draw(toy, 1, 6)
    assert draw(toy, 1, 6) != draw(toy, 2, 6)
    assert sorted(fault.folder for fault in draw(toy, 1, 4)) == ["check", "ir", "lower", "runs"]


def test_a_line_has_one_fault(toy: Path) -> None:
    """A sample has at most one fault a line, so it is never larger than the number of lines."""
    drawn = draw_from(faults_of(toy, "holdfast/lower"), "1", 100)
    assert sorted(fault.lines[0] for fault in drawn) == [5, 6, 7, 8, 9]


def test_declared_faults_exist() -> None:
    """Each declared fault that changes no result is a fault of the engine, and has a reason."""
    known = declared()
    files = {identity[0] for identity in known}
    found = {fault.identity for file in files for fault in faults(file, (ROOT / file).read_text(encoding="utf-8"))}
    assert [identity for identity in known if identity not in found] == []
    assert all(known.values())
