"""The oracle: CPython runs the model in a plain breadth-first search. It shares no code with the compiler or an engine.

It reads the decorators' marks and the annotations of the class, and asks instances to take actions. Its answers follow
``docs/language.md``: which steps are taken, which are cut, and which properties hold.
"""

from __future__ import annotations

import inspect
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import attrs

from holdfast.ir.marks import MARK, ActionMark, InitMark, PropertyMark, ScopeMark, VariantMark
from holdfast.lang.maps import Bag, Map, Pool, Rel
from holdfast.lang.model import Model
from holdfast.lang.rules import Refused
from holdfast.lang.sequences import Seq
from holdfast.lang.sorts import Cut, Sort, universe

Args = tuple[Any, ...]


class Whole(tuple[Any, ...]):
    """A whole map as an argument: the values of all its cells, in the order of the keys."""

    __slots__ = ()


Key = tuple[Any, ...]
Claim = tuple[str, str]
"""The kind and the name of a claim: two claims may have the same name."""

STATES = ("invariant", "lemma")
DEADLOCK: Claim = ("deadlock", "deadlock")


class NoStartError(Exception):
    """The scope contradicts the model: no initial state, one beyond a bound, or a false assumption."""


class GhostCutError(Exception):
    """A write to a ghost cut a step; the compiler must refuse such a model."""


@attrs.frozen
class Act:
    """An action: its name, its fairness, and the method that runs."""

    name: str
    mark: ActionMark
    types: tuple[tuple[str, Any], ...]
    budget: int | None


@attrs.frozen
class Prop:
    """A property."""

    name: str
    mark: PropertyMark
    types: tuple[tuple[str, Any], ...]


@attrs.frozen
class Edge:
    """A step: the number of the state it leads to, the action's number, and the arguments."""

    target: int
    act: int
    args: Args


@attrs.define
class Graph:
    """The reached states as instances, their remaining budgets and depths, the steps, and the cut steps."""

    states: list[Model] = attrs.field(factory=list)
    keys: list[Key] = attrs.field(factory=list)
    left: list[tuple[int, ...]] = attrs.field(factory=list)
    depth: list[int] = attrs.field(factory=list)
    edges: list[list[Edge]] = attrs.field(factory=list)
    cuts: list[list[tuple[int, Args]]] = attrs.field(factory=list)
    beyond: list[list[tuple[int, Args]]] = attrs.field(factory=list)
    """The steps that a bound cuts; steps cut by a budget are left out."""
    starts: int = 0
    whole: bool = True


def _domain(kind: Any) -> list[Any]:
    """All values of a type of parameters."""
    if get_origin(kind) in (Bag, Map, Rel):
        if get_origin(kind) is Rel:
            keys, value = get_args(kind), bool
        else:
            of, value = get_args(kind)
            keys = get_args(of) if get_origin(of) is tuple else (of,)
        cells = math.prod(len(_domain(key)) for key in keys)
        return [Whole(held) for held in itertools.product(_domain(value), repeat=cells)]
    if get_origin(kind) in (UnionType, Union):
        return [None, *_domain(next(part for part in get_args(kind) if part is not type(None)))]
    return [False, True] if kind is bool else list(kind)


