"""The examples against the same protocols in TLA+ that was written by hand: equal states, similar length."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from holdfast.check.tlc.answer import TlcAnswer, answer_of
from holdfast.check.tlc.process import Tools, run_tlc
from tests.docs.fences import ROOT
from tests.docs.test_examples import EXAMPLES, Example, code_lines, tla_lines
from tests.tla.asking import LIMIT
from tests.tla.conftest import tools

__all__ = ["tools"]

FOLDER = Path(__file__).parent / "tla"
LARGE = 10_000
"""TLC takes a minute for liveness in more states."""


def answer(tools: Tools, name: str, module: str, configuration: str) -> TlcAnswer:
    """TLC's answer about a module."""
    files = {f"{name}.tla": module, f"{name}.cfg": configuration}
    return answer_of(run_tlc(tools, files, name, f"{name}.cfg", seconds=LIMIT))


def module_of(name: str) -> str:
    """The module of an example."""
    return (FOLDER / f"{name}.tla").read_text()


def configuration_of(name: str) -> str:
    """The sizes of scope tiny, and the properties that TLC checks."""
    return (FOLDER / f"{name}.cfg").read_text()


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(each, id=each.name, marks=[pytest.mark.slow] if each.unshared[0] > LARGE else [])
        for each in EXAMPLES
    ],
)
def test_both_have_the_same_states(tools: Tools, example: Example) -> None:
    """TLC finds as many states and as deep a graph in the module as in the model, and violates nothing."""
    found = answer(tools, example.name, module_of(example.name), configuration_of(example.name))
    assert found.verdict == "exhausted"
    assert (found.distinct, found.depth) == example.unshared


FAULTS = [
    ("alternating_bit", "Head(acks) = bit", "TRUE", "NotAhead", 6),
    ("ewd998", "n # 0 /\\ n \\notin active", "n # 0", "DetectionIsRight", 5),
    ("fencing", "    /\\ c \\in hasRead\n    /\\ token[c] >= seen\n", "    /\\ c \\in hasRead\n", "NothingLost", 7),
    ("chain_replication", "Max({acked[p], Len(log[Successor(n)])})", "acked[p]", "Prefixes", 5),
]
"""A line of a module, what stands in its place, the property that is then violated, and after how many steps."""


@pytest.mark.parametrize(("name", "line", "other", "prop", "steps"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_a_property_can_fail(tools: Tools, name: str, line: str, other: str, prop: str, steps: int) -> None:
    """TLC judges the properties of the modules."""
    module = module_of(name)
    assert module.count(line) == 1
    found = answer(tools, name, module.replace(line, other), configuration_of(name))
    assert (found.verdict in ("violated", "step"), found.name, found.steps) == (True, prop, steps)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_a_model_is_hardly_longer(example: Example) -> None:
    """The protocol takes at most 1.3 times the lines of TLA+, with its configuration, comments and blanks left out."""
    written = (ROOT / example.file).read_text()
    by_hand = len(tla_lines(module_of(example.name))) + len(tla_lines(configuration_of(example.name)))
    assert len(code_lines(protocol(written))) <= 1.3 * by_hand


def protocol(source: str) -> str:
    """What a model says of the protocol alone.

    Its mistakes (flags and variants), its witnesses, the outcomes of its mutants and its larger scopes are left out,
    since the modules have none of them; so are the imports.
    """
    lines = source.splitlines()
    module = ast.parse(source)
    classes = [node for node in module.body if isinstance(node, ast.ClassDef)]
    for node in (*module.body, *(member for each in classes for member in each.body)):
        if is_extra(node):
            first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
            lines[first - 1 : node.end_lineno] = [""] * ((node.end_lineno or first) - first + 1)
    return "\n".join(lines)


def is_extra(node: ast.stmt) -> bool:
    """Whether a statement belongs to what the modules do not have."""
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.AnnAssign(annotation=ast.Name("Flag")):
            return True
        case ast.Assign(targets=[ast.Name(name)], value=ast.Call(func=ast.Name("Scope" | "outcomes"))):
            return name != "tiny"
        case ast.FunctionDef(decorator_list=marks):
            named = {ast.unparse(mark.func if isinstance(mark, ast.Call) else mark) for mark in marks}
            words = {word.arg for mark in marks if isinstance(mark, ast.Call) for word in mark.keywords}
            return bool({"witness", "variant"} & (named | words))
    return False


def test_the_protocol_is_what_is_left() -> None:
    """Imports, flags, variants, witnesses, outcomes and other scopes go; all else stays."""
    source = """\
from holdfast.lang import Model
class M(Model):
    late: Flag
    mutants = outcomes({})
    tiny = Scope({})
    large = Scope({})
    @action
    def go(self) -> None:
        x = 1
    @variant("late", replaces="go")
    def go_late(self) -> None:
        pass
    @action(variant="late")
    def wait(self) -> None:
        pass
    @witness
    def gone(self) -> bool:
        return True
    @invariant
    def going(self) -> bool:
        return True
"""
    assert code_lines(protocol(source)) == [
        "class M(Model):",
        "    tiny = Scope({})",
        "    @action",
        "    def go(self) -> None:",
        "        x = 1",
        "    @invariant",
        "    def going(self) -> bool:",
        "        return True",
    ]
