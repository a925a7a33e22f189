"""Check whether a model can be judged one element of a sort at a time, with one *world* for each stream.

A world judges the events of its stream and the events without a stream. Of an event of another stream it judges only
the loop over all streams. That is sound under three conditions. This module checks them for the statements that
conformance keeps:

- A quantifier over the sort stands only in a ``require``, and fewer elements make the condition weaker: ``all`` on the
  positive side, ``any`` on the negative side. Then one world refuses only what all streams together refuse.
- An action of one stream writes only cells of that stream, or, in a loop over all streams, cells of each stream alone.
  The loop depends on nothing of the action's own stream, and counts on no number: only the world of the action's own
  stream learns which number comes next.
- No cell holds an element of the sort, and no constant is keyed by it. ``@init`` has no parameter of the sort, and an
  action has at most one.
"""

from __future__ import annotations

import attrs

from holdfast.check.conform.judge.order import nat_of
from holdfast.ir.errors import Place
from holdfast.ir.expr import (
    And,
    Arithmetic,
    Expr,
    Fold,
    IfElse,
    Implies,
    Lit,
    Name,
    Not,
    Or,
    Quantified,
    Ruled,
    children,
    walk,
)
from holdfast.ir.names import source_name
from holdfast.ir.stmt import (
    Assign,
    Fill,
    For,
    If,
    Let,
    Require,
    Stmt,
    Within,
    direct_expressions,
    expressions,
    statements,
)
from holdfast.ir.system import Action, System
from holdfast.ir.types import OptionalType, SortType
from holdfast.lower.python.prune import prune


@attrs.frozen
class Projection:
    """The division of a model's events among worlds.

    ``weak``: the actions with a ``require`` over all elements, with the labels of these rules. ``elsewhere``: for
    actions of one element that also loop over all elements, that loop alone. ``problem``: why the model cannot be
    divided; None if it can.
    """

    sort: str
    weak: dict[str, tuple[str, ...]]
    elsewhere: dict[str, Action]
    problem: str | None = None


class _Indivisible(Exception):
    def __init__(self, at: Place, problem: str) -> None:
        super().__init__(f"{at}: {problem}")


def project(system: System, sort: str, dropped: frozenset[str]) -> Projection:
    """The division of the model by the elements of a sort, without the ghosts ``dropped``."""
    weak: dict[str, tuple[str, ...]] = {}
    elsewhere: dict[str, Action] = {}
    kind = SortType(sort)
    try:
        for var in system.variables:
            if var.name not in dropped and var.value in (kind, OptionalType(kind)):
                raise _Indivisible(var.at, f"{var.name} holds an element of {sort}")
            if var.given and kind in var.keys:
                raise _Indivisible(var.at, f"{var.name} is a constant of each {sort}")
        for action in (system.init, *system.actions):
            own = [param.name for param in action.params if param.type == kind]
            if len(own) > (0 if action is system.init else 1):
                raise _Indivisible(action.at, f"{action.name} has parameters {', '.join(own)} of {sort}")
            body = prune(action.body, dropped)
            labels = _Quantifiers(kind, action.at).labels(body)
            if labels:
                weak[action.name] = labels
            if own:
                loop = _elsewhere(body, own[0], kind, system)
                if loop:
                    # A parameter that the loop does not use would only bring numbers of other streams into a window.
                    used = {part.name for part in expressions(loop) if isinstance(part, Name)}
                    params = tuple(param for param in action.params if param.name in used)
                    elsewhere[action.name] = attrs.evolve(
                        action, name=f"{action.name} of another {sort}", params=params, body=loop
                    )
    except _Indivisible as error:
        return Projection(sort, {}, {}, str(error))
    return Projection(sort, weak, elsewhere)