def _chosen(method: Any, hints: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The fields whose values an initial condition chooses, with their types."""
    names = re.findall(r"\w+\.(\w+)\.choose\(\)", inspect.getsource(method))
    return [(name, hints[name]) for name in dict.fromkeys(names)]


def _listed(args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as a model takes them."""
    return {name: list(value) if isinstance(value, Whole) else value for name, value in args.items()}


class Oracle:
    """A model in a scope. The search stops soon after ``most`` states."""

    def __init__(
        self,
        model: type[Model],
        mark: ScopeMark,
        variants: Iterable[str] = (),
        removed: Iterable[str] = (),
        most: int = 500,
    ) -> None:
        self.model, self.mark, self.most = model, mark, most
        self.unset = model.at(mark, variants=tuple(variants), removed=tuple(removed))
        hints = get_type_hints(model, include_extras=True)
        self.ghosts = {
            name for name, hint in hints.items() if get_origin(hint) is Annotated and "ghost" in get_args(hint)
        }
        flags = {name for name, hint in hints.items() if get_origin(hint) is Annotated and "flag" in get_args(hint)}
        self.fields = [name for name in hints if name[0] != "_" and name not in flags and name not in mark.given]
        methods = {name: getattr(model, name) for base in reversed(model.__mro__) for name in vars(base)}
        marks = {name: getattr(method, MARK, None) for name, method in methods.items()}
        self.acts = [
            Act(name, mark_, self._params(self._running(name, methods)), mark.budgets.get(name))
            for name, mark_ in marks.items()
            if isinstance(mark_, ActionMark)
        ]
        self.props = [
            Prop(name, mark_, self._params(methods[name]))
            for name, mark_ in marks.items()
            if isinstance(mark_, PropertyMark)
        ]
        self.inits = [
            (name, (*self._params(methods[name]), *_chosen(methods[name], hints)))
            for name, mark_ in marks.items()
            if isinstance(mark_, InitMark)
        ]
        self._repeats: dict[tuple[int, int, Args], bool] = {}

    def _running(self, action: str, methods: Mapping[str, Any]) -> Any:
        """The method that runs: the action, or the chosen variant of it."""
        for method in methods.values():
            mark = getattr(method, MARK, None)
            if isinstance(mark, VariantMark) and mark.replaces == action and mark.name in self.unset._variants:
                return method
        return methods[action]

    def _params(self, method: Any) -> tuple[tuple[str, Any], ...]:
        hints = get_type_hints(method)
        names = method.__code__.co_varnames[1 : method.__code__.co_argcount]
        return tuple((name, hints[name]) for name in names if name != "old")

    def values(self, types: Iterable[tuple[str, Any]]) -> Iterator[dict[str, Any]]:
        """Every choice of arguments."""
        named = list(types)
        with universe(self.mark.sizes):
            domains = [_domain(kind) for _, kind in named]
        for chosen in itertools.product(*domains):
            yield {name: value for (name, _), value in zip(named, chosen, strict=True)}

    # Searching ------------------------------------------------------------------------------------------------

    def graph(self, *, budgets: bool = True) -> Graph:
        """The graph of all reachable states and steps."""
        found, numbers = Graph(), {}
        full = tuple(act.budget or 0 for act in self.acts)

        def number(state: Model, left: tuple[int, ...], depth: int) -> int:
            key = (*self.key(state), left)
            if key not in numbers:
                numbers[key] = len(found.states)
                for row, value in (
                    (found.states, state),
                    (found.keys, key[:-1]),
                    (found.left, left),
                    (found.depth, depth),
                ):
                    row.append(value)
            return numbers[key]

        for state in self.starts():
            number(state, full, 0)
        found.starts = len(found.states)
        choices = [list(self.values(act.types)) for act in self.acts]
        for here, state in enumerate(found.states):
            if here >= self.most:
                found.whole = False
                break
            edges: list[Edge] = []
            cuts: list[tuple[int, Args]] = []
            beyond: list[tuple[int, Args]] = []
            left = found.left[here]
            for place, act in enumerate(self.acts):
                spent = budgets and act.budget is not None
                for args in choices[place]:
                    after = self.step(state, act, args)
                    if after is None:
                        continue
                    if after == "cut" or (spent and not left[place]):
                        cuts.append((place, tuple(args.values())))
                        beyond += [cuts[-1]] if after == "cut" else []
                        continue
                    then = (*left[:place], left[place] - 1, *left[place + 1 :]) if spent else left
                    edges.append(Edge(number(after, then, found.depth[here] + 1), place, tuple(args.values())))
            found.edges.append(edges)
            found.cuts.append(cuts)
            found.beyond.append(beyond)
        return found

    def starts(self) -> list[Model]:
        """The initial states, each once."""
        found: dict[Key, Model] = {}
        types = dict(pair for _, params in self.inits for pair in params)
        for choice in self.values(types.items()):
            try:
                state = self.unset.start(**_listed(choice))
            except Refused:
                continue
            except Cut as cut:
                raise NoStartError(str(cut)) from None
            found.setdefault(self.key(state), state)
        if not found:
            raise NoStartError("no start")
        for prop in self.of_kind("assume"):
            if not all(state.holds(prop.name) for state in found.values()):
                raise NoStartError(prop.name)
        return list(found.values())

    def step(self, state: Model, act: Act, args: Mapping[str, Any]) -> Any:
        """The state after the action; "cut" if a bound cuts it; None if a rule refuses it."""
        try:
            return state.take(act.name, **_listed(args))
        except Refused:
            return None
        except Cut as cut:
            if self._field_of(cut) in self.ghosts:
                raise GhostCutError(self._field_of(cut)) from None
            return "cut"

    def _field_of(self, cut: Cut) -> str:
        """The field whose write was cut, found in the exception's frames."""
        trace, owner, cells, name = cut.__traceback__, None, None, ""
        while trace is not None:
            local = trace.tb_frame.f_locals
            if trace.tb_frame.f_code.co_name == "__setattr__":
                name = local["name"]
            elif isinstance(local.get("self"), Model):
                owner = local["self"]
            elif isinstance(local.get("self"), Bag | Map | Pool | Rel):
                cells = local["self"]
            trace = trace.tb_next
        if owner is None or cells is None:
            return name
        return next(known for known in self.fields if owner.__dict__[known] is cells)

    def key(self, state: Model, fields: Iterable[str] | None = None) -> Key:
        """The values of the cells."""
        cells: list[Any] = []
        for name in self.fields if fields is None else fields:
            held = state.__dict__[name]
            values = held._cells.values() if isinstance(held, Bag | Map | Pool | Rel) else (held,)
            cells += (tuple(value.entries) if isinstance(value, Seq) else value for value in values)
        return tuple(cells)

    # Judging --------------------------------------------------------------------------------------------------

    def of_kind(self, *kinds: str) -> list[Prop]:
        """The properties of these kinds."""
        return [prop for prop in self.props if prop.mark.kind in kinds]

    def verdicts(self, graph: Graph) -> dict[Claim, int]:
        """For each violated claim and each reached witness, the length of a shortest run."""
        found: dict[Claim, int] = {}

        def note(kind: str, name: str, length: int) -> None:
            found[kind, name] = min(length, found.get((kind, name), length))

        for here, state in enumerate(graph.states):
            depth = graph.depth[here]
            for prop in self.of_kind(*STATES, "witness"):
                if bool(state.holds(prop.name)) is (prop.mark.kind == "witness"):
                    note(prop.mark.kind, prop.name, depth)
            if here >= len(graph.edges):
                continue
            for edge in graph.edges[here]:
                for kind, name in self._wrong_steps(graph, here, edge):
                    note(kind, name, depth + 1)
            finals = self.of_kind("final")
            stuck = not graph.edges[here] and not graph.cuts[here]
            if finals and stuck and not any(state.holds(prop.name) for prop in finals):
                note(*DEADLOCK, depth)
        return found

    def _wrong_steps(self, graph: Graph, here: int, edge: Edge) -> Iterator[Claim]:
        """The claims that a step violates."""
        act, new, old = self.acts[edge.act], graph.states[edge.target], graph.states[here]
        args = dict(zip((name for name, _ in act.types), edge.args, strict=True))
        for prop in self.of_kind("step"):
            if prop.mark.of in (None, act.name):
                chosen = {name: args[name] for name, _ in prop.types}
                if not new.holds(prop.name, old=old, **_listed(chosen)):
                    yield "step", prop.name
        if act.mark.idempotent is not None and self._repeat_differs(graph, edge, act, args):
            yield "idempotent", f"{act.name}_idempotent"

    def _repeat_differs(self, graph: Graph, edge: Edge, act: Act, args: Mapping[str, Any]) -> bool:
        """Whether a step's immediate repetition is refused or changes something; a cut repetition is no difference."""
        known = (edge.target, edge.act, edge.args)
        if known not in self._repeats:
            self._repeats[known] = self._repeated(graph, edge, act, args)
        return self._repeats[known]

    def _repeated(self, graph: Graph, edge: Edge, act: Act, args: Mapping[str, Any]) -> bool:
        before = graph.states[edge.target]
        again = self.step(before, act, args)
        if again is None:
            return True
        if again == "cut" or (act.budget is not None and not graph.left[edge.target][edge.act]):
            return False
        real = [name for name in self.fields if name not in self.ghosts]
        return self.key(again, real) != self.key(before, real)

    def depth_and_states(self, graph: Graph, dropped: Iterable[str]) -> tuple[int, int]:
        """The depth and the number of states of the graph without some ghosts."""
        kept = [name for name in self.fields if name not in set(dropped)]
        nearest: dict[Key, int] = {}
        for state, left, depth in zip(graph.states, graph.left, graph.depth, strict=True):
            nearest.setdefault((*self.key(state, kept), left), depth)
        return max(nearest.values()), len(nearest)


def code(value: Any) -> int:
    """A number for a cell's value; equal numbers mean equal values of that cell."""
    if value is None:
        return -1_000
    if isinstance(value, Sort):
        return value.index
    return list(type(value)).index(value) if isinstance(value, Enum) else int(value)
