"""The interpreter: outcomes, statistics, and the constructs it refuses to lower."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from holdfast.ir.errors import ModelError, UsageError
from holdfast.ir.expr import FALSE, TRUE, Arithmetic, Compare, Fold, Lit, Name, Quantified, Read, Wrap
from holdfast.ir.stmt import Assign, Fill, For, If, Let, Require, Stmt
from holdfast.ir.system import Action, Param, Property, System
from holdfast.ir.types import BOOL, INT, NatType, NumberType, OptionalType, SortType
from holdfast.lower.outcome import Cut, Refused, Taken
from holdfast.lower.python.interpreter import Interpreter


def at_tiny(system: System, **changes: object) -> Interpreter:
    """The interpreter of a system at its tiny scope, with other sizes or budgets."""
    return Interpreter(system, attrs.evolve(system.scopes["tiny"], **changes))


def prop(system: System, name: str) -> Property:
    """The property of that name."""
    return next(prop for prop in system.properties if prop.name == name)


def test_an_open_by_hand(streams: System) -> None:
    """Steps by hand: one is taken, one is refused by the first rule that fails, and one is taken again."""
    interpreter = at_tiny(streams)
    [start] = interpreter.initial()
    assert start == bytes(3)
    opened = interpreter.step(start, "open", (1, 0, 2))
    assert opened == Taken(bytes([1, 2, 2]))
    fenced = interpreter.step(opened.state, "open", (0, 0, 2))
    assert isinstance(fenced, Refused)
    assert (fenced.label, fenced.error, fenced.at.line) == ("ST-12", "STREAM_FENCED", streams.rule("ST-12").at.line)
    assert interpreter.step(opened.state, "open", (0, 0, 3)).label == "ST-14"
    assert interpreter.step(opened.state, "close", (1, 0, 2)) == Taken(bytes([0, 2, 2]))


def test_a_step_leaves_the_old_state_alone(streams: System) -> None:
    """States are values: a step gives a new one."""
    interpreter = at_tiny(streams)
    start = interpreter.initial()[0]
    before = bytes(start)
    interpreter.successors[0](start)
    assert start == before


def test_self_loops_are_steps(streams: System) -> None:
    """A step that changes nothing is among the successors: closing a closed stream succeeds."""
    interpreter = at_tiny(streams)
    closed = bytes([0, 2, 2])
    assert interpreter.successors[1](closed) == [(closed, (1, 0, 2))]


def test_decisive_rules_are_noted(streams: System) -> None:
    """A rule is decisive where its line refuses. ``step`` does not count rules, and ``reset`` clears the counts."""
    interpreter = at_tiny(streams)
    [start] = interpreter.initial()
    interpreter.step(start, "open", (0, 0, 0))
    assert interpreter.statistics.decisive == frozenset()
    interpreter.successors[0](start)
    assert interpreter.statistics.decisive_in == {("open", "ST-12")}
    interpreter.successors[0](bytes([1, 1, 1]))
    assert interpreter.statistics.decisive == {"ST-12", "ST-14"}
    interpreter.statistics.reset()
    assert interpreter.statistics.decisive == frozenset()


def test_labelled_conditions_and_effects_are_noted(gauges: System) -> None:
    """A labelled condition is decisive where it holds, also inside a helper's value; an effect where it takes place."""
    interpreter = at_tiny(gauges)
    start = interpreter.initial()[0]
    drift, look = interpreter.successors[0], interpreter.successors[2]
    drift(start)
    look(start)
    assert interpreter.statistics.decisive - {"GA-01"} == {"GA-06"}
    values = interpreter.layout.decode(start)
    look(interpreter.layout.encode({**values, "near[node1, nest1]": True, "clock": 1}))
    assert {"GA-05", "GA-07"} <= interpreter.statistics.decisive
    drift(interpreter.layout.encode({**values, "mode[node2]": "LOST"}))
    assert "GA-02" in interpreter.statistics.decisive


