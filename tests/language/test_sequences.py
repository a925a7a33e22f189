"""Sequences and records: which reads are within a length, and how a model by hand holds both."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.ir.compile import key_bounds
from holdfast.ir.compile.results import guarded, is_guarded
from holdfast.ir.expr import ZERO, Compare, Expr, IfElse, Lit, Name, Read
from holdfast.ir.names import length_name
from holdfast.ir.types import INT, NatType, OptionalType, SortType
from holdfast.lang import Cut, Record
from tests.language.cases import read_cases
from tests.language.toy import Node
from tests.language.writing import compiled, disagreement, load

INDEX = NatType("Index")
ENTRY = OptionalType(SortType("Node"))
AT = Name("at", INT)
LENGTH = Read(length_name("log"), (), INDEX)
CELL = Read("log", (AT,), ENTRY)


def test_an_entry_is_read_within_its_length() -> None:
    """The choice that the compiler writes for an entry needs no bound of its key."""
    assert is_guarded(guarded(AT, LENGTH, CELL))


OTHERS: dict[str, Expr] = {
    "a field that is called like a length": guarded(AT, Read("log_length", (), INDEX), CELL),
    "the length of another sequence": guarded(AT, Read(length_name("queue"), (), INDEX), CELL),
    "the length before the step": guarded(AT, Read(length_name("log"), (), INDEX, old=True), CELL),
    "another index": guarded(AT, LENGTH, Read("log", (Name("other", INT),), ENTRY)),
    "no lower bound": IfElse(Compare(">", LENGTH, AT), CELL, Lit(None, ENTRY), ENTRY),
    "an upper bound only": IfElse(Compare(">=", AT, ZERO), CELL, Lit(None, ENTRY), ENTRY),
    "another choice": IfElse(Compare(">", LENGTH, AT), Lit(None, ENTRY), CELL, ENTRY),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_similar_choice_is_no_entry(name: str) -> None:
    """A key that its own length does not bound keeps its bound."""
    assert not is_guarded(OTHERS[name])


def test_a_bound_that_is_left_out_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If every choice counted as an entry, a key beyond its bound would cut no step."""
    [case] = [case for case in read_cases("accepted") if case.title == "a computed key in a branch of a choice"]
    monkeypatch.setattr(key_bounds, "is_guarded", lambda expr: isinstance(expr, IfElse))
    assert disagreement(compiled(tmp_path, case.source)) is not None


BY_HAND = """
class M(Table):
    queue: Seq[Node, Epoch]
    log: Map[Stream, Seq[Epoch, Epoch]]

    @init
    def begin(self) -> None:
        self.queue.clear()
        self.log.clear()

    @action
    def ask(self, n: Node) -> None:
        self.queue.append(n)

    @action
    def copy_log(self, s: Stream, t: Stream, e: Epoch) -> None:
        self.log[s] = self.log[t]
        self.log[s].append(e + 1)
"""


def test_a_state_by_hand_keeps_its_sequences(tmp_path: Path) -> None:
    """A step gives a new state: sequences of the old one, and of other keys, stay as they are."""
    model = load(tmp_path, BY_HAND)
    start = model.at("tiny").start()  # type: ignore[attr-defined]
    node, stream, epoch = (kind for kind in model.tiny.sizes)  # type: ignore[attr-defined]
    once = start.take("ask", n=node.element(0))
    copied = once.take("copy_log", s=stream.element(0), t=stream.element(1), e=epoch(0))

    assert (len(start.queue), len(once.queue), once.queue.last) == (0, 1, node.element(0))
    assert [len(copied.log[stream.element(number)]) for number in range(2)] == [1, 0]
    assert repr(copied.log[stream.element(0)]) == "[1]"
    assert once.queue == copied.queue
    assert once.queue != start.queue
    with pytest.raises(Cut, match="Epoch"):
        copied.take("copy_log", s=stream.element(0), t=stream.element(1), e=epoch(2))
    full = once.take("ask", n=node.element(0))
    with pytest.raises(Cut, match="Epoch"):
        full.take("ask", n=node.element(0))


def test_a_sequence_is_not_gone_through(tmp_path: Path) -> None:
    """A loop over a sequence is refused by Python, too."""
    start = load(tmp_path, BY_HAND).at("tiny").start()  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        list(start.queue)
    with pytest.raises(TypeError):
        hash(start.queue)


@pytest.mark.parametrize("name", ["__eq__", "__post_init__"])
def test_a_record_has_parts_only(name: str) -> None:
    """A record with an equality of its own would mean something else to Python than to the engines."""
    with pytest.raises(TypeError, match=f"the record Odd defines {name}"):
        type("Odd", (Record,), {"__annotations__": {"src": Node}, name: lambda *_: True})
