"""The cells that properties and actions read: a change of any other cell changes no value."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import Action, System
from holdfast.lower.layout import Layout
from holdfast.lower.outcome import Cut, Refused, Taken
from holdfast.lower.provenance.effects import effect
from holdfast.lower.provenance.reads import UndefinedValueError, ask
from holdfast.lower.python.interpreter import Args, Interpreter

ROOT = Path(__file__).parents[2]

CASES = {
    "streams": (ROOT / "tests/lower/models/streams.py", "default", ()),
    "gauges": (ROOT / "tests/lower/models/gauges.py", "tiny", ()),
    "gauges without rules": (ROOT / "tests/lower/models/gauges.py", "default", ("GA-03", "GA-06", "GA-07@look")),
    "logs": (ROOT / "tests/lower/models/logs.py", "tiny", ()),
    "longer logs": (ROOT / "tests/lower/models/logs.py", "default", ("LO-02", "LO-04")),
    "longer queues": (ROOT / "tests/lower/models/queues.py", "default", ("QU-01", "QU-06")),
    "bags": (ROOT / "tests/lower/models/bags.py", "tiny", ("BA-03",)),
    "answers": (ROOT / "tests/lower/models/answers.py", "default", ("AN-02",)),
    "holders": (ROOT / "tests/lower/models/holders.py", "default", ("HO-02",)),
    "moves": (ROOT / "tests/lower/models/moves.py", "default", ("MO-01",)),
    "pools": (ROOT / "tests/lower/models/pools.py", "default", ("PO-08",)),
    "quorums": (ROOT / "tests/lower/models/quorums.py", "tiny", ("Q-07",)),
    "ownership": (ROOT / "models/ownership.py", "tiny", ()),
}


@cache
def machine(case: str) -> Interpreter:
    """The interpreter of a case."""
    file, scope, removed = CASES[case]
    system = remove_rules(compile_model(load_model(str(file))), removed)
    return Interpreter(system, system.scopes[scope])


def states(layout: Layout) -> st.SearchStrategy[bytes]:
    """Any state of a layout, reached or not."""
    return st.tuples(*(st.integers(0, cell.field.codes - 1) for cell in layout.cells)).map(bytes)


def arguments(layout: Layout, of: Action) -> Iterator[Args]:
    """All arguments of an action."""
    return itertools.product(*(range(layout.codes(param.type)) for param in of.params))


def mixed(state: bytes, other: bytes, kept: frozenset[int]) -> bytes:
    """The first state in the given cells, and another state in the rest."""
    return bytes(one if index in kept else two for index, (one, two) in enumerate(zip(state, other, strict=True)))


def instances(data: st.DataObject, system: System, layout: Layout) -> Iterator[tuple[Action, Args]]:
    """N instances of each action, few enough for the time of a test."""
    for action in system.actions:
        every = list(arguments(layout, action))
        for args in data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=6, unique=True)):
            yield action, args


@pytest.mark.parametrize("case", CASES)
@given(data=st.data())
@settings(max_examples=40)
def test_steps_are_those_of_the_interpreter(case: str, data: st.DataObject) -> None:
    """An action leads to the same state, is refused by the same rule, or is cut by the same bound as in the
    interpreter.
    """
    interpreter = machine(case)
    layout = interpreter.layout
    state = data.draw(states(layout))
    for action, args in instances(data, interpreter.system, layout):
        assert interpreter.step(state, action.name, args) == effect(layout, state, action, args).outcome


def test_a_key_without_its_bound_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An evaluation in which no bound cuts a step differs from the interpreter where a log is full."""
    interpreter = machine("logs")
    layout = interpreter.layout
    cells = [cell.field.name == "length" for cell in layout.cells]
    full = bytes(2 if is_length else 0 for is_length in cells)
    skip, args = interpreter.system.action("skip"), (0, 1)
    assert interpreter.step(full, "skip", args) == effect(layout, full, skip, args).outcome == Cut("Index")
    monkeypatch.setattr("holdfast.lower.provenance.effects._Instance.inside", lambda *_: True)
    with pytest.raises(UndefinedValueError):
        effect(layout, full, skip, args)