class _Quantifiers:
    """Finds quantifiers over a sort in a body. Refuses a quantifier that a single world would judge wrongly."""

    def __init__(self, sort: SortType, at: Place) -> None:
        self.sort = sort
        self.at = at
        self.lets: dict[str, Expr] = {}
        """The locals whose values depend on all elements."""

    def labels(self, body: tuple[Stmt, ...]) -> tuple[str, ...]:
        """The labels of the requires with quantifiers over the sort."""
        found: list[str] = []
        for stmt in statements(body):
            self.at = getattr(stmt, "at", self.at)
            match stmt:
                case Require(cond=cond, label=label):
                    if self._ranges(cond):
                        self._weaker(cond, positive=True)
                        found.append(label)
                case Let(name=name, value=value) if self._ranges(value):
                    self.lets[name] = value
                case _:
                    for each in direct_expressions(stmt):
                        if self._ranges(each):
                            raise _Indivisible(self.at, f"looks at all elements of {self.sort} outside of a require")
        return tuple(found)

    def _ranges(self, expr: Expr) -> bool:
        return any(
            (isinstance(part, Quantified | Fold) and part.domain == self.sort)
            or (isinstance(part, Name) and part.name in self.lets)
            for part in walk(expr)
        )

    def _weaker(self, expr: Expr, *, positive: bool) -> None:
        """Raise unless fewer elements make the condition weaker. ``positive``: not under an odd number of negations."""
        if not self._ranges(expr):
            return
        match expr:
            case Name(name):
                self._weaker(self.lets[name], positive=positive)
            case Not(arg):
                self._weaker(arg, positive=not positive)
            case And() | Or():
                for part in children(expr):
                    self._weaker(part, positive=positive)
            case Implies(left, right):
                # The left side of an implication counts as negated.
                self._weaker(left, positive=not positive)
                self._weaker(right, positive=positive)
            case Ruled(arg=arg):
                self._weaker(arg, positive=positive)
            case IfElse(cond, then, orelse) if not self._ranges(cond):
                self._weaker(then, positive=positive)
                self._weaker(orelse, positive=positive)
            case IfElse(cond, Lit(bool(value)), orelse):
                # `if cond: return False` means `not cond and orelse`; with True it means `cond or orelse`.
                self._weaker(cond, positive=positive is value)
                self._weaker(orelse, positive=positive)
            case Quantified(kind=kind, domain=domain, body=body):
                if domain == self.sort and (kind == "all") is not positive:
                    raise _Indivisible(self.at, f"asks for {kind} element of {self.sort}")
                self._weaker(body, positive=positive)
            case _:
                raise _Indivisible(self.at, f"computes with all elements of {self.sort}")


def _elsewhere(body: tuple[Stmt, ...], own: str, sort: SortType, system: System) -> tuple[Stmt, ...]:
    """The statements of an action of one element that write cells of other elements."""
    tainted = {own}
    for stmt in statements(body):
        # A local may hold a cell of the action's own element, also if it does not name the element itself.
        if isinstance(stmt, Let) and any(isinstance(part, Name) and part.name in tainted for part in walk(stmt.value)):
            tainted.add(stmt.name)
    kept = _slice(body, own, sort, system)
    for expr in expressions(kept):
        if isinstance(expr, Arithmetic) and nat_of(expr.type) in {nat.name for nat in system.nats}:
            at = next((stmt.at for stmt in statements(kept)), system.init.at)
            raise _Indivisible(at, f"what is written beyond {own} counts on a number of {nat_of(expr.type)}")
        if isinstance(expr, Name) and expr.name in tainted:
            at = next((stmt.at for stmt in statements(kept)), system.init.at)
            raise _Indivisible(at, f"what is written beyond {own} depends on {source_name(expr.name)}")
    return kept


def _slice(body: tuple[Stmt, ...], own: str, sort: SortType, system: System) -> tuple[Stmt, ...]:
    kept: list[Stmt] = []
    for stmt in body:
        match stmt:
            case Let() | Within():
                kept.append(stmt)
            case Require():
                pass
            case Assign(var=var, keys=keys):
                if not _is_own(system, var, keys, own, sort):
                    kept.append(stmt)
            case Fill() | For():
                kept.append(stmt)
            case If(then=then, orelse=orelse):
                then, orelse = _slice(then, own, sort, system), _slice(orelse, own, sort, system)
                if then or orelse:
                    kept.append(attrs.evolve(stmt, then=then, orelse=orelse))
    found = [stmt for stmt in kept if not _writes_own(stmt, own, sort, system)]
    # Drop locals that no kept statement uses. Last first: a local may be used only by a later, dropped local.
    for let in reversed([stmt for stmt in found if isinstance(stmt, Let)]):
        others = tuple(stmt for stmt in found if stmt is not let)
        if not any(isinstance(part, Name) and part.name == let.name for part in expressions(others)):
            found.remove(let)
    return tuple(found)


def _writes_own(stmt: Stmt, own: str, sort: SortType, system: System) -> bool:
    """Whether a loop over another type writes only cells of the action's own element."""
    if not isinstance(stmt, For) or stmt.domain == sort:
        return False
    return all(
        _is_own(system, inner.var, inner.keys, own, sort) if isinstance(inner, Assign) else not isinstance(inner, Fill)
        for inner in statements((stmt,))
    )


def _is_own(system: System, var: str, keys: tuple[Expr, ...], own: str, sort: SortType) -> bool:
    """Whether a cell belongs to the action's own element alone."""
    kinds = system.var(var).keys
    mine = [isinstance(key, Name) and key.name == own for key, kind in zip(keys, kinds, strict=True) if kind == sort]
    return bool(mine) and all(mine)
