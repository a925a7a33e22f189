"""Fit foreign runs to a model: find the actions and arguments that lead from each state of a file to the next.

A file gives the values of some fields, by name, and perhaps the names of actions and some of their arguments. All runs
of the model that agree with the file so far are followed at once. Of the runs that agree to the end, the least is the
answer: each of its states was reached first by the least action and arguments.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from holdfast.ir.errors import UsageError
from holdfast.ir.system import Action
from holdfast.ir.types import (
    BoolType,
    Choice,
    EnumType,
    IntType,
    Key,
    MapType,
    NatType,
    OptionalType,
    Scalar,
    SortType,
)
from holdfast.lower.layout import Field, Layout, Value
from holdfast.lower.map_text import map_text
from holdfast.lower.outcome import Refused
from holdfast.lower.python.interpreter import Args
from holdfast.runs.replay import Replayer, Script
from holdfast.trace.foreign import NO_VALUE, UNKNOWN_ACTION, ForeignRun, ForeignState
from holdfast.trace.itf_values import Fun, Listing, Rec, SetOf, Tree, Tup, Variant, show

FITTING = "check that the file is whole, and that it is a run of this model"
"""The remedy for a file that a model cannot follow."""

MOST_RUNS = 20_000
"""The limit of states that the agreeing runs may be in at once. With more, the file gives too little information."""

_Taken = tuple[tuple[str, Args], ...]


class NoValueError(Exception):
    """A value in a file does not have the type that the model expects."""


def fit(replayer: Replayer, run: ForeignRun) -> Script:
    """The run as a script of the model; raises UsageError, with the first state that does not fit."""
    return _Fitting(replayer, run).script()


class _Fitting:
    def __init__(self, replayer: Replayer, run: ForeignRun) -> None:
        self.replayer = replayer
        self.machine = replayer.machine
        self.layout = replayer.machine.layout
        self.run = run
        self.states = [state for state in run.states if not state.repeat]
        self.by_name: dict[str, list[Action]] = {}
        for action in replayer.system.actions:
            self.by_name.setdefault(_folded(action.name), []).append(action)
        self.fields = self._common_fields()

    def _common_fields(self) -> list[tuple[str, Field]]:
        """The variables of the file that are fields of the model. Quint puts the module's name before theirs."""
        known = {field.name: field for field in self.layout.fields if not field.hidden}
        names = self.states[0].values
        found = [(name, known[name.split("::")[-1]]) for name in names if name.split("::")[-1] in known]
        if known and not found and not any(_folded(state.action or "") in self.by_name for state in self.states):
            raise UsageError(
                f"{self.run.path}: no variable and no action of it belongs to {self.replayer.system.name}, whose "
                f"fields are {', '.join(known)}; name its model with --model"
            )
        return found

    def script(self) -> Script:
        reached: dict[bytes, tuple[Args, _Taken]] = {}
        wanted = self._wanted(0)
        for state, args in self.machine.starts():
            if self._agrees(state, wanted):
                reached.setdefault(state, (args, ()))
        if not reached:
            raise UsageError(f"{self._at(0)} is no initial state of {self._model()}; {FITTING}")
        for index in range(1, len(self.states)):
            reached = self._next(index, reached)
        # Dicts keep their order, so this is the state that was reached first.
        start, steps = next(iter(reached.values()))
        return self._with_loop(Script(start, steps))

    def _next(self, index: int, reached: Mapping[bytes, tuple[Args, _Taken]]) -> dict[bytes, tuple[Args, _Taken]]:
        wanted, actions = self._wanted(index), self._actions(index)
        following: dict[bytes, tuple[Args, _Taken]] = {}
        for state, (start, taken) in reached.items():
            for action, new, args in self._steps(state, self.states[index], actions):
                # If several runs reach one state, the first of them is the least, so later ones are dropped.
                if new not in following and self._agrees(new, wanted):
                    following[new] = (start, (*taken, (action.name, args)))
            if len(following) > MOST_RUNS:
                raise UsageError(
                    f"{self._at(index)}: more than {MOST_RUNS:,} states of {self._model()} agree with the file; "
                    "let it tell more variables, or the actions"
                )
        if not following:
            why = self._why(index, reached)
            raise UsageError(f"{self._at(index)} does not follow in {self._model()}: {why}; {FITTING}")
        return following

    def _steps(
        self, state: bytes, foreign: ForeignState, actions: Sequence[Action]
    ) -> Iterator[tuple[Action, bytes, Args]]:
        """The steps from a state that agree with the action and arguments in the file."""
        for action in actions:
            given = self._given(action, foreign)
            successors = self.machine.successors[self.replayer.system.actions.index(action)]
            for new, args in sorted(successors(state), key=lambda step: step[1]):
                if all(args[place] == code for place, code in given.items()):
                    yield action, new, args

    def _actions(self, index: int) -> Sequence[Action]:
        """The actions that the step may be: the one that the file names. If the model has no action of that name, all
        actions, provided that the states can tell them apart.

        If several names differ only in capitals or underscores, the exact name wins; if none is exact, all of them.
        """
        name = self.states[index].action
        found = self.by_name.get(_folded(name or UNKNOWN_ACTION))
        if found is not None:
            return [action for action in found if action.name == name] or found
        # No common field tells the actions apart. That is an error, unless the model has no state and the file no name.
        if not self.fields and (name is not None or not all(field.hidden for field in self.layout.fields)):
            raise UsageError(f"{self._at(index)}: {self._model()} has no action {name!r}; {FITTING}")
        return self.replayer.system.actions

    def _given(self, action: Action, foreign: ForeignState) -> dict[int, int]:
        """The arguments that the file gives, as codes by place. Arguments without a parameter are ignored."""
        named = dict(foreign.args)
        found: dict[int, int] = {}
        for place, param in enumerate(action.params):
            if param.name in named:
                try:
                    value = choice(self.layout, param.type, named[param.name])
                except NoValueError as error:
                    raise UsageError(f"{self.run.path}: {action.name}: {param.name} is {error}; {FITTING}") from None
                found[place] = self.layout.encode_value(param.type, value)
        return found

    def _with_loop(self, script: Script) -> Script:
        """The script with the loop of the run.

        A lasso must lead back to the state of its loop. A file may leave out the step that does; then it is the least
        possible one. Raises UsageError if no step leads back.
        """
        loop = self.run.loop
        if loop is None:
            return script
        states = self.replayer.states(script)
        assert isinstance(states, tuple), "every step was possible"
        script = attrs.evolve(script, loop=loop)
        if states[loop] == states[-1]:
            return script
        for action, successors in zip(self.replayer.system.actions, self.machine.successors, strict=True):
            back = [args for new, args in successors(states[-1]) if new == states[loop]]
            if back:
                return attrs.evolve(script, steps=(*script.steps, (action.name, min(back))))
        raise UsageError(
            f"{self.run.path}: no action of {self._model()} leads from the last state back to state {loop + 1}; "
            f"{FITTING}"
        )

    # Values -----------------------------------------------------------------------------------------------------

    def _wanted(self, index: int) -> dict[int, int]:
        """The code of each cell for which the file gives a value in this state."""
        values, found = self.states[index].values, {}
        for name, field in self.fields:
            places = {keys: place for place, keys in enumerate(field.indices, start=field.offset)}
            try:
                for keys, value in cells(self.layout, field, values[name]).items():
                    found[places[keys]] = self.layout.encode_value(field.type, value)
            except NoValueError as error:
                raise UsageError(f"{self._at(index)}: {name} is {error}; {FITTING}") from None
        return found

    def _agrees(self, state: bytes, wanted: Mapping[int, int]) -> bool:
        return all(state[place] == code for place, code in wanted.items())

    # Words ------------------------------------------------------------------------------------------------------

    def _at(self, index: int) -> str:
        action = self.states[index].action
        named = f" ({action})" if action is not None and index else ""
        return f"{self.run.path}: state {index + 1}{named}"

    def _model(self) -> str:
        return f"{self.replayer.system.name} in scope {self.machine.scope.name}"

    def _why(self, index: int, reached: Mapping[bytes, object]) -> str:
        """The reason, as far as it can be told: the rule that refuses the step, or the cells that differ."""
        foreign, wanted = self.states[index], self._wanted(index)
        # The first of the agreeing states explains the failure; the others may fail for other reasons.
        actions, state = self._actions(index), next(iter(reached))
        steps = list(self._steps(state, foreign, actions))
        if not steps:
            labels = self._refusals(state, actions[0], foreign) if len(actions) == 1 else []
            return f"the step is refused by {' or '.join(labels)}" if labels else "no such step is possible"
        nearest = min((new for _, new, _ in steps), key=lambda new: self._differing(new, wanted))
        names = [
            f"{cell.name} is {self.layout.decode_value(cell.field.type, wanted[place])} in the file and "
            f"{self.layout.decode_value(cell.field.type, nearest[place])} in the model"
            for place, cell in enumerate(self.layout.cells)
            if place in wanted and nearest[place] != wanted[place]
        ]
        return f"after the step that comes nearest, {', and '.join(names[:3])}{', …' if len(names) > 3 else ''}"

    def _refusals(self, state: bytes, action: Action, foreign: ForeignState) -> list[str]:
        """The rules that refuse the action, over all values of the arguments that the file leaves open."""
        given = self._given(action, foreign)
        choices = (
            [given[place]] if place in given else range(self.layout.codes(param.type))
            for place, param in enumerate(action.params)
        )
        outcomes = (
            self.machine.step(state, action.name, args) for args in itertools.islice(itertools.product(*choices), 1000)
        )
        return list(dict.fromkeys(outcome.label for outcome in outcomes if isinstance(outcome, Refused)))

    def _differing(self, state: bytes, wanted: Mapping[int, int]) -> int:
        return sum(state[place] != code for place, code in wanted.items())


