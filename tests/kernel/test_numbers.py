"""Numbers beyond 64 bits: machine code for them is refused, and the interpreter computes with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.check.search.engine import search
from holdfast.check.search.plain_search import PlainSearch
from holdfast.check.walk import engine as walks
from holdfast.check.walk.engine import walk
from holdfast.check.walk.options import WalkOptions
from holdfast.ir.errors import UsageError
from holdfast.ir.expr import Expr
from holdfast.ir.system import LIVENESS, System
from holdfast.ir.types import IntType
from holdfast.lower.graph.fairness import Demands
from holdfast.lower.kernel import source
from holdfast.lower.kernel.comparing import MutantComparison
from holdfast.lower.kernel.emit import KernelEmitter
from holdfast.lower.kernel.graphs import KernelGraph
from holdfast.lower.kernel.kernel import Kernel
from holdfast.lower.kernel.packing import Packing
from holdfast.lower.python.instance_ends import ReturnOutcome
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.python.terms import Term
from tests.check.walking import WalkPair
from tests.kernel import plain
from tests.kernel.comparing import Engines, differences
from tests.kernel.searching import equal_searches
from tests.kernel.writing import written

COUNTED = """
n: Map[Node, N]
gap: Gap
seen: Gap | None
tiny = Scope({Node: 3, N: 2})
@init
def zero(self) -> None:
    self.n.fill(N(0))
    self.gap = Gap(0)
    self.seen = None
@action
def go(self, e: N, g: Gap, x: Node) -> None:
    require(CONDITION, "A-1")
    self.n[x] = e
@invariant
def still(self) -> bool:
    return all(self.n[x] == N(0) for x in Node)
"""
"""A model with a step if the condition holds."""

TOO_LARGE = {
    "a sum": "e * 4611686018427387904 + e * 4611686018427387904 > 0",
    "a product": "e * 3037000500 * 3037000500 >= 0",
    "a product below 0": "g * 9223372036854775807 <= 0 or e == N(0)",
    "a partial sum, the whole of which is small": (
        "e * 9223372036854775807 + e * 9223372036854775807 - e * 9223372036854775807 > 0"
    ),
    "a sum over elements": "sum(self.n[y] * 4611686018427387904 for y in Node) >= 0",
    "a difference": "0 - 9223372036854775807 - e < 0",
    "an absolute value": "abs(g * 4611686018427387904) > 0",
    "the least of two": "min(e * 9223372036854775807, 3) >= 0",
    "a choice": "(e * 9223372036854775807 if e > N(0) else 0) >= 0",
    "a constant": "e < 9223372036854775808",
    "a constant below 0": "g > -9223372036854775808",
    "a default": "max((self.n[y] for y in Node if self.n[y] > e), default=99999999999999999999) > 0",
}
"""Conditions with a number beyond 64 bits: each holds for some e, g and x for which the action changes the state."""


def counted(folder: Path, condition: str) -> System:
    """The model with this condition."""
    return written(folder, COUNTED.replace("CONDITION", condition))


@pytest.mark.parametrize("what", TOO_LARGE)
def test_numbers_beyond_64_bits_are_refused(what: str, tmp_path: Path) -> None:
    """The kernel's error names the place, the action, a number and the remedy; nothing is compiled."""
    system = counted(tmp_path, TOO_LARGE[what])
    line = next(number for number, text in enumerate(Path(system.file).read_text().splitlines(), 1) if "A-1" in text)

    with pytest.raises(
        UsageError, match=rf":{line}:\d+: a number in go may .* 64 bits; use smaller numbers"
    ) as refused:
        search(system, system.scopes["tiny"], engine="kernel", cores=1)

    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("what", TOO_LARGE)
def test_the_interpreter_computes_with_numbers_of_any_size(what: str, tmp_path: Path) -> None:
    """If the kernel refuses, the interpreter agrees with CPython: the action changes the state."""
    system = counted(tmp_path, TOO_LARGE[what])

    assert search(system, system.scopes["tiny"], engine="interpreter").verdict == "violated"


