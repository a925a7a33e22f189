"""TLA+ text: brackets only where they are needed, and aligned lists."""

from __future__ import annotations

import pytest

from holdfast.ir.expr import (
    And,
    Arithmetic,
    Compare,
    Expr,
    IfElse,
    Implies,
    IsNone,
    Lit,
    Name,
    Not,
    Or,
    Quantified,
    Unwrap,
)
from holdfast.ir.types import BOOL, INT, NatType, OptionalType, SortType
from holdfast.lower.tla.conjuncts import Conjuncts
from holdfast.lower.tla.expression_text import Globals, TlaExpressions
from holdfast.lower.tla.names import TlaNames, camel, identifier
from holdfast.lower.tla.text import (
    JOINED,
    Text,
    bracketed,
    bulleted,
    choice,
    commented,
    equation,
    hang,
    implication,
    junction,
    paragraph,
    word,
)

NODE, EPOCH = SortType("Node"), NatType("Epoch")
A, B, C = (Name(name, BOOL) for name in "abc")
X, Y, Z = Name("x", OptionalType(EPOCH)), Name("y", EPOCH), Name("z", OptionalType(EPOCH))
THREE = Lit(3, INT)


def written(expr: Expr) -> str:
    """The text of an expression, on one line or more."""
    module = Globals(TlaNames())
    module.domains = {"Node": "Node", "Epoch": "Epoch"}
    return "\n".join(TlaExpressions(module).expr(expr).lines)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (And((A, Or((B, C)))), r"a /\ (b \/ c)"),
        (Or((And((A, B)), C)), r"(a /\ b) \/ c"),
        (Implies(And((A, B)), C), r"a /\ b => c"),
        (Implies(Implies(A, B), C), r"(a => b) => c"),
        (Implies(A, Implies(B, C)), r"a => (b => c)"),
        (And((A, Quantified("any", "n", NODE, B))), r"a /\ (\E n \in Node : b)"),
        (Not(And((A, B))), r"~(a /\ b)"),
        (Compare("==", Compare("==", A, B), C), "(a = b) = c"),
        (Quantified("all", "n", NODE, Quantified("all", "m", NODE, A)), r"\A n \in Node, m \in Node : a"),
        (Quantified("all", "n", NODE, Quantified("any", "m", NODE, A)), r"\A n \in Node : \E m \in Node : a"),
        (And((Not(IsNone(X)), Compare("==", Unwrap(X, EPOCH), Y))), "x = y"),
        (And((Not(IsNone(X)), Compare("<", Unwrap(X, EPOCH), Y))), r"x # Nil /\ x < y"),
        (And((Not(IsNone(X)), Compare("!=", Unwrap(X, EPOCH), Y))), r"x # Nil /\ x # y"),
        (
            And((Not(IsNone(X)), Not(IsNone(Z)), Compare("==", Unwrap(X, EPOCH), Unwrap(Z, EPOCH)))),
            r"x # Nil /\ z # Nil /\ x = z",
        ),
        (
            And((Not(IsNone(X)), Compare("<", Unwrap(X, EPOCH), THREE), Compare("==", Unwrap(X, EPOCH), Y))),
            r"x # Nil /\ x < 3 /\ x = y",
        ),
        (Compare(">=", Lit(-2, INT), THREE), "-2 >= 3"),
        (Lit("IDLE", EPOCH), '"IDLE"'),
    ],
)
def test_brackets_stand_where_they_are_needed(expr: Expr, text: str) -> None:
    """An operand that binds less tightly is in brackets. A test for None is left out if an equality implies it."""
    assert written(expr) == text


def test_a_long_conjunction_becomes_a_list() -> None:
    """A conjunction that is longer than a line is a list with one bullet for each part."""
    parts = [word("first" * 8), bulleted("\\/", [word("second" * 8), word("third" * 8)])]
    assert junction("/\\", parts).lines == (
        f"/\\ {'first' * 8}",
        f"/\\ \\/ {'second' * 8}",
        f"   \\/ {'third' * 8}",
    )