def test_cuts_are_counted_by_action_and_bound(gauges: System) -> None:
    """A step beyond a bound is not taken; it is counted under the bound's name, or as budget."""
    interpreter = at_tiny(gauges)
    start = interpreter.layout.encode(
        {**interpreter.layout.decode(interpreter.initial()[0]), "gap[node1]": 2, "gap[node2]": 0}
    )
    taken = interpreter.successors[0](start)
    # From 2 a gauge moves by -2, -1 or 0, once or twice. From 0 it moves once by any amount, or twice by -1, 0 or 1.
    assert len(taken) == 3 + 3 + 5 + 3
    assert interpreter.statistics.cuts == {("drift", "Gap"): 6}
    spent = interpreter.layout.encode({**interpreter.layout.decode(start), "budget(drift)": 0})
    interpreter.statistics.reset()
    assert interpreter.successors[0](spent) == []
    assert interpreter.statistics.cuts == {("drift", "Gap"): 6, ("drift", "budget"): 14}
    assert interpreter.step(spent, "drift", (1, 2, 0)) == Cut("budget")
    assert interpreter.step(spent, "drift", (0, 4, 0)) == Cut("Gap")


def test_a_budget_is_charged_by_its_action_alone(gauges: System) -> None:
    """A step takes one from its action's budget and leaves the other budgets alone."""
    interpreter = at_tiny(gauges)
    outcome = interpreter.step(interpreter.initial()[0], "pulse", ())
    assert isinstance(outcome, Taken)
    after = interpreter.layout.decode(outcome.state)
    assert (after["budget(drift)"], after["budget(pulse)"]) == (2, 0)


def test_every_choice_of_the_start_is_an_initial_state(gauges: System) -> None:
    """The parameters of the initial condition range over all values, and its requires exclude some of them."""
    interpreter = at_tiny(gauges)
    starts = [interpreter.layout.decode(state) for state in interpreter.initial()]
    assert {(start["leader"], start["gap[node1]"]) for start in starts} == {
        (leader, gap) for leader in ("node1", "node2") for gap in (-2, -1, 0)
    }
    assert interpreter.initial() == sorted(set(interpreter.initial()))


def test_a_bound_exceeded_at_the_start_is_the_models_fault(streams: System) -> None:
    """An initial assignment beyond a bound is refused at its line, with the type to enlarge."""
    assign = Fill("epoch", Lit(4, NatType("Epoch")), streams.init.at)
    wrong = attrs.evolve(streams, init=attrs.evolve(streams.init, body=(*streams.init.body, assign)))
    with pytest.raises(ModelError, match=r"streams.py:\d+:\d+: init: a bound exceeded at the start.*Epoch.*tiny"):
        at_tiny(wrong).initial()
    assert len(Interpreter(wrong, wrong.scopes["default"]).initial()) == 1


def test_a_model_without_a_start_is_refused(streams: System) -> None:
    """A model is refused if no choice of parameters passes the requires of its initial condition."""
    never = Require(FALSE, "ST-99", None, streams.init.at)
    with pytest.raises(ModelError, match="no choice of its parameters gives an initial state"):
        at_tiny(attrs.evolve(streams, init=attrs.evolve(streams.init, body=(never, *streams.init.body)))).initial()


def test_dropping_ghosts_changes_nothing_else(gauges: System) -> None:
    """Without ghosts a system takes the same steps on the other cells, and the other properties keep their values."""
    full, reduced = at_tiny(gauges), Interpreter(gauges, gauges.scopes["tiny"], ghosts=frozenset())
    kept = [index for index, cell in enumerate(full.layout.cells) if not cell.field.ghost]

    def shadow(state: bytes) -> bytes:
        return bytes(state[index] for index in kept)

    reached = set(full.initial())
    for _ in range(3):
        reached |= {new for old in reached for successors in full.successors for new, _ in successors(old)}
    for state in sorted(reached)[::40]:
        for every, less in zip(full.successors, reduced.successors, strict=True):
            assert less(shadow(state)) == [(shadow(new), args) for new, args in every(state)]
        assert full.invariants(state) == reduced.invariants(shadow(state))
    assert [prop.name for prop in reduced.checked_steps] == ["time_passes"]


