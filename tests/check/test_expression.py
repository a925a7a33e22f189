"""Expressions that a user types: their values, and the errors for expressions without a meaning."""

from __future__ import annotations

import ast
import inspect
import textwrap
from pathlib import Path

import pytest

from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_model
from holdfast.ir.system import System
from holdfast.lower.layout import Value
from holdfast.lower.python.interpreter import Interpreter
from holdfast.runs.explorer.cell_expression import CellExpressions
from holdfast.runs.explorer.expression import Expression, ExpressionCompiler, short
from holdfast.runs.replay import Replayer, Script
from holdfast.trace.trace import Trace
from tests.check.conftest import Compiled

LOGS = Path(__file__).parents[1] / "lower" / "models" / "logs.py"


@pytest.fixture(scope="module")
def machine(table: System) -> Interpreter:
    """The table in its tiny scope."""
    return Interpreter(table, table.scopes["tiny"])


@pytest.fixture(scope="module")
def compiler(table: System, machine: Interpreter) -> ExpressionCompiler:
    """Compiles expressions over it."""
    return ExpressionCompiler(table, machine.layout)


def reachable(machine: Interpreter) -> list[bytes]:
    """Every reachable state, in the order of a plain search."""
    found = dict.fromkeys(machine.initial())
    waiting = list(found)
    for state in waiting:
        for successors in machine.successors:
            new = [after for after, _ in successors(state) if after not in found]
            found |= dict.fromkeys(new)
            waiting += dict.fromkeys(new)
    return waiting


def opened(machine: Interpreter) -> bytes:
    """The state in which p2 has opened s1 under epoch 1."""
    (start,) = machine.initial()
    outcome = machine.step(start, "open", (1, 0, 1))
    assert hasattr(outcome, "state")
    return bytes(outcome.state)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("term[n1, length[n1]]", 0),
        ("term[n1, length[n1] - 1]", None),
        ("term[n1, length[n1] + 3] == 0", False),
        ("all(tried[n, length[n] - 1] for n in Node if length[n] > 0)", True),
        ("any(not tried[n, length[n] - 1] for n in Node)", False),
        ("held[length[n1] + 1]", None),
    ],
)
def test_a_computed_key_beyond_its_bound_has_no_value(text: str, value: Value) -> None:
    """A condition is then False, and anything else None: never the value of another cell."""
    logs = compile_model(load_model(str(LOGS)))
    interpreter = Interpreter(logs, logs.scopes["tiny"])
    expression = ExpressionCompiler(logs, interpreter.layout).compile(text)
    assert expression.value(interpreter.initial()[0]) == value


def test_a_number_from_a_computed_key_is_refused() -> None:
    """It has no value to stand for "no cell"."""
    logs = compile_model(load_model(str(LOGS)))
    compiler = ExpressionCompiler(logs, Interpreter(logs, logs.scopes["tiny"]).layout)
    with pytest.raises(UsageError, match="compare it with a number"):
        compiler.compile("term[n1, length[n1] - 1] + 1")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("epoch[s1]", 1),
        ("self.epoch[s1]", 1),
        ("owner[s1]", "n2"),
        ("owner[s1] is not None and owner[s1] == n2", True),
        ("owner[s1] == n2 and owner[s1] != n1", True),
        ("owner[s1] == n1", False),
        ("node_of[p1]", "n1"),
        ("opened[s1] and not handle[p1, s1] > 0", True),
        ("count(handle[p, s1] == epoch[s1] for p in Proc)", 1),
        ("epoch[s1] + 2", 3),
        ("epoch[s1] - 3", -2),
        ("any(used[p, s, e] for p in Proc for s in Stream for e in Epoch)", True),
        ("used[p2, s1, Epoch(1)]", True),
        ("last_opener[s1]", "p2"),
        ("one_handle", True),
        ("all(one_handle and holder_opened_last for s in Stream)", True),
        ("handed_over", False),
        ("any(handle[p1, s1] > 0 for p1 in Proc)", True),
        ("E.STREAM_FENCED", "STREAM_FENCED"),
        ("p2", "p2"),
        ("owner[s1] if opened[s1] else None", "n2"),
    ],
)
def test_values(machine: Interpreter, compiler: ExpressionCompiler, text: str, value: Value) -> None:
    """An expression has the value, and the kind of value, that the model language gives it."""
    found = compiler.compile(text).value(opened(machine))
    assert (found, type(found)) == (value, type(value))


