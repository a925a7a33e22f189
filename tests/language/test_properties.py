"""Properties: their kinds, ids and parameters, and when they are non-vacuous."""

from __future__ import annotations

import pytest

from holdfast.ir.expr import TRUE
from holdfast.lower.python.interpreter import Interpreter
from tests.language.conftest import Build
from tests.language.writing import disagreement

PROPERTIES = """
class M(Table):
    @action
    def open(self, n: Node, s: Stream, e: Epoch) -> None:
        self.opened[s] = True
        self.owner[s] = n
        self.epoch[s] = e

    @invariant
    def owned(self) -> bool:
        '''INV-01, ST-14b. An opened stream has an owner.'''
        return all(self.owner[s] is not None for s in Stream if self.opened[s])

    @lemma
    def small(self) -> bool:
        return self.clock == Epoch(0)

    @step
    def grows(self, old: Self) -> bool:
        '''INV-04: epochs never decrease.'''
        return all(self.epoch[s] >= old.epoch[s] for s in Stream)

    @step(of="open")
    def named(self, old: Self, e: Epoch, s: Stream) -> bool:
        '''An open takes the epoch of its request (INV-05).'''
        return self.epoch[s] == e and not old.opened[s]

    @leads_to
    def settles(self, s: Stream) -> tuple[bool, bool]:
        '''LV-1 Whatever is opened is closed again.'''
        return self.opened[s], not self.opened[s]

    @witness
    def open_twice(self) -> bool:
        return count(self.opened[s] for s in Stream) == 2

    @final
    def all_open(self) -> bool:
        return all(self.opened[s] for s in Stream)
"""


def test_what_a_premise_is(build: Build) -> None:
    """The premise of a leads-to is its first condition; a witness has none, so it is never vacuous."""
    system = build(
        """
class M(Table):
    @witness
    def opened_clean(self) -> bool:
        return not any(self.opened[s] for s in Stream if self.epoch[s] > Epoch(0))

    @leads_to
    def settles(self, s: Stream) -> tuple[bool, bool]:
        return self.opened[s], not self.opened[s]
"""
    )
    premises = {
        prop.name: (prop.premise, prop.body) for prop in system.properties if prop.kind in ("witness", "leads_to")
    }
    assert premises["opened_clean"][0] == TRUE
    assert premises["settles"][0] == premises["settles"][1] != TRUE


def test_properties_have_a_kind_and_the_ids_they_begin_with(build: Build) -> None:
    """A property's ids are the rule ids at the beginning of its docstring, and no others."""
    system = build(PROPERTIES)

    assert [(prop.name, prop.kind, prop.ids) for prop in system.properties] == [
        ("owned", "invariant", ("INV-01", "ST-14b")),
        ("small", "lemma", ()),
        ("grows", "step", ("INV-04",)),
        ("named", "step", ()),
        ("settles", "leads_to", ("LV-1",)),
        ("open_twice", "witness", ()),
        ("all_open", "final", ()),
    ]
    assert system.properties[0].title == "owned (INV-01, ST-14b)"
    assert disagreement(system) is None


def test_a_step_property_may_name_some_parameters_of_its_action(build: Build) -> None:
    """A step property takes any of its action's parameters, in any order. The engines pass the action's arguments."""
    system = build(PROPERTIES)
    [named] = [prop for prop in system.properties if prop.name == "named"]
    interpreter = Interpreter(system, system.scopes["tiny"])
    [start] = interpreter.initial()
    after = interpreter.successors[0](start)

    assert [param.name for param in named.params] == ["e", "s"]
    assert all(interpreter.holds_step(named, start, new, args) for new, args in after)
    assert not any(interpreter.holds_step(named, new, new, args) for new, args in after)


def test_a_leads_to_is_a_trigger_and_a_goal(build: Build) -> None:
    """A leads-to has a premise and a goal, both evaluated for each value of the parameters."""
    system = build(PROPERTIES)
    [settles] = system.of_kind("leads_to")
    interpreter = Interpreter(system, system.scopes["tiny"])
    [start] = interpreter.initial()
    new = next(new for new, (_, s, _) in interpreter.successors[0](start) if s == 1)

    assert [interpreter.holds(settles, new, (s,)) for s in (0, 1)] == [False, True]
    assert [interpreter.goal(settles, new, (s,)) for s in (0, 1)] == [True, False]


def test_a_condition_for_all_fair_runs_is_a_goal(build: Build) -> None:
    """``@always_eventually`` and ``@eventually_always`` have a goal, and a premise that is true in every state."""
    system = build("""
    class M(Table):
        @action
        def open(self, s: Stream) -> None:
            self.opened[s] = True

        @always_eventually
        def again(self, s: Stream) -> bool:
            if self.owner[s] is None:
                return self.opened[s]
            return False

        @eventually_always
        def for_good(self, s: Stream) -> bool:
            return self.opened[s] and self.owner[s] is None
    """)
    interpreter = Interpreter(system, system.scopes["tiny"])
    [start] = interpreter.initial()
    new = next(new for new, (s,) in interpreter.successors[0](start) if s == 1)

    assert [prop.kind for prop in system.properties] == ["always_eventually", "eventually_always"]
    for prop in system.properties:
        assert (prop.body, prop.premise) == (TRUE, TRUE)
        assert [interpreter.holds(prop, new, (s,)) for s in (0, 1)] == [True, True]
        assert [interpreter.goal(prop, new, (s,)) for s in (0, 1)] == [False, True]


@pytest.mark.parametrize(
    ("claim", "when"),
    [
        ("all(self.owner[s] is not None for s in Stream if self.opened[s])", "opened"),
        ("all(not self.opened[s] or self.owner[s] is not None for s in Stream)", "opened"),
        ("all(self.fine(s) for s in Stream)", "opened"),
        ("all(self.owner[s] is not None if self.opened[s] else True for s in Stream)", "opened"),
        ("all(not self.opened[s] for s in Stream)", "always"),
        ("self.clock == Epoch(0) and all(self.owner[s] is not None for s in Stream if self.opened[s])", "always"),
        ("all(self.leader is None or self.leader == n for n in Node)", "never"),
        ("self.quick or all(self.owner[s] is not None for s in Stream if self.opened[s])", "opened"),
        ("not self.quick or self.clock == Epoch(0)", "never"),
    ],
)
def test_a_trigger_is_when_a_claim_says_something(build: Build, claim: str, when: str) -> None:
    """A property is vacuous where a filter, an implication with `or`, or a branch that returns True excludes it."""
    system = build(f"""
    class M(Table):
        quick: Flag

        def fine(self, s: Stream) -> bool:
            if not self.opened[s]:
                return True
            return self.owner[s] is not None

        @action
        def open(self, s: Stream) -> None:
            self.opened[s] = True

        @invariant
        def claim(self) -> bool:
            return {claim}
    """)
    [prop] = system.properties
    interpreter = Interpreter(system, system.scopes["tiny"])
    [start] = interpreter.initial()
    [(opened, _), *_] = interpreter.successors[0](start)

    expected = {"never": (False, False), "opened": (False, True), "always": (True, True)}[when]
    assert (interpreter.premise(prop, start), interpreter.premise(prop, opened)) == expected
