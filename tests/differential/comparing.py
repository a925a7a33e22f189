"""Comparisons of the interpreter with CPython, and with itself under renaming, pruning and symmetry.

Every function here yields sentences, one for each difference, and none if there is no difference. ``chance`` draws the
states and choices that are compared.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import attrs

from holdfast.ir.compile import compile_model
from holdfast.ir.errors import HoldfastError, ModelError
from holdfast.ir.ghosts import ghosts_read
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import Property, Scope, System
from holdfast.lower.layout import Layout
from holdfast.lower.outcome import Cut, Outcome, Taken
from holdfast.lower.python.cpython import CPython
from holdfast.lower.python.interpreter import Args, Interpreter
from holdfast.lower.symmetry import Symmetry
from tests.differential.running import any_state, arguments, rules_of, sample

Make = Callable[[System, Scope], Interpreter]


@attrs.frozen
class Claim:
    """A property with arguments: its own, or those of the step that it judges."""

    prop: Property
    args: Args = ()
    goal: bool = False


def configurations(model: type, chance: random.Random) -> Iterator[System]:
    """The plain model, and the model with some variants chosen and some rules removed."""
    plain = compile_model(model)
    yield plain
    chosen = compile_model(model, variants=sample(list(plain.variants), 2, chance))
    shared = [f"{rule.label}@{act}" for rule in chosen.rules if len(rule.actions) > 1 for act in rule.actions]
    changed = remove_rules(chosen, (*sample(rules_of(chosen), 2, chance), *sample(shared, 1, chance)))
    if (changed.chosen, changed.removed) != ((), ()):
        yield changed


def differences(system: System, chance: random.Random, states: int = 4, make: Make = Interpreter) -> Iterator[str]:
    """The differences between interpreter and CPython: starts, steps, refusals, cuts, and values of properties."""
    scope = system.scopes["tiny"]
    interpreter, cpython = make(system, scope), CPython(system, scope)
    starts, wanted = starts_of(interpreter), starts_of(cpython)
    if starts != wanted:
        yield f"init: compiled {starts}, run {wanted}"
    looked_at = some_states(interpreter, starts, states, chance)
    olds = [looked_at[-1], *looked_at]
    for old, state in zip(olds, looked_at, strict=False):
        yield from step_differences(interpreter, cpython, state)
        yield from property_differences(interpreter, cpython, old, state)


def starts_of(executor: Interpreter | CPython) -> list[bytes]:
    """The initial states; none if the executor reports that there are none."""
    try:
        return executor.initial()
    except ModelError:
        return []


def some_states(interpreter: Interpreter, starts: list[bytes], number: int, chance: random.Random) -> list[bytes]:
    """N states of a random run, and N random states that need not be reachable."""
    found: list[bytes] = []
    state = chance.choice(starts) if starts else any_state(interpreter, chance)
    for _ in range(number):
        found.append(state)
        following = [new for successors in interpreter.successors for new, _ in successors(state)]
        state = chance.choice(following or starts or [state])
    return [*found, *(any_state(interpreter, chance) for _ in range(number))]


def step_differences(interpreter: Interpreter, cpython: CPython, state: bytes) -> Iterator[str]:
    """Differences in the outcomes of every action with every argument, one by one and all at once."""
    where = interpreter.layout.decode
    for action, successors in zip(interpreter.system.actions, interpreter.successors, strict=True):
        interpreter.statistics.reset()
        every = sorted(successors(state))
        cuts = interpreter.statistics.cuts
        outcomes: dict[Args, Outcome] = {}
        for args in arguments(interpreter.layout, action):
            try:
                outcomes[args] = cpython.step(state, action.name, args)
            except StopIteration:
                yield f"{action.name}{args} at {where(state)}: run, a rule refuses that the system does not have"
                return
            found = interpreter.step(state, action.name, args)
            if found != outcomes[args]:
                yield f"{action.name}{args} at {where(state)}: compiled {found}, run {outcomes[args]}"
        if every != sorted((outcome.state, args) for args, outcome in outcomes.items() if isinstance(outcome, Taken)):
            yield f"the successors by {action.name} at {where(state)}"
        if cuts != Counter((action.name, out.bound) for out in outcomes.values() if isinstance(out, Cut)):
            yield f"the cuts of {action.name} at {where(state)}: {cuts}"


def property_differences(interpreter: Interpreter, cpython: CPython, old: bytes, state: bytes) -> Iterator[str]:
    """Differences in all properties, with all their arguments; step properties judge the step from ``old``."""
    for claim in claims(interpreter):
        found, wanted = value(interpreter, claim, old, state), value(cpython, claim, old, state)
        if found is not wanted:
            where = interpreter.layout.decode
            yield f"{claim.prop.name}{claim.args} from {where(old)} to {where(state)}: compiled {found}, run {wanted}"


def claims(interpreter: Interpreter) -> Iterator[Claim]:
    """Every property with all arguments."""
    system = interpreter.system
    for prop in system.properties:
        for args in arguments(interpreter.layout, system.action(prop.of) if prop.of is not None else prop):
            yield Claim(prop, args)
            if prop.goal is not None:
                yield Claim(prop, args, goal=True)


def value(executor: Interpreter | CPython, claim: Claim, old: bytes, state: bytes) -> bool:
    """The executor's value of a property."""
    if claim.prop.kind == "step":
        return executor.holds_step(claim.prop, old, state, claim.args)
    return (executor.goal if claim.goal else executor.holds)(claim.prop, state, claim.args)


