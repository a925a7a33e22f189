"""Faults planted in the liveness engine: the oracle or the interpreter must notice each of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from holdfast.check.live import components, engine, fair, lasso
from holdfast.check.live.components import GraphPart, Mask, Numbers
from holdfast.check.live.fair import FairComponents, FairStates
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import Property, PropertyKind, System
from holdfast.lower.graph import labelled_steps as labelled
from holdfast.lower.graph.fairness import FREE
from holdfast.lower.graph.state_graph import GraphArrays
from holdfast.runs.lasso_judge import LassoJudge
from holdfast.runs.replay import Replayer
from tests.live import judging
from tests.live.asking import answer
from tests.live.judging import differences

Plant = Callable[[pytest.MonkeyPatch], None]

FAULTS: dict[str, Plant] = {}


def fault(plant: Plant) -> Plant:
    """Register a fault under the text of its docstring."""
    assert plant.__doc__ is not None
    FAULTS[plant.__doc__] = plant
    return plant


def everywhere(monkeypatch: pytest.MonkeyPatch, name: str, value: object) -> None:
    """Replace a function of that name in every module that imported it."""
    for module in (components, fair, lasso, engine, judging):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, value)


@fault
def no_stuttering(monkeypatch: pytest.MonkeyPatch) -> None:
    """No run stays where it is: a single state is no component."""
    true_of = FairComponents.of

    def of(self: FairComponents, whole: GraphPart) -> FairStates:
        found = true_of(self, whole)
        sizes = np.bincount(found.components, minlength=1)
        kept = sizes[found.components] > 1
        return FairStates(found.states[kept], found.components[kept])

    monkeypatch.setattr(FairComponents, "of", of)


@fault
def through_the_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A debt outlives the goal: states that meet it are not removed."""
    true_reached = components.reached
    everywhere(monkeypatch, "reached", lambda graph, seeds, within: true_reached(graph, seeds, np.ones_like(within)))


@fault
def owed_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every state without the goal counts, whether anything is owed there or not."""
    everywhere(monkeypatch, "reached", lambda graph, seeds, within: within)


@fault
def served_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that leaves a component serves the demands on it."""

    def served(self: FairComponents, whole: GraphPart, found: Numbers, count: int) -> Numbers:
        flags = np.zeros((count, self.words), np.int64)
        for source, label in zip(whole.sources.tolist(), whole.labels.tolist(), strict=True):
            if label != FREE:
                flags[found[source], 0] |= 1 << label
        return flags

    monkeypatch.setattr(FairComponents, "_served", served)


@fault
def never_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """No step serves a demand."""
    monkeypatch.setattr(
        FairComponents,
        "_served",
        lambda self, whole, found, count: np.zeros((count, self.words), np.int64),
    )


@fault
def strong_is_weak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strong demands are taken for weak ones."""
    true_flags = FairComponents._flags
    monkeypatch.setattr(
        FairComponents,
        "_flags",
        lambda self, demands, strength: (
            true_flags(self, demands, "weak") | (true_flags(self, demands, "strong") if strength == "weak" else 0)
            if strength == "weak"
            else np.zeros(self.words, np.int64)
        ),
    )


@fault
def weak_is_strong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weak demands are taken for strong ones."""
    true_flags = FairComponents._flags
    monkeypatch.setattr(
        FairComponents,
        "_flags",
        lambda self, demands, strength: (
            np.zeros(self.words, np.int64)
            if strength == "weak"
            else true_flags(self, demands, "weak") | true_flags(self, demands, "strong")
        ),
    )


@fault
def whole_components_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A component that starves a strong demand is given up, with all its parts."""
    true_within = GraphPart.within
    monkeypatch.setattr(GraphPart, "within", lambda self, kept: true_within(self, np.zeros_like(kept)))


@fault
def cuts_are_impossible(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a bound cut is impossible, so that a run may seem fair for the bound's sake."""
    true_init = FairComponents.__init__

    def init(self: FairComponents, graph: GraphArrays, demands: Any, *, cautious: bool = True) -> None:  # noqa: ARG001
        true_init(self, graph, demands, cautious=False)

    monkeypatch.setattr(FairComponents, "__init__", init)


@fault
def cuts_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is said of the cut of a fair action."""
    true_of = labelled.LabelledSteps.of
    monkeypatch.setattr(labelled.LabelledSteps, "of", lambda self, state: (true_of(self, state)[0], []))


@fault
def any_component(monkeypatch: pytest.MonkeyPatch) -> None:
    """States that hang together in one direction only count as a component."""

    def weakly(self: GraphPart) -> Any:
        matrix = csr_matrix((np.ones(len(self.sources)), (self.sources, self.targets)), shape=(len(self.states),) * 2)
        return connected_components(matrix, directed=True, connection="weak")[1]

    monkeypatch.setattr(GraphPart, "components", weakly)


@fault
def last_fair_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes to some fair state, and not to a nearest one."""
    true_stem = lasso.shortest_stem

    def stem(graph: GraphArrays, found: FairStates, owed: Mask, unmet: Mask) -> tuple[int, ...]:
        last = FairStates(found.states[-1:], found.components[-1:])
        return true_stem(graph, last, owed, unmet)

    monkeypatch.setattr(lasso, "shortest_stem", stem)


