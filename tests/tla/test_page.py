"""The TLA+ on the page for users of TLA+: the parser accepts it, and TLC finds the states that the page shows."""

from __future__ import annotations

import re

import pytest

from holdfast.check.tlc.answer import TlcAnswer, answer_of
from holdfast.check.tlc.process import Tools, parse_modules, run_tlc
from holdfast.lower.tla.names import KEYWORDS, STANDARD
from tests.docs.counterparts import PAGE, modules, pieces
from tests.docs.fences import blocks
from tests.tla.asking import LIMIT

UNITS = {
    "EXTENDS": "",
    "CONSTANT": "",
    "VARIABLE": "",
    "ASSUME": "CONSTANT Limit",
    "RECURSIVE": "",
    "THEOREM": "CONSTANTS Spec, P",
    "Spec ==": "VARIABLE vars\nInit == vars = 0\nNext == vars' = vars",
    "Owned(x) ==": "CONSTANTS owner, Nil",
}
"""How a piece begins that is a unit of a module, and what stands above it in a module of its own.

Any other piece is an expression, or a keyword alone.
"""

SURROUNDINGS = r"""
EXTENDS Integers, Sequences, FiniteSets, Bags, TLC
CONSTANTS Node, Stream, Epoch, MaxEpoch, MaxOffset, Nil, n, m, s, t, e
VARIABLES phase, up, epoch, owner, msgs, length, log, queue, clock, leader, seen, votes, rank, pair, asked
vars == <<phase, up, epoch, owner, msgs, length, log, queue, clock, leader, seen, votes, rank, pair, asked>>
P == clock > 0
Q == clock > 1
A == clock' = clock + 1
B(x) == clock' = x
TypeOK == P
Spec == P /\ [][A]_vars
Lease == INSTANCE Claimed
"""
CLAIMED = "VARIABLE clock\nSpec == clock = 0"

WORDS = KEYWORDS | STANDARD | {r"\EE", r"\AA"}
"""Pieces that are no expression by themselves."""


def complaint(tools: Tools, found: list[str]) -> str:
    """What the parser of TLA+ has against pieces; empty if it accepts all of them.

    Each unit is in a module of its own; the expressions are definitions of one module.
    """
    whole = [piece for piece in found if piece not in WORDS]
    heads = {piece: head for piece in whole for word, head in UNITS.items() if piece.startswith(word)}
    rest = [piece for piece in whole if piece not in heads]
    lines = "\n".join(f"Piece{number} == {piece}" for number, piece in enumerate(rest))
    texts = {"Claimed": CLAIMED, "Pieces": f"{SURROUNDINGS}\n{lines}"}
    for number, (piece, head) in enumerate(heads.items()):
        # Whatever is declared as recursive has to be defined.
        tail = "Sum(x) == x" if piece.startswith("RECURSIVE") else ""
        texts[f"Unit{number}"] = f"{head}\n{piece}\n{tail}"
    files = {f"{name}.tla": f"---- MODULE {name} ----\n{text}\n====\n" for name, text in texts.items()}
    answer = parse_modules(tools, files, list(files))
    # An unknown name is an error that the exit code does not tell.
    return answer.text if answer.code != 0 or "rror" in answer.text else ""


def test_the_parser_reads_every_construct(tools: Tools) -> None:
    """Each piece of TLA+ in the tables parses."""
    found = list(pieces(PAGE.read_text(), 0))
    assert len(found) > 90
    assert complaint(tools, found) == ""


@pytest.mark.parametrize("wrong", [r"up' = up \cup", "ASSUME Limit >", "unknown + 1", r"\A x \n Node : P"])
def test_the_parser_refuses_what_is_no_tla(tools: Tools, wrong: str) -> None:
    """The parser has something against a piece that does not parse, or that names nothing."""
    assert complaint(tools, [wrong]) != ""


def by_hand(tools: Tools, page: str) -> TlcAnswer:
    """TLC's answer about the module that the page shows, under the configuration that it shows."""
    [(name, text)] = modules(page).items()
    [configuration] = [block.text for block in blocks(page) if block.language == "cfg"]
    files = {f"{name}.tla": text, f"{name}.cfg": configuration}
    return answer_of(run_tlc(tools, files, name, f"{name}.cfg", seconds=LIMIT))


def test_both_protocols_of_the_page_have_the_same_states(tools: Tools) -> None:
    """TLC finds as many states in the page's module as the search in the page's model, and as many steps.

    TLC counts the steps beyond the constraint too; the search counts them as cut.
    """
    page = PAGE.read_text()
    answer = by_hand(tools, page)
    [(states, generated)] = re.findall(r"states +([\d,]+) distinct, ([\d,]+) generated, 1 initial, at most 400", page)
    [cut] = re.findall(r"cut +grant by Term (768)\b", page)
    assert answer.verdict == "exhausted"
    assert (answer.distinct, answer.taken) == (number(states), number(generated) - 1 + number(cut))
    assert f"TLC     exhausted, {answer.distinct:,} states, depth {answer.depth}\n" in page


def test_both_protocols_of_the_page_need_the_term(tools: Tools) -> None:
    """Without the line about the term TLC finds a violation in the page's module after as many steps."""
    page = PAGE.read_text()
    line = "            /\\ m.term = term /\\ holder = c\n"
    assert page.count(line) == 1
    answer = by_hand(tools, page.replace(line, ""))
    assert (answer.verdict, answer.name) == ("violated", "OneInside")
    assert f"TLC     violated after {answer.steps} steps: one_inside\n" in page


BEYOND = """\
---- MODULE Beyond ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x' = x + 1
InScope == x <= 2
====
"""


def test_tlc_checks_invariants_one_step_beyond_a_constraint(tools: Tools) -> None:
    """As the page says, TLC takes the step that leaves the constraint, and judges the state behind it."""
    files = {"Beyond.tla": BEYOND, "Beyond.cfg": "INIT Init\nNEXT Next\nCONSTRAINT InScope\nINVARIANT InScope\n"}
    answer = answer_of(run_tlc(tools, files, "Beyond", "Beyond.cfg", seconds=LIMIT))
    assert (answer.verdict, answer.steps) == ("violated", 3)


def number(text: str) -> int:
    """The number that a page shows."""
    return int(text.replace(",", ""))