# The interpreter against itself -----------------------------------------------------------------------------------


def renamed_differences(system: System, chance: random.Random, states: int = 4) -> Iterator[str]:
    """The differences between a renamed state's steps and properties and the state's own, renamed."""
    interpreter = Interpreter(system, system.scopes["tiny"])
    layout, group = interpreter.layout, Symmetry(interpreter.layout)
    closed = [prop for prop in system.properties if not prop.params and prop.of is None]
    looked_at = some_states(interpreter, starts_of(interpreter), states, chance)
    for old, state in itertools.pairwise(looked_at):
        g = chance.randrange(group.order)
        image = group.permute(state, g)
        if group.canonical(image) != group.canonical(state):
            yield f"{layout.decode(image)} and {layout.decode(state)} have two representatives"
        for action, successors in zip(system.actions, interpreter.successors, strict=True):
            if sorted(new for new, _ in successors(image)) != sorted(
                group.permute(new, g) for new, _ in successors(state)
            ):
                yield f"the successors by {action.name} of {layout.decode(state)}, renamed by {group.renamings[g]}"
        for prop in closed:
            claim = Claim(prop)
            if value(interpreter, claim, group.permute(old, g), image) != value(interpreter, claim, old, state):
                yield f"{prop.name} from {layout.decode(old)} to {layout.decode(state)}, renamed by {g}"
    starts = starts_of(interpreter)
    if {group.permute(start, g) for start in starts for g in range(group.order)} != set(starts):
        yield "the initial states, renamed"


def pruned_differences(system: System, chance: random.Random, states: int = 4) -> Iterator[str]:
    """The differences that dropping ghosts makes: those that one property does not need, or all ghosts."""
    scope = system.scopes["tiny"]
    whole = Interpreter(system, scope)
    starts = starts_of(whole)
    looked_at = some_states(whole, starts, states, chance)
    for props in ([], [chance.choice(system.properties)] if system.properties else []):
        pruned = Interpreter(system, scope, ghosts=ghosts_read(system, props), properties=props)
        if starts_of(pruned) != sorted({kept(pruned, whole, start) for start in starts}):
            yield f"the initial states without {sorted(pruned.layout.dropped)}"
        for old, state in itertools.pairwise(looked_at):
            few, old_few = kept(pruned, whole, state), kept(pruned, whole, old)
            for action, mine, all_ in zip(system.actions, pruned.successors, whole.successors, strict=True):
                if sorted(mine(few)) != sorted((kept(pruned, whole, new), args) for new, args in all_(state)):
                    yield f"{action.name} without {sorted(pruned.layout.dropped)} at {whole.layout.decode(state)}"
            for claim in claims(whole):
                if claim.prop in props and value(pruned, claim, old_few, few) != value(whole, claim, old, state):
                    yield f"{claim.prop.name} without {sorted(pruned.layout.dropped)} at {whole.layout.decode(state)}"


def kept(pruned: Interpreter, whole: Interpreter, state: bytes) -> bytes:
    """The state without the ghosts that were dropped."""
    return projected(state, whole.layout, pruned.layout)


def projected(state: bytes, layout: Layout, fewer: Layout) -> bytes:
    """The state's cells in a layout with fewer fields."""
    wanted = (layout.field(field.name) for field in fewer.fields)
    return b"".join(state[field.offset : field.offset + field.count] for field in wanted)


def first(found: Iterable[str]) -> str | None:
    """The first difference; an error counts as one."""
    try:
        return next(iter(found), None)
    except HoldfastError as error:
        return f"{type(error).__name__}: {error}"