@fault
def debt_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way to the fair state need not pass a state that owes anything."""
    true_stem = lasso.shortest_stem
    monkeypatch.setattr(
        lasso,
        "shortest_stem",
        lambda graph, found, owed, unmet: true_stem(graph, found, np.ones_like(owed), np.ones_like(unmet)),
    )


@fault
def no_way_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way round does not lead back."""
    monkeypatch.setattr(lasso._Round, "_home", lambda self, place: [])


@fault
def no_errands(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way round does not see to strong demands."""
    true_walk = lasso._Round._walk
    monkeypatch.setattr(lasso._Round, "_walk", lambda self, strong: true_walk(self, set()))
    true_init = lasso._Round.__init__

    def init(self: Any, *args: Any) -> None:
        true_init(self, *args)
        self.strong = set()

    monkeypatch.setattr(lasso._Round, "__init__", init)


@fault
def never_met_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a condition that must be true for good, only runs count in which it is never true again."""

    def find(graph: GraphArrays, fairness: FairComponents, _: FairStates, unmet: Mask) -> lasso.Lasso | None:
        found = fairness.of(components.part(graph, unmet)) if unmet.any() else None
        return lasso.find_lasso(graph, fairness, found, unmet, unmet) if found and len(found.states) else None

    everywhere(monkeypatch, "find_relapse", find)


@fault
def round_without_relapse(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run may enter any fair component, and its loop may avoid the states without the goal."""
    monkeypatch.setattr(FairStates, "among", lambda self, _: self)


@fault
def relapse_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A condition that must be true for good may not be false even once: no fair component has to be false in part."""
    true_find = lasso.find_relapse

    def find(graph: GraphArrays, fairness: FairComponents, fair: FairStates, unmet: Mask) -> lasso.Lasso | None:
        return true_find(graph, fairness, fair, np.ones_like(unmet)) if unmet.any() else None

    everywhere(monkeypatch, "find_relapse", find)


@fault
def unfair_relapse(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run in which the condition is false again and again need not be fair."""

    def of_whole(self: FairComponents, graph: GraphArrays) -> FairStates:
        none = np.zeros_like(self.weak)
        monkeypatch.setattr(self, "weak", none)
        monkeypatch.setattr(self, "strong", none)
        return self.of(components.part(graph, np.ones(graph.states, np.bool_)))

    monkeypatch.setattr(FairComponents, "of_whole", of_whole)


@fault
def again_is_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    """A condition that must be true again and again must be true for good."""
    planted_kind(monkeypatch, "always_eventually", "eventually_always")


@fault
def for_good_is_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A condition that must be true for good need only be true again and again."""
    planted_kind(monkeypatch, "eventually_always", "always_eventually")


def planted_kind(monkeypatch: pytest.MonkeyPatch, kind: PropertyKind, taken_for: PropertyKind) -> None:
    """The engine takes properties of one kind for those of another."""
    true_lasso = engine._lasso

    def found(graph: GraphArrays, fairness: FairComponents, prop: Property, *masks: Mask) -> lasso.Lasso | None:
        return true_lasso(graph, fairness, attrs.evolve(prop, kind=taken_for) if prop.kind == kind else prop, *masks)

    monkeypatch.setattr(engine, "_lasso", found)


@fault
def for_good_in_the_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter judges a run that may not relapse like one that owes the condition."""
    monkeypatch.setattr(LassoJudge, "_fails", LassoJudge._owes)


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_caught(sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault shows as a wrong answer, a wrong run, or a contradiction within the engine."""
    FAULTS[sentence](monkeypatch)
    try:
        found = next(differences(tmp_path, seed=1, arrays=700, models=80), None)
    except (AssertionError, IndexError, ValueError) as error:
        found = str(error)
    assert found is not None


def test_a_run_that_is_changed_is_no_violation(lease: System) -> None:
    """The interpreter rejects a lasso with a step removed, with another loop, or for another property."""
    starved = remove_rules(lease, ["LS-08"])
    trace = answer(starved, "freed").findings[0]
    replayer = Replayer(starved, starved.scopes["tiny"], liveness=tuple(starved.of_kind("leads_to")))
    script = replayer.script(trace)
    assert replayer.shows(script, "freed")
    assert not replayer.shows(attrs.evolve(script, steps=script.steps[:1], loop=1), "freed")
    assert not replayer.shows(attrs.evolve(script, loop=0), "freed")
    assert not replayer.shows(attrs.evolve(script, loop=None), "freed")
    assert not replayer.shows(script, "served")