def _folded(name: str) -> str:
    """The name of an action in a form that ``SendOpen``, ``send_open`` and ``mod::sendOpen`` share."""
    return name.rsplit("::", maxsplit=1)[-1].replace("_", "").lower()


# Values of a file as those of a model ----------------------------------------------------------------------------


def cells(layout: Layout, field: Field, value: Tree) -> dict[tuple[int, ...], Value]:
    """The cells of a field with their values in the file, by the codes of their keys; raises NoValueError."""
    if not field.keys:
        return {(): scalar(layout, field.type, value)}
    return _table(layout, field.keys, field.type, field.indices, value)


def choice(layout: Layout, kind: Choice, value: Tree) -> Value:
    """The model's value of a parameter for a value in a file; raises NoValueError if there is none."""
    if not isinstance(kind, MapType):
        return scalar(layout, kind, value)
    every = [keys for keys, _ in layout.cells_of(kind, 0)]
    indices = [tuple(map(layout.encode_value, kind.keys, keys)) for keys in every]
    found = _table(layout, kind.keys, kind.value, indices, value)
    if missing := [keys for keys, index in zip(every, indices, strict=True) if index not in found]:
        raise NoValueError(f"{show(value)}, which has no value for {', '.join(map(str, missing[0]))}")
    return map_text(kind, [(keys, found[index]) for keys, index in zip(every, indices, strict=True)])


