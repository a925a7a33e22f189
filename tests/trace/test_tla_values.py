"""Values as TLC prints them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ir.errors import UsageError
from holdfast.trace.itf_values import Fun, Listing, Opaque, Rec, SetOf, Tree, Tup, key, show
from holdfast.trace.tla_values import parse_value

NAMES = st.sampled_from(["a", "n1", "None", "long_name", "x_1"])


TEXTS = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=5)
PLAIN = st.booleans() | st.integers() | NAMES | TEXTS
VALUES: st.SearchStrategy[Tree] = st.deferred(lambda: PLAIN | _larger(VALUES, Listing))
"""Trees of values that TLC prints."""
MEMBERS: st.SearchStrategy[Tree] = st.deferred(lambda: PLAIN | _larger(MEMBERS, Tup))
"""Values inside a set or an argument, where ``<<...>>`` is a tuple."""


def _larger(inner: st.SearchStrategy[Tree], listed: Callable[[tuple[Tree, ...]], Tree]) -> st.SearchStrategy[Tree]:
    pairs = st.lists(st.tuples(MEMBERS, VALUES), min_size=1, max_size=3, unique_by=lambda pair: key(pair[0]))
    return (
        st.lists(inner, max_size=3).map(tuple).map(listed)
        | st.lists(MEMBERS, max_size=3).map(SetOf.of)
        | st.dictionaries(NAMES, VALUES, max_size=3).map(lambda fields: Rec(tuple(fields.items())))
        | pairs.map(Fun.of)
    )


@given(value=VALUES)
def test_what_is_shown_is_read(value: Tree) -> None:
    """Every value is read back from its TLA+ text, on one line or on many."""
    text = show(value)

    assert key(parse_value(text)) == key(value)
    if '"' not in text:
        assert key(parse_value(text.replace(", ", ",\n   "))) == key(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-12", -12),
        ("170141183460469231731687303715884105729", 170141183460469231731687303715884105729),
        ("TRUE", True),
        ('"a \\"b\\" \\\\ c\\n"', 'a "b" \\ c\n'),
        ("<< 1, <<a>> >>", Listing((1, Listing(("a",))))),
        ("{<<1, 2>>, <<1>>}", SetOf.of([Tup((1,)), Tup((1, 2))])),
        ("1..3", SetOf((1, 2, 3))),
        ("3..1", SetOf(())),
        ("[a |-> 1, b |-> {}]", Rec((("a", 1), ("b", SetOf(()))))),
        (
            "(<<p, s>> :> <<1>> @@ <<q, s>> :> <<>>)",
            Fun(((Tup(("p", "s")), Listing((1,))), (Tup(("q", "s")), Listing(())))),
        ),
        ("SUBSET {1, 2}", Opaque("SUBSET {1, 2}")),
        ("[{a} -> {b}]", Opaque("[{a} -> {b}]")),
        ("1..200000", Opaque("1..200000")),
    ],
)
def test_values(text: str, value: Tree) -> None:
    """A value of each kind is read. A complete value of any other kind is kept as text."""
    assert parse_value(text) == value
    assert key(parse_value(text)) == key(value)


@pytest.mark.parametrize("text", ["", "{1, 2", "<<1, [a |-> 2]", '"abc', "(a :> 1 @@", "[a |-> 1}", "1)"])
def test_what_is_not_whole_is_refused(text: str) -> None:
    """A value with a missing or extra bracket is refused, not kept as text."""
    with pytest.raises(UsageError, match=r"truncated|closes nothing"):
        parse_value(text)


def test_values_nest_no_deeper_than_anybody_writes() -> None:
    """Nesting beyond what anybody writes is refused, before it exhausts the stack."""
    for text in ("{" * 100_000 + "}" * 100_000, "(" * 100_000 + ")" * 100_000):
        with pytest.raises(UsageError, match="nests deeper than 100 levels"):
            parse_value(text)