def test_reading_a_dropped_ghost_is_refused(gauges: System) -> None:
    """A request for a property that reads a dropped ghost is refused, and the message names both."""
    interpreter = Interpreter(gauges, gauges.scopes["tiny"], ghosts=frozenset({"heard"}))
    state = interpreter.initial()[0]
    with pytest.raises(UsageError, match=r"echoes_grow \(GA-26\).*ghost echoes.*keep it"):
        interpreter.holds_step(prop(gauges, "echoes_grow"), state, state)


def test_only_requested_properties_are_watched(gauges: System) -> None:
    """``properties`` selects the properties that the fast paths check."""
    wanted = [prop(gauges, "alone"), prop(gauges, "time_passes")]
    interpreter = Interpreter(gauges, gauges.scopes["tiny"], properties=wanted)
    assert interpreter.checked == (wanted[0],)
    assert interpreter.checked_steps == (wanted[1],)


def test_triggers_tell_when_a_property_says_something(streams: System) -> None:
    """A property that is an ``all`` with a filter is vacuous until an element passes the filter."""
    interpreter = at_tiny(streams)
    owned = prop(streams, "owned")
    assert not interpreter.premise(owned, bytes([0, 0, 0]))
    assert interpreter.premise(owned, bytes([1, 1, 1]))
    grow = prop(streams, "epochs_grow")
    assert interpreter.premise(grow, bytes([1, 1, 1]), old=bytes(3))


def test_an_unknown_action_is_named(streams: System) -> None:
    """The message for an unknown action lists the actions that exist."""
    interpreter = at_tiny(streams)
    with pytest.raises(UsageError, match="no action opne; it has open, close"):
        interpreter.step(bytes(3), "opne", (0, 0, 0))


def test_a_key_beyond_the_scope_is_refused(streams: System) -> None:
    """A literal key beyond the scope's cells is refused, and the message names the type to enlarge."""
    epoch = NatType("Epoch")
    seen = attrs.evolve(streams.variables[0], name="seen", keys=(epoch,))
    wrong = attrs.evolve(
        streams,
        variables=(*streams.variables, seen),
        actions=(Action("mark", (), (Assign("seen", (Lit(4, epoch),), TRUE, seen.at),), "", seen.at),),
        properties=(),
    )
    with pytest.raises(UsageError, match=r"action mark: a key of seen may be 4, and Epoch ends at 3 in scope tiny"):
        assert at_tiny(wrong).successors
    assert len(Interpreter(wrong, wrong.scopes["default"]).successors) == 1


def test_an_action_too_large_to_write_out_is_refused(streams: System) -> None:
    """Nested quantifiers over a large scope are refused with the name of the property and the remedy."""
    epoch = NatType("Epoch")
    body = Compare("<=", Name("a", epoch), Read("epoch", (Lit(0, SortType("Stream")),), epoch))
    for var in "cba":
        body = Quantified("all", var, epoch, body)
    large = attrs.evolve(streams.properties[0], name="sorted_epochs", ids=(), body=body)
    wrong = attrs.evolve(streams, properties=(large,))
    assert at_tiny(wrong).invariants is not None
    with pytest.raises(UsageError, match=r"property sorted_epochs.*200,000 parts.*smaller scope"):
        assert at_tiny(wrong, sizes={"Node": 1, "Stream": 1, "Epoch": 100}).invariants


def test_computed_optionals_keep_their_numbers(streams: System) -> None:
    """A local may hold a negative number, which is not None and not cut. Storing the number cuts the step."""
    epoch, stream = NatType("Epoch"), SortType("Stream")
    optional, number = OptionalType(epoch), NumberType("Epoch")
    last = attrs.evolve(streams.variables[2], name="last", value=optional)
    at = last.at
    key = (Name("s", stream),)
    less = Arithmetic("-", (Read("epoch", key, epoch), Lit(1, INT)), number)
    store = Action("store", (Param("s", stream),), (Assign("last", key, Wrap(less, optional), at),), "", at)
    wrong = attrs.evolve(streams, variables=(*streams.variables, last), actions=(store,), properties=())
    interpreter = at_tiny(wrong)
    assert interpreter.step(bytes([0, 0, 0, 3]), "store", (0,)) == Cut("Epoch")
    assert interpreter.step(bytes([0, 0, 1, 3]), "store", (0,)) == Taken(bytes([0, 0, 1, 1]))
    assert interpreter.step(bytes([0, 0, 3, 0]), "store", (0,)) == Taken(bytes([0, 0, 3, 3]))