def _table(
    layout: Layout, kinds: Sequence[Key], kind: Scalar, indices: Iterable[tuple[int, ...]], value: Tree
) -> dict[tuple[int, ...], Value]:
    """The cells of a relation or map with their values in the file, by the codes of their keys."""
    if isinstance(kind, BoolType) and isinstance(value, SetOf | Listing):
        members = {_keys(layout, kinds, _parts(item, len(kinds))) for item in value.items}
        return {index: index in members for index in indices}
    return {_keys(layout, kinds, parts): scalar(layout, kind, item) for parts, item in _entries(value, len(kinds))}


def _entries(value: Tree, arity: int) -> Iterator[tuple[tuple[Tree, ...], Tree]]:
    """The entries of a function with ``arity`` arguments: its keys are tuples, or functions are nested."""
    pairs: Sequence[tuple[Tree, Tree]]
    match value:
        case Fun(entries):
            pairs = entries
        case Rec(fields):
            pairs = fields
        case Listing(items):
            pairs = list(enumerate(items, start=1))
        case _:
            raise NoValueError(f"{show(value)}, and no function")
    for argument, item in pairs:
        if arity == 1 or (isinstance(argument, Tup) and len(argument.items) == arity):
            yield _parts(argument, arity), item
        else:
            for parts, of in _entries(item, arity - 1):
                yield (argument, *parts), of


