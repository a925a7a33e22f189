"""Names of Z3's symbols: each names one thing, and only one file makes them."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
import z3

from holdfast.lower.smt.solve import Printer, ask
from holdfast.lower.smt.symbols import Symbol, Symbols

FOLDER = Path(__file__).parents[2] / "holdfast"

MAKES = re.compile(
    r"z3\.(Const|Function|DeclareSort|EnumSort|Bools?|Ints?|BitVecs?|Fresh\w+|Datatype|DeclareTypeVar)\("
)
"""The Z3 calls that take a name."""

PARTS = ("self", "clock", "clock@1", "clock[0]", "a.b", "a", "b", "max", "one", "1", "", "é", "!e9!")


def test_different_things_have_different_names() -> None:
    """Two different symbols never have the same name, whatever names the model uses."""
    symbols = [
        Symbol(role, parts, mark, index)
        for role in ("field", "some", "argument", "best")
        for parts in [*((part,) for part in PARTS), *itertools.product(PARTS, repeat=2)]
        for mark in ("", "1", "start")
        for index in ((), (0,), (0, 1))
    ]
    assert len({str(symbol) for symbol in symbols}) == len(symbols)


def test_a_symbol_has_one_sort() -> None:
    """A request for a known name with another sort is refused: formulas would confuse two things."""
    ctx = z3.Context()
    symbols, here = Symbols(ctx), Symbol("field", ("clock",))
    symbols.constant(here, z3.IntSort(ctx))
    symbols.constant(here, z3.IntSort(ctx))
    with pytest.raises(AssertionError, match="two sorts"):
        symbols.constant(here, z3.BoolSort(ctx))


def test_a_name_that_is_no_ascii_survives_the_text_of_a_question() -> None:
    """Two fields whose names differ in an accent remain different after a round trip through SMT-LIB."""
    ctx = z3.Context()
    symbols = Symbols(ctx)
    one, two = (symbols.constant(Symbol("field", (name,)), z3.BoolSort(ctx)) for name in ("é", "è"))
    assert isinstance(one, z3.BoolRef)
    assert isinstance(two, z3.BoolRef)
    assert ask(Printer({}).question([one, z3.Not(two)], {}), 5.0).verdict == "sat"


def test_only_the_table_names_symbols() -> None:
    """No other file of the package names a Z3 symbol."""
    makers = {path.name for path in FOLDER.rglob("*.py") if MAKES.search(path.read_text(encoding="utf-8"))}
    assert makers == {"symbols.py"}