def test_a_list_goes_on_behind_the_last_line_of_a_part() -> None:
    """What follows a part of several lines stands behind its last line, and the lines before it stay."""
    either = IfElse(Name("long" * 15, BOOL), Y, Name("other" * 10, EPOCH), EPOCH)
    assert written(Arithmetic("min", (either, THREE), INT)) == (
        f"Least({{IF {'long' * 15}\n       THEN y\n       ELSE {'other' * 10}, 3}}, 0)"
    )


def test_lines_move_together() -> None:
    """A text of several lines is indented as a whole, so that its bullets stay aligned."""
    text = bracketed(bulleted("/\\", [word("a"), word("b")]), JOINED)
    assert text.lines == ("(/\\ a", " /\\ b)")
    assert hang("x = ", text).lines == ("x = (/\\ a", "     /\\ b)")


def test_nothing_follows_a_comment_on_its_line() -> None:
    """After a comment at the end of a line, a closing bracket and a choice of several lines start a new line."""
    noted = commented(word("a = b"), "ST-12")
    assert hang("(", noted, ")").lines == (r"(a = b  \* ST-12", " )")
    assert choice(word("t"), noted, word("c")).lines == ("IF t", r"THEN a = b  \* ST-12", "ELSE c")


def test_an_equation_keeps_its_right_side_together() -> None:
    """`v' = a => b` would be an implication: operands that bind less tightly than `=` are in brackets."""
    assert equation("v'", implication(word("a"), word("b"))).lines == ("v' = (a => b)",)
    assert equation("v'", junction("/\\", [word("a"), word("b")])).lines == ("v' = (a /\\ b)",)
    assert equation("v'", choice(word("a"), word("b"), word("c"))).lines == ("v' = IF a THEN b ELSE c",)


def test_an_else_if_stands_below_its_if() -> None:
    """A chain of choices is not indented further with each `else if`."""
    inner = Text(("IF b", "THEN y", "ELSE z"), 0)
    assert choice(word("a" * 70), word("x"), inner).lines == (
        f"IF {'a' * 70}",
        "THEN x",
        "ELSE IF b",
        "THEN y",
        "ELSE z",
    )


def test_comments_are_ascii() -> None:
    """TLA+ tools read ASCII: common signs are replaced, and others are shown by number."""
    assert paragraph("A → B ≥ C… 図") == [r"\* A -> B >= C... \u56f3"]


def test_items_of_a_list_stay_apart() -> None:
    """In a comment, list items stay on separate lines, and paragraphs stay apart."""
    assert paragraph("A list:\n- one\n  item\n- another\n\nand more\ntext") == [
        r"\* A list:",
        r"\* - one item",
        r"\* - another",
        r"\*",
        r"\* and more text",
    ]


def test_names_are_free() -> None:
    """No name is a name of TLA+, of its modules, or of another thing. Odd letters and prefixes are written out."""
    names = TlaNames()
    assert [names.take(name) for name in ("s", "s", "Nat", "IF", "Next")] == ["s", "s_2", "Nat_2", "IF_2", "Next_2"]
    assert (identifier("é"), identifier("_"), identifier("WF_x")) == ("ue9", "x_", "xWF_x")
    assert (camel("send_close"), camel("_"), camel("openIt")) == ("SendClose", "_", "OpenIt")


def test_a_function_with_new_values_stands_on_a_line_that_it_fills() -> None:
    """Two new values share a line that they fill exactly. With one letter more each has its own line."""
    module = Globals(TlaNames())
    conjuncts = Conjuncts(TlaExpressions(module), [])
    changes = [((Name("n", NODE),), B), ((Name("m", NODE),), C)]
    fits, beyond = (conjuncts.updated("f" * length, changes).lines for length in (37, 38))
    assert fits == (f"[{'f' * 37} EXCEPT ![n] = b, ![m] = c]",)
    assert beyond == (f"[{'f' * 38} EXCEPT ![n] = b,", f"{' ' * 47}![m] = c]")


def test_a_list_keeps_all_lines_of_its_parts() -> None:
    """A part of several lines keeps all of them, and the next part follows its last line."""
    long = Or(tuple(Name(f"condition_{number}_that_has_a_long_name", BOOL) for number in range(6)))
    module = Globals(TlaNames())
    writer = TlaExpressions(module)
    *before, last = writer.expr(long).lines
    assert before
    assert list(writer.listed([long, A, B]).lines) == [*before, f"{last}, a, b"]