@pytest.mark.parametrize("case", CASES)
@given(data=st.data())
@settings(max_examples=60)
def test_what_is_not_read_does_not_matter(case: str, data: st.DataObject) -> None:
    """A change of unread cells keeps the outcome of an action, and keeps each new cell whose sources are unchanged. The
    exception is a step that a bound or budget of the scope cuts.
    """
    interpreter = machine(case)
    layout = interpreter.layout
    state, other = data.draw(states(layout)), data.draw(states(layout))
    for action, args in instances(data, interpreter.system, layout):
        found = effect(layout, state, action, args)
        if isinstance(found.outcome, Refused):
            changed = interpreter.step(mixed(state, other, found.guards), action.name, args)
            assert isinstance(changed, Cut) or changed == found.outcome
        elif isinstance(found.outcome, Taken):
            cells = data.draw(st.frozensets(st.integers(0, layout.width - 1)))
            kept = found.guards.union(*(found.sources[cell] for cell in cells))
            changed = interpreter.step(mixed(state, other, kept), action.name, args)
            assert isinstance(changed, Cut | Taken)
            if isinstance(changed, Taken):
                assert [changed.state[cell] for cell in cells] == [found.outcome.state[cell] for cell in cells]


@pytest.mark.parametrize("case", CASES)
@given(data=st.data())
@settings(max_examples=60)
def test_properties_read_what_they_say(case: str, data: st.DataObject) -> None:
    """A property has the interpreter's value. A change of unread cells, also in the state before the step, keeps it."""
    interpreter = machine(case)
    layout = interpreter.layout
    new, old, other = (data.draw(states(layout)) for _ in range(3))
    for prop in interpreter.system.properties:
        if prop.goal is not None:
            continue
        of = None if prop.of is None else interpreter.system.action(prop.of)
        args = data.draw(st.sampled_from(list(arguments(layout, of)))) if of is not None else ()
        asked = ask(layout, prop, new, old, args)
        assert asked.holds is interpreter.holds_step(prop, old, new, args), prop.name
        changed = mixed(old, other, asked.before), mixed(new, other, asked.reads)
        assert interpreter.holds_step(prop, *changed, args) is asked.holds, prop.name


def test_reads_by_hand(streams: System) -> None:
    """A refused open reads the stream's epoch alone. A taken one reads epoch and state, and never the owner."""
    layout = Layout(streams, streams.scopes["tiny"])
    assert [cell.name for cell in layout.cells] == ["opened[s1]", "owner[s1]", "epoch[s1]"]
    action = streams.action("open")

    fenced = effect(layout, bytes([1, 1, 2]), action, (0, 0, 1))
    taken = effect(layout, bytes([0, 1, 1]), action, (1, 0, 2))

    assert isinstance(fenced.outcome, Refused)
    assert (fenced.outcome.label, fenced.guards) == ("ST-12", {2})
    assert (taken.outcome, taken.guards) == (Taken(bytes([1, 2, 2])), {0, 2})
    assert taken.sources == (frozenset(), frozenset(), frozenset())


PICK = '''\
"""A write whose place is another cell's value, under a condition."""

from __future__ import annotations

from holdfast.lang import Map, Model, Nat, Scope, action, init


class Slot(Nat): ...


class Pick(Model):
    """What was written first may be written over."""

    place: Slot
    on: bool
    kept: Map[Slot, Slot]

    tiny = Scope({Slot: 1})

    @init
    def begin(self) -> None:
        self.place = Slot(1)
        self.on = False
        self.kept.fill(Slot(0))

    @action
    def write(self, n: Slot) -> None:
        k = self.place
        self.kept[Slot(0)] = n
        if self.on:
            self.kept[k] = Slot(0)
'''


def test_a_write_that_did_not_happen(tmp_path: Path) -> None:
    """A cell that a branch may write depends on the branch's test, taken or not. If the key is computed, so does every
    cell of the variable.
    """
    path = tmp_path / "pick.py"
    path.write_text(PICK)
    system = compile_model(load_model(str(path)))
    layout = Layout(system, system.scopes["tiny"])
    at, on, first, second = range(4)

    off = effect(layout, bytes([1, 0, 0, 1]), system.action("write"), (1,))
    taken = effect(layout, bytes([1, 1, 0, 1]), system.action("write"), (1,))

    assert off.sources == ({at}, {on}, {on}, {on, second})
    assert taken.outcome == Taken(bytes([1, 1, 1, 0]))
    assert taken.sources[first] == {at, on}
    assert taken.sources[second] == {at, on}