def test_statements_after_a_sure_end_are_not_lowered(streams: System) -> None:
    """Statements after a rule that always refuses are unreachable, so they are not lowered."""
    at = streams.init.at
    body = (Require(FALSE, "ST-99", None, at), Assign("epoch", (Name("nobody", SortType("Stream")),), TRUE, at))
    wrong = attrs.evolve(streams, actions=(Action("stop", (), body, "", at),), properties=())
    interpreter = at_tiny(wrong)
    assert interpreter.successors[0](bytes(3)) == []
    assert interpreter.statistics.decisive == {"ST-99"}


def test_folds_over_nothing(streams: System) -> None:
    """A sum over nothing is 0, and an empty minimum is its default, also if only the state makes it empty."""
    epoch, stream, at = NatType("Epoch"), SortType("Stream"), streams.init.at
    opened = Read("opened", (Name("t", stream),), BOOL)
    value = Read("epoch", (Name("t", stream),), epoch)
    least = Fold("min", "t", stream, opened, value, Lit(3, epoch), NumberType("Epoch"))
    body = (Let("m", least, at), For("u", stream, (Assign("epoch", (Name("u", stream),), Name("m", INT), at),), at))
    system = attrs.evolve(streams, actions=(Action("sink", (), body, "", at),), properties=())
    assert at_tiny(system).step(bytes([0, 0, 1]), "sink", ()) == Taken(bytes([0, 0, 3]))
    assert at_tiny(system).step(bytes([1, 0, 1]), "sink", ()) == Taken(bytes([1, 0, 1]))


def test_a_fold_over_a_large_domain(streams: System) -> None:
    """A count over hundreds of values is one flat sum, which Python can read."""
    epoch, stream = NatType("Epoch"), SortType("Stream")
    below = Compare("<", Name("e", epoch), Read("epoch", (Lit(0, stream),), epoch))
    count = Fold("count", "e", epoch, below, Lit(1, INT), Lit(0, INT), INT)
    body = Compare("==", count, Read("epoch", (Lit(0, stream),), epoch))
    counted = attrs.evolve(streams.properties[0], body=body)
    interpreter = at_tiny(attrs.evolve(streams, properties=(counted,)), sizes={"Node": 1, "Stream": 1, "Epoch": 250})
    assert all(interpreter.holds(counted, bytes([0, 0, value])) for value in (0, 1, 249, 250))


def test_nesting_beyond_python_is_refused(streams: System) -> None:
    """Branches within branches beyond what Python reads are refused by name, without a traceback."""
    at = streams.init.at
    body: tuple[Stmt, ...] = (Assign("opened", (Lit(0, SortType("Stream")),), TRUE, at),)
    for _ in range(120):
        body = (If(Read("opened", (Lit(0, SortType("Stream")),), BOOL), body, (), at),)
    deep = attrs.evolve(streams, actions=(Action("dig", (), body, "", at),), properties=())
    with pytest.raises(UsageError, match=r"action dig nests too deeply in scope tiny.*indentation"):
        assert at_tiny(deep).successors


SOURCES = """
import sys
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.lower.python.interpreter import Interpreter
system = compile_model(load_model(sys.argv[1]))
machine = Interpreter(system, system.scopes["default"])
print(len(machine.successors), len(machine.steps), machine.invariants is not None, machine.sources)
"""


def test_generated_code_does_not_depend_on_hash_order() -> None:
    """Two processes with different hash seeds generate the same functions, letter by letter."""
    root = Path(__file__).parents[2]
    texts = {
        subprocess.run(
            [sys.executable, "-c", SOURCES, str(Path(__file__).parent / "models" / "gauges.py")],
            cwd=root,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1
    assert b"def every_0" in texts.pop()