def test_what_the_kernel_refuses_the_interpreter_searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the kernel is requested, a search and a walk use the interpreter, and a note gives the reason."""
    safe = COUNTED.replace("CONDITION", TOO_LARGE["a sum"]).replace("== N(0) for", "<= N(2) for")
    system, campaign = written(tmp_path, safe), WalkOptions(seed=1, traces=20, depth=5)
    monkeypatch.setattr(PlainSearch, "within", lambda *_: 1)
    monkeypatch.setattr(walks, "SMALL", 1)

    found = search(system, system.scopes["tiny"])
    walked = walk(system, system.scopes["tiny"], campaign)

    assert (found.verdict, found.figures.distinct) == ("exhausted", 10)
    assert (walked.verdict, walked.figures.runs) == ("not_found", 20)
    for result, said in ((found, "The interpreter searched, "), (walked, "The interpreter made the runs, ")):
        assert [note for note in result.notes if note.startswith(said) and "64 bits" in note]
    with pytest.raises(UsageError, match="64 bits"):
        walk(system, system.scopes["tiny"], campaign, engine="kernel")


@pytest.mark.parametrize("kind", ["invariant", "step", "witness", "final", *LIVENESS])
def test_numbers_in_properties_are_refused_too(kind: str, tmp_path: Path) -> None:
    """Every kernel that would compute the property refuses it, with the property's line."""
    head = "def far(self, old: Self) -> bool:" if kind == "step" else "def far(self) -> bool:"
    body = "sum(self.n[y] * 4611686018427387904 for y in Node) >= 0"
    if kind == "leads_to":
        head, body = "def far(self) -> tuple[bool, bool]:", f"{body}, self.gap == Gap(0)"
    system = written(tmp_path, COUNTED.replace("CONDITION", "x == x") + f"@{kind}\n{head}\n    return {body}\n")
    machine = Interpreter(system, system.scopes["tiny"])

    def compiled() -> object:
        if kind in LIVENESS:
            return KernelGraph(machine, Demands(machine.layout), tuple(system.of_kind(*LIVENESS)))
        return Kernel(machine, None, witnesses=tuple(system.of_kind("witness")), finals=tuple(system.of_kind("final")))

    with pytest.raises(UsageError, match=r"written0.py:\d+:\d+: a number in far "):
        compiled()


def test_every_kernel_of_an_action_refuses(tmp_path: Path) -> None:
    """The kernels of searches, mutants, comparisons, runs and graphs all refuse the action."""
    system = counted(tmp_path, TOO_LARGE["an absolute value"])
    scope = system.scopes["tiny"]
    machine = Interpreter(system, scope)
    for make in (
        lambda: Kernel(machine, None),
        lambda: Kernel(machine, None, mutable=True),
        lambda: MutantComparison(machine),
        lambda: WalkPair.of(system, scope, 0, 5),
        lambda: KernelGraph(machine, Demands(machine.layout), ()),
    ):
        with pytest.raises(UsageError, match="64 bits"):
            make()


FULL = "e * 4611686018427387903 + 1 > 1 and abs(g * 4611686018427387903 - 1) < 9223372036854775807"
"""A condition that computes numbers up to the greatest of 64 bits."""


@pytest.mark.usefixtures("uncompiled")
def test_numbers_up_to_the_last_of_64_bits_are_computed_with(tmp_path: Path) -> None:
    """The kernel's text computes the interpreter's values."""
    equal_searches(counted(tmp_path, FULL), "tiny", keep_going=True)


@pytest.mark.slow
def test_machine_code_computes_up_to_the_last_of_64_bits(tmp_path: Path) -> None:
    """Machine code computes the interpreter's values."""
    found = equal_searches(counted(tmp_path, FULL), "tiny", keep_going=True)
    assert found.figures.distinct > 1


# What the kernel's text computes ----------------------------------------------------------------------------------


class WatchingEmitter(KernelEmitter):
    """An emitter that passes every computed value to ``seen`` with its bounds."""

    def expr(self, node: Expr) -> Term:
        found = super().expr(node)
        if found.constant:
            return found
        return Term(f"seen({found.lo}, {found.hi}, {found.text})", found.lo, found.hi)


@pytest.mark.usefixtures("uncompiled")
def test_no_value_in_the_kernels_text_lies_beyond_its_bounds(gauges: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a model with every construct of the language, each computed value lies within its bounds."""
    monkeypatch.setattr(plain, "HEAD", f"{plain.HEAD}from tests.lower.test_terms import seen\n")
    monkeypatch.setattr(source, "KernelEmitter", WatchingEmitter)
    assert differences(Engines(gauges, gauges.scopes["tiny"]), states=4) == []


@pytest.mark.parametrize(("lo", "hi"), [(-3, -1), (-3, 0), (-3, 1), (-1, 3)])
def test_a_value_out_of_an_optional_keeps_its_bounds(lo: int, hi: int, gauges: System) -> None:
    """Codes above 0 are shifted by None's code and others are not; the bounds enclose exactly the resulting values."""
    layout = Interpreter(gauges, gauges.scopes["tiny"]).layout
    writer = KernelEmitter(Packing(layout), "a test", gauges.init.at, ReturnOutcome([]))
    found = writer.unwrap(Term("code", lo, hi), IntType("Gap", -2, 2))
    values = [(code - 1 if code > 0 else code) - 2 for code in range(lo, hi + 1)]
    assert (found.lo, found.hi) == (min(values), max(values))