def _parts(argument: Tree, arity: int) -> tuple[Tree, ...]:
    if arity == 1:
        return (argument,)
    if isinstance(argument, Tup | Listing) and len(argument.items) == arity:
        return argument.items
    raise NoValueError(f"given for {show(argument)}, which is no tuple of {arity}")


def _keys(layout: Layout, kinds: Sequence[Key], parts: Sequence[Tree]) -> tuple[int, ...]:
    values = (scalar(layout, kind, part) for kind, part in zip(kinds, parts, strict=True))
    return tuple(layout.encode_value(kind, value) for kind, value in zip(kinds, values, strict=True))


def scalar(layout: Layout, kind: Scalar, value: Tree) -> Value:
    """The model's value for a value in a file; raises NoValueError if there is none."""
    match kind, value:
        case OptionalType(of), _:
            return None if _is_none(of, value) else scalar(layout, of, _present(value))
        case BoolType(), bool():
            return value
        case ((NatType() | IntType()), int()) if not isinstance(value, bool):
            return _in_scope(layout, kind, value)
        case ((EnumType() | SortType()), str()):
            return _in_scope(layout, kind, value.split("_OF_")[0] if isinstance(kind, SortType) else value)
        case EnumType(), Variant(tag, _):
            return _in_scope(layout, kind, tag)
    raise NoValueError(f"{show(value)}, and no {kind}")


def _in_scope(layout: Layout, kind: Scalar, value: Value) -> Value:
    try:
        layout.encode_value(kind, value)
    except UsageError as error:
        raise NoValueError(f"{value}: {error}") from None
    return value


def _is_none(of: Scalar, value: Tree) -> bool:
    match value:
        case SetOf(()) | Listing(()):
            return True
        case Variant(tag, _):
            return tag in NO_VALUE
        case str():
            # TLA+ writes "no value" as a model value; an Enum may have a member of the same name.
            return value in NO_VALUE and not (isinstance(of, EnumType) and value in of.members)
        case _:
            return False


def _present(value: Tree) -> Tree:
    """The value inside an Optional, in each encoding of Optionals."""
    match value:
        case SetOf((of,)) | Listing((of,)) | Variant("Some", of):
            return of
        case _:
            return value


@attrs.frozen
class StateDifference:
    """A cell of a state for which a file and a model give different values."""

    index: int
    cell: str
    in_file: Value
    in_model: Value


def first_difference(layout: Layout, run: ForeignRun, states: Sequence[bytes]) -> StateDifference | None:
    """The first cell in which the states of a file differ from those of a model; cells not in the file are ignored.

    Raises UsageError for a value that does not have the type of its field.
    """
    fields = [field for field in layout.fields if not field.hidden and field.name in run.states[0].values]
    for index, (foreign, state) in enumerate(zip(run.states, states, strict=False)):
        values = layout.decode(state)
        named = {(cell.field.name, cell.keys): cell.name for cell in layout.cells}
        for field in fields:
            try:
                given = cells(layout, field, foreign.values[field.name])
            except NoValueError as error:
                raise UsageError(f"{run.path}: state {index + 1}: {field.name} is {error}; {FITTING}") from None
            for keys, value in given.items():
                decoded = tuple(layout.decode_value(kind, code) for kind, code in zip(field.keys, keys, strict=True))
                name = named[field.name, decoded]
                if values[name] != value:
                    return StateDifference(index, name, value, values[name])
    return None