def test_the_text_of_a_property_means_the_property(
    table: System, machine: Interpreter, compiler: ExpressionCompiler
) -> None:
    """In every state an invariant's expression has the invariant's value, with `self.`, without it, and by name."""
    for prop in table.of_kind("invariant", "lemma", "witness"):
        method = ast.parse(textwrap.dedent(inspect.getsource(getattr(table.python, prop.name)))).body[0]
        assert isinstance(method, ast.FunctionDef)
        returned = method.body[-1]
        assert isinstance(returned, ast.Return)
        assert returned.value is not None
        written = ast.unparse(returned.value)
        forms = [compiler.compile(form) for form in (written, written.replace("self.", ""), prop.name)]
        assert all(form.is_condition for form in forms)
        values = {(machine.holds(prop, state), *(form.value(state) for form in forms)) for state in reachable(machine)}
        assert values <= {(True,) * 4, (False,) * 4}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the expression is empty; write one such as `epoch[s1] > 1`"),
        ("epock[s1] > 1", "column 1: Table has no 'epock' in this scope; did you mean epoch?"),
        ("1 < p7", "column 5: Table has no 'p7' in this scope; "),
        ("zzz", "column 1: Table has no 'zzz' in this scope; its fields: node_of, opened, owner,"),
        ("__import__('os')", "column 1: Table has no '__import__' in this scope;"),
        ("epoch", "column 1: self.epoch: epoch is a map; name a cell: self.epoch[...]"),
        ("epoch[s1] = 1", "column 11: epoch[s1] = 1: invalid syntax"),
        ("epoch[s1", "column 6: epoch[s1: '[' was never closed;"),
        ("owner[s1] < n1", "column 1: self.owner[s1] < n1: self.owner[s1] may be None here; test it"),
        ("epoch[n1]", "column 7: n1: a key of epoch needs Stream, and this is Node; use a value of Stream"),
        ("used[p1, s1, 1]", "column 14: 1: a key of used needs Epoch, and this is int; write Epoch(1)"),
        ("used[p1, s1, Epoch(9)]", "a key of used may be 9, and Epoch ends at 2 in scope tiny"),
        ("closed_before", "column 1: closed_before: it is not about a single state;"),
        ("open(p1, s1, 1)", "column 1: open: it is not about a single state;"),
        ("None", "None: this is None in every state;"),
        ("(lambda: 1)", "a lambda is outside the language"),
        ("'text'", "this constant is outside the language"),
        ("[1]", "collections are outside the language"),
        ("self", "column 1: self: a state is not a value;"),
        ("\0", "of the model language"),
        ("not " * 120 + "one_handle", "nested too deeply"),
        ("(" * 300, "too many nested parentheses"),
        ("1" * 2001, "the expression has 2,001 characters; write at most 2,000"),
    ],
)
def test_what_means_nothing(compiler: ExpressionCompiler, text: str, said: str) -> None:
    """A wrong expression is refused on one short line with the place and the problem, in the compiler's words."""
    with pytest.raises(UsageError) as refused:
        compiler.compile(text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "\0" not in str(refused.value)


RULED = """
on: bool
tiny = Scope({})
@init
def begin(self) -> None:
    self.on = False
@action
def turn(self) -> None:
    require(self.may_turn(), "RD-01")
    self.on = True
def may_turn(self) -> bool:
    if rule("RD-02", not self.on):
        return True
    return self.on
"""


@pytest.mark.parametrize("text", ["may_turn()", "on or not self.may_turn()"])
def test_an_expression_reads_no_rule(compiled: Compiled, text: str) -> None:
    """An expression is about a state. It may not call a helper that asks a rule, since rules can be removed."""
    system = compiled(RULED)
    compiler = ExpressionCompiler(system, Interpreter(system, system.scopes["tiny"]).layout)
    with pytest.raises(UsageError) as refused:
        compiler.compile(text)
    said = "it reads the rule RD-02; say what it means in terms of the state"
    assert str(refused.value) == f"{text}: {said}"


# Without a model --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trace(table: System) -> Trace:
    """The run on which p1 opens s1, read as if there were no model."""
    made = Replayer(table, table.scopes["tiny"]).trace(Script((), (("open", (0, 0, 1)),)), None)
    assert isinstance(made, Trace)
    return made


def value(trace: Trace, expression: Expression) -> Value:
    """The value of the expression in the run's last state."""
    return expression.value(trace.steps[-1].values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("epoch[s1]", 1),
        ("handle[p1,s1] == epoch[s1]", True),
        ("0 < epoch[s1] <= 1 and not (opened[s1] == False)", True),
        ("owner[s1] == n1", True),
        ("owner[s1] == 'n1'", True),
        ("owner[s1] is None or handle[p2, s1] > 0", False),
        ("owner[s1] is not None", True),
        ("owner[s1] < 3", False),
        ("opened[s1] == 1", False),
        ("epoch[s1] > -1", True),
        ("-1", -1),
        ("opened[s1]", True),
    ],
)
def test_cells(trace: Trace, text: str, expected: Value) -> None:
    """Cells compare by name and numbers by size; values of different kinds are never equal."""
    expression = CellExpressions(trace).compile(text)
    found = value(trace, expression)
    assert (found, type(found), expression.is_condition) == (expected, type(expected), isinstance(expected, bool))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("epok[s1]", "column 1: the run has no cell or value 'epok[s1]'; did you mean epoch[s1]"),
        ("n7", "column 1: the run has no cell or value 'n7'"),
        ("epoch[s1] + 1 > 2", "without a model an expression compares cells"),
        ("any(x for x in y)", "without a model an expression compares cells"),
        ("1 in (1, 2)", "`in` needs a model"),
        ("not " * 300 + "opened[s1]", "nested too deeply"),
        ("1.5", "without a model an expression compares cells"),
    ],
)
def test_wrong_cells(trace: Trace, text: str, said: str) -> None:
    """An expression that needs a model, or a cell that the run lacks, is refused on one line."""
    with pytest.raises(UsageError) as refused:
        CellExpressions(trace).compile(text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_long_expression_is_shown_in_part() -> None:
    """A text of up to sixty characters is shown whole; of a longer one the beginning is shown, with an ellipsis."""
    assert short("x" * 60) == "x" * 60
    assert short("x" * 61) == "x" * 57 + "..."
    assert short("a\n  b\t\x1b[0m") == "a b ?[0m"
