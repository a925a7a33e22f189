"""Slices: exactly the steps that led to a violation."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import attrs
import pytest

from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.runs.replay import Replayer, Script
from holdfast.runs.why import Reasons, why
from holdfast.trace.trace import Trace
from holdfast.trace.views.slice import Slice
from holdfast.trace.views.why import render_why

ROOT = Path(__file__).parents[2]
TABLE = str(ROOT / "tests/check/models/table.py")
OWNERSHIP = str(ROOT / "models/ownership.py")

CARELESS = (("close", (1, 0, 0)), ("open", (0, 0, 1)), ("close", (1, 0, 1)), ("close", (1, 0, 2)), ("open", (1, 0, 2)))
"""Runs without CK-02.epoch: the second process closes the first one's stream, and opens it itself."""

RELAY = '''\
"""A value that is handed on from cell to cell."""

from __future__ import annotations

from holdfast.lang import Model, Nat, Scope, action, init, invariant


class Count(Nat): ...


class Relay(Model):
    """What is put arrives by and by, unless a lamp stops it."""

    first: Count
    second: Count
    last: Count
    lamp: bool
    seen: bool

    tiny = Scope({Count: 2})

    @init
    def begin(self) -> None:
        self.first = Count(0)
        self.second = Count(0)
        self.last = Count(0)
        self.lamp = True
        self.seen = False

    @action
    def put(self, n: Count) -> None:
        self.first = n

    @action
    def hand_on(self) -> None:
        self.second = self.first

    @action
    def deliver(self) -> None:
        self.last = self.second

    @action
    def switch(self) -> None:
        self.lamp = not self.lamp

    @action
    def look(self) -> None:
        self.seen = True
        if self.lamp:
            self.last = Count(0)

    @invariant
    def unseen(self) -> bool:
        """RE-01. Nobody sees a two."""
        return not self.seen or self.last < Count(2)
'''

CHAIN = """\
Why one_handle (INV-01) is violated after 5 steps: 3 of them led to it, the
  other 2 did not.
  INV-01. At most one process holds a stream.

  2  open(p=p1, s=s1, e=1)
     wrote   epoch[s1]: 0 -> 1          for step 5
             handle[p1, s1]: 0 -> 1     one_handle reads it
     needed  since the start: opened[s1] = False; epoch[s1] = 0

  3  close(p=p2, s=s1, e=1)
     wrote   opened[s1]: True -> False  for step 5

  5  open(p=p2, s=s1, e=2)
     wrote   handle[p2, s1]: 0 -> 2     one_handle reads it
     needed  opened[s1] = False         written by step 3
             epoch[s1] = 1              written by step 2

one_handle reads at the end
             handle[p1, s1] = 1         written by step 2
             handle[p2, s1] = 2         written by step 5

one_handle (INV-01) is violated for s = s1, p = p1, q = p2."""


@cache
def replayer(model: str, *without: str) -> Replayer:
    """The replayer of a model's runs in scope tiny, without some rules."""
    system = remove_rules(compile_model(load_model(model)), without)
    return Replayer(system, system.scopes["tiny"], target=model, all_ghosts=True)


def run(replays: Replayer, *steps: tuple[str, tuple[int, ...]]) -> Trace:
    """The run of these steps, with the property that its end violates."""
    start = next(args for _, args in replays.machine.starts())
    script = Script(start, steps)
    trace = replays.trace(script, replays.violated(script))
    assert isinstance(trace, Trace)
    return trace


def alone(replays: Replayer, found: Reasons) -> Script:
    """The steps of a slice, without the others."""
    script = replays.script(found.trace)
    kept = [cause.number for cause in found.slice.causes]
    return attrs.evolve(script, steps=tuple(script.steps[number - 1] for number in kept))


def random_violation(replays: Replayer, chance: random.Random) -> Trace | None:
    """A random run to its first violation, if it has one."""
    machine = replays.machine
    state, start = chance.choice(machine.starts())
    steps: list[tuple[str, tuple[int, ...]]] = []
    for _ in range(40):
        index = chance.randrange(len(machine.successors))
        # Steps that change nothing are here for the slice to leave out; a few are enough.
        found = sorted(edge for edge in machine.successors[index](state) if edge[0] != state or chance.random() < 0.1)
        if not found:
            continue
        old, (state, args) = state, chance.choice(found)
        steps.append((replays.system.actions[index].name, args))
        if machine.invariants(state) >= 0 or machine.steps[index](state, old, args) >= 0:
            script = Script(start, tuple(steps))
            trace = replays.trace(script, replays.violated(script))
            assert isinstance(trace, Trace)
            return trace
    return None


@pytest.mark.parametrize(
    "without", ["CL-02", "CK-01.flag", "ST-11", "ST-14", "ST-21", "CK-02.epoch_old", "CS-28", "CS-29b"]
)
def test_the_steps_of_a_slice_suffice(without: str) -> None:
    """The steps of a slice alone, from the same start, are enabled and violate the same property.

    So the left-out steps are no reason for the violation. In most runs some steps are left out.
    """
    replays = replayer(OWNERSHIP, without)
    chance = random.Random(14)
    runs = [trace for _ in range(100) if (trace := random_violation(replays, chance)) is not None]
    found = [why(replays, trace) for trace in runs]

    assert len(found) >= 5
    assert [each.slice for each in found if not replays.shows(alone(replays, each), each.slice.claim.name)] == []
    assert sum(each.slice.left_out for each in found) > len(found)


