"""Scenario files of runs of ``route_epoch``: the implementation passes them, and fails without its rules."""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest

from holdfast.ir.errors import UsageError
from holdfast.ir.variants import load_variant
from holdfast.lower.outcome import Taken
from holdfast.lower.python.interpreter import Interpreter
from impl.bridge.missing_rules import fails_without
from impl.bridge.route_epochs import RouteEpochRun
from impl.bridge.statement import Statement, document
from impl.controller.view import Profile
from impl.scenario.language import Scenario, read_text
from impl.scenario.runner import run
from impl.sim.tape import one, stream

STEPS = 25
SEEDS = range(120)


@cache
def machine() -> Interpreter:
    """The model with all rules."""
    system = load_variant("route_epoch")
    return Interpreter(system, system.scope("default"), properties=())


def scenario_of_walk(seed: int) -> Scenario | None:
    """The file of a random run; None if the run does what no operation expresses."""
    model, draw = machine(), stream(seed, "walk of route epochs")
    layout = model.layout
    calls = [
        (action, args)
        for action in model.system.actions
        if action.name != "publish_late"  # it changes nothing while reports name their process
        for args in product(*(range(layout.codes(param.type)) for param in action.params))
    ]
    followed = RouteEpochRun(model, model.initial()[0])
    steps: list[Statement] = followed.setup()
    try:
        for _ in range(STEPS):
            action, args = one(draw, [each for each in calls if taken(followed.state, each[0].name, each[1])])
            steps += followed.take(action.name, layout.decode_args(action, args))
        steps += followed.closing()
    except UsageError:
        return None
    (scenario,) = read_text(document(f"walk {seed}", Profile(), steps))
    return scenario


def taken(state: bytes, action: str, args: tuple[int, ...]) -> bool:
    """Whether the model can take an action."""
    return isinstance(machine().step(state, action, args), Taken)


@cache
def scenarios() -> list[Scenario]:
    """The files of all walks that operations express."""
    return [each for seed in SEEDS if (each := scenario_of_walk(seed)) is not None]


def test_the_implementation_passes_the_files_of_random_runs() -> None:
    """What the model allows, controller, mains and proxies of the implementation do."""
    assert len(scenarios()) > len(SEEDS) / 2
    assert [each.name for each in scenarios() if run(each).failure is not None] == []


@pytest.mark.parametrize("label", ["M-01", "M-02", "M-05", "M-06", "M-08", "M-10", "M-11"])
def test_some_file_of_a_random_run_needs_the_rule(label: str) -> None:
    """Without a rule of the model, the implementation fails one of the files."""
    assert any(fails_without(each, label) for each in scenarios())
