"""Steps that would be possible in place of an impossible event: one more step before it, or another action.

A missing line, or a line with the wrong action, is as common as a wrong guard. Only a bounded number of steps is tried,
so an empty answer proves nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from holdfast.check.conform.answer.candidates import shown_code
from holdfast.check.conform.judge.event_facts import Facts
from holdfast.check.conform.judge.event_trial import Args, EventTrial, JudgeTally, agrees
from holdfast.check.conform.judge.ground import UnjudgedError
from holdfast.check.conform.judge.world import World
from holdfast.check.conform.logs.events import UNKNOWN
from holdfast.ir.system import Action
from holdfast.ir.types import NatType
from holdfast.lower.outcome import Taken

STATES = 3
"""The limit of states that are tried."""

INSTANCES = 300
"""The limit of instances of an action that are tried."""

SHOWN = 5
"""The limit of steps of each kind that are named."""


def nearby(world: World, facts: Facts) -> tuple[str, ...]:
    """Sentences about steps that would be possible. Steps that share arguments with the event come first."""
    trial = world.trial(facts)
    if trial is None:
        return ()
    copy = world.copy(world.slots)
    # Trials count into a tally of their own, so that the verdict's figures stay the judge's.
    copy.tally = JudgeTally()
    states = sorted(world.before)[:STATES]
    instead = itertools.islice(_distinct(_instead(copy, trial, states)), SHOWN)
    before = itertools.islice(_distinct(_before(copy, trial, states)), SHOWN)
    return (
        *(f"{text} gives the cells of the event" for text in instead),
        *(f"{text} makes the event possible, if it comes before it" for text in before),
    )


def _distinct(texts: Iterator[str]) -> Iterator[str]:
    return iter(dict.fromkeys(texts))


def _instead(world: World, trial: EventTrial, states: Sequence[bytes]) -> Iterator[str]:
    """The instances of other actions that change a cell of the event and give all its cells the logged values."""
    if trial.facts.event.outcome not in (None, UNKNOWN) or trial.action is None:
        return
    pre, post = world.expected(trial.pre), world.expected(trial.post)
    for action, args in _instances(world, trial):
        if action.name == trial.facts.action.name:
            continue
        step = world.ground.machine.step(action)
        for state in states:
            outcome = step(state, args)
            if (
                isinstance(outcome, Taken)
                and agrees(state, pre)
                and agrees(outcome.state, post)
                and any(state[cell] != code for cell, code, _ in post)
            ):
                yield _call(world, action, args)
                break


def _before(world: World, trial: EventTrial, states: Sequence[bytes]) -> Iterator[str]:
    """The instances after which the event is possible."""
    for action, args in _instances(world, trial):
        step = world.ground.machine.step(action)
        for state in states:
            outcome = step(state, args)
            if not isinstance(outcome, Taken) or outcome.state == state:
                continue
            try:
                possible = world.after(trial, {outcome.state})
            except UnjudgedError:
                continue
            if possible:
                yield _call(world, action, args)
                break


def _instances(world: World, trial: EventTrial) -> Iterator[tuple[Action, Args]]:
    """Instances of all actions. Instances that share arguments with the event, by name and type, come first."""
    pairs = zip(trial.facts.action.params, trial.facts.args, strict=True)
    known = {param: arg for param, arg in pairs if arg is not None}
    for shared in (True, False):
        for action in world.ground.system.actions:
            choices: list[Sequence[int]] = []
            for param in action.params:
                if shared and param in known:
                    arg, stream = known[param], param.type == world.ground_sort
                    if (stream and arg not in world.slots) or (
                        isinstance(arg, tuple) and world.windows.code(*arg) is None
                    ):
                        # The world has no code for this stream or number: skip the action in this round.
                        break
                    choices.append((world.code(arg, stream),))
                elif isinstance(param.type, NatType):
                    choices.append(range(len(world.windows.values[param.type.name])))
                else:
                    choices.append(range(world.ground.layout.codes(param.type)))
            else:
                for args in itertools.islice(itertools.product(*choices), INSTANCES):
                    yield action, args


def _call(world: World, action: Action, args: Args) -> str:
    pairs = zip(action.params, args, strict=True)
    shown = (f"{param.name}={shown_code(world, param.plain, code)}" for param, code in pairs)
    return f"{action.name}({', '.join(shown)})"