def test_no_step_of_a_slice_is_idle() -> None:
    """Each step of a slice wrote a cell that a later step or the property reads."""
    replays = replayer(OWNERSHIP, "CK-02.epoch_old")
    chance = random.Random(14)
    runs = [trace for _ in range(100) if (trace := random_violation(replays, chance)) is not None]
    for trace in runs:
        found = why(replays, trace).slice
        for cause in found.causes:
            assert all(found.readers(cause, cell) for cell in cause.wrote)
            assert cause.wrote or cause.number == found.end


def test_a_chain_by_hand() -> None:
    """Three of five steps belong to the slice: an open, another process's close, and the open that this enables."""
    replays = replayer(TABLE, "CK-02.epoch")
    found = why(replays, run(replays, *CARELESS))
    names = [cell.name for cell in replays.machine.layout.cells]

    assert found.slice.claim.name == "one_handle"
    assert [cause.number for cause in found.slice.causes] == [2, 3, 5]
    first, closed, last = found.slice.causes
    assert [names[cell] for cell in first.wrote] == ["epoch[s1]", "handle[p1, s1]"]
    assert [names[cell] for cell in closed.wrote] == ["opened[s1]"]
    assert [names[cell] for cell in last.needed] == ["opened[s1]", "epoch[s1]"]
    assert [names[cell] for cell in found.slice.reads] == ["handle[p1, s1]", "handle[p2, s1]"]
    assert found.slice.readers(first, names.index("handle[p1, s1]")) == [6]
    assert found.slice.readers(closed, names.index("opened[s1]")) == [5]


def test_values_have_sources(tmp_path: Path) -> None:
    """A step that copies a value needs the step that wrote it. A step that might have overwritten a needed value needs
    the write that prevented that.
    """
    path = tmp_path / "relay.py"
    path.write_text(RELAY)
    replays = replayer(str(path))
    put, other = ("put", (2,)), ("put", (1,))
    steps = (other, put, ("hand_on", ()), other, ("deliver", ()), ("switch", ()), ("hand_on", ()), ("look", ()))
    found = why(replays, run(replays, *steps))

    assert [cause.number for cause in found.slice.causes] == [2, 3, 5, 6, 8]
    assert replays.shows(alone(replays, found), "unseen")


def test_the_text_of_a_chain() -> None:
    """For each step the text has its writes, the steps that need them, and its own needs; the property is last."""
    replays = replayer(TABLE, "CK-02.epoch")
    found = why(replays, run(replays, *CARELESS))

    assert render_why(found.trace, found.slice) == CHAIN


def test_lines_fit() -> None:
    """No line of a long chain is wider than the limit."""
    replays = replayer(OWNERSHIP, "RC-05")
    chance = random.Random(3)
    traces = [trace for _ in range(40) if (trace := random_violation(replays, chance)) is not None]
    for trace in traces[:5]:
        found = why(replays, trace)
        for width in (60, 80):
            lines = render_why(found.trace, found.slice, width=width).split("\n")
            assert max(map(len, lines)) <= width
            assert [line for line in lines if line != line.rstrip()] == []


def test_a_property_of_a_step() -> None:
    """The slice of a step property has the step itself, and shows the cells it reads before the step apart."""
    replays = replayer(TABLE, "ST-14")
    trace = run(replays, ("open", (0, 0, 1)), ("open", (1, 0, 2)))
    found = why(replays, trace, "closed_before")
    text = render_why(found.trace, found.slice)

    assert [cause.number for cause in found.slice.causes] == [1, 2]
    assert "closed_before reads before step 2\n             opened[s1] = True  " in text
    assert "it is this step that closed_before speaks of" in text


def test_a_place_before_the_end() -> None:
    """A property that the end does not violate is explained at its first violation. One that holds is refused."""
    replays = replayer(TABLE, "ST-14", "CK-02.epoch")
    trace = run(replays, ("open", (0, 0, 1)), ("open", (1, 0, 2)), ("close", (0, 0, 2)))

    assert trace.claim is None
    assert why(replays, trace, "one_handle").slice.end == 2
    with pytest.raises(UsageError, match=r"--why epochs_grow: it is violated nowhere in this run"):
        why(replays, trace, "epochs_grow")
    with pytest.raises(UsageError, match=r"violates nothing at its end; name what to explain: --why PROPERTY"):
        why(replays, trace)
    with pytest.raises(UsageError, match=r"no property 'one_handel'.*did you mean one_handle\?"):
        why(replays, trace, "one_handel")


def test_a_witness_has_reasons_too() -> None:
    """A witness's slice is computed like that of a violated property."""
    replays = replayer(TABLE, "ST-14")
    trace = run(replays, ("open", (0, 0, 1)), ("open", (1, 0, 2)))
    found = why(replays, trace, "handed_over")

    assert render_why(found.trace, found.slice).startswith("Why handed_over is reached after 2 steps: all of them led")


def test_a_rule_id_names_its_properties() -> None:
    """A rule id stands for the first of its properties that the run shows."""
    replays = replayer(TABLE, "ST-14")
    trace = run(replays, ("open", (0, 0, 1)), ("open", (1, 0, 2)))
    assert why(replays, trace, "INV-01").slice.claim.name == "one_handle"


def test_a_repetition_is_asked_for_its_rules(repeated: Trace) -> None:
    """For an action that is not idempotent the chain leads to the rule that refuses the repetition."""
    system = compile_model(load_model(str(ROOT / "tests/check/models/sampler.py")))
    replays = Replayer(system, system.scopes["tiny"], target="sampler")
    found = why(replays, repeated).slice
    names = {replays.machine.layout.cells[cell].name for cell in found.reads}

    assert [cause.number for cause in found.causes] == [1]
    assert names == {"phase"}
    assert isinstance(found, Slice)
