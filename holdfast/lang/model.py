"""The base class of models: an instance is a state, and CPython runs its methods.

So the text of a model has two independent readings: this class and the compiler. This class takes the fields from
Python's own type hints and shares no code with the lowerings.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from enum import Enum
from functools import cache
from types import UnionType
from typing import Annotated, Any, ClassVar, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from holdfast.ir.marks import MARK, ActionMark, InitMark, ScopeMark, VariantMark
from holdfast.lang.maps import Bag, Map, Pool, Rel, _Cells
from holdfast.lang.quantifiers import looking_at_all
from holdfast.lang.records import Record, parts_of
from holdfast.lang.rules import Refused, without
from holdfast.lang.sequences import Seq
from holdfast.lang.sorts import Cut, Int, Nat, Sort, size_in_force, universe

T = TypeVar("T")

Ghost = Annotated[T, "ghost"]
"""``Ghost[...]`` marks a field that records history: only properties, lemmas and other ghosts may read it."""

Flag = Annotated[bool, "flag"]
"""A compile-time constant: True in the variant of the same name, False otherwise."""


class Model:
    """A protocol: annotated fields are the state; decorated methods are actions and properties.

    ``Model.at("tiny").start()`` gives the initial state, and ``take`` gives the state after an action.
    """

    _kinds: ClassVar[dict[str, Any]]
    _sizes: Mapping[type, int]
    _without: frozenset[str]
    _variants: frozenset[str]

    @classmethod
    def at(
        cls, scope: str | ScopeMark = "tiny", *, variants: tuple[str, ...] = (), removed: tuple[str, ...] = ()
    ) -> Self:
        """A state in which only the flags and the given constants are set; ``start`` sets the other fields.

        ``scope``: a scope or its name. ``variants``: the chosen variants. ``removed``: labels of removed rules.
        """
        mark = getattr(cls, scope) if isinstance(scope, str) else scope
        self = cls.__new__(cls)
        self._sizes = mark.sizes
        self._without = frozenset(removed)
        self._variants = frozenset(variants)
        with universe(mark.sizes):
            for name, hint in _fields(cls).items():
                if get_origin(hint) in (Bag, Map, Pool, Rel):
                    self.__dict__[name] = _cells(hint)
                elif get_origin(hint) is Seq:
                    self.__dict__[name] = _sequence(hint)
                elif _is_flag(hint):
                    self.__dict__[name] = name in variants
            for name, values in mark.given.items():
                self._give(name, values)
        return self

    def _give(self, name: str, values: object) -> None:
        """Set a constant to its values in the scope, in the order of its keys."""
        field = self.__dict__.get(name)
        if isinstance(field, _Cells):
            kind = _value_kind(_fields(type(self))[name])
            for key, value in zip(list(field._cells), values, strict=True):  # type: ignore[call-overload]
                field[key] = _element(kind, value)
        else:
            setattr(self, name, _element(_plain(_fields(type(self))[name]), values))

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            hint = _fields(type(self)).get(name)
            if hint is None:
                raise AttributeError(f"{type(self).__name__} declares no field {name}")
            if isinstance(value, Seq | _Cells):
                value = value.copy()
            _admit(_plain(hint))(value)
        self.__dict__[name] = value

    @contextmanager
    def _running(self, action: str) -> Iterator[None]:
        with universe(self._sizes), without(self._without, action), looking_at_all(type(self)):
            yield

    def copy(self) -> Self:
        """An equal state that does not share its cells with this one."""
        twin = type(self).__new__(type(self))
        for name, value in self.__dict__.items():
            twin.__dict__[name] = value.copy() if isinstance(value, Seq | _Cells) else value
        return twin

    def start(self, **choices: Any) -> Self:
        """The initial state for the given values of the initial conditions' parameters. Raises ``Cut``.

        ``choices`` also has the values of each map that ``choose`` is called on, by the name of the field.
        """
        twin = self.copy()
        methods = _methods(type(self), InitMark)
        maps = choices.keys() - {name for method in methods for name in _parameters(method)}
        for name in maps:
            if not isinstance(twin.__dict__.get(name), _Cells):
                raise TypeError(f"no initial condition takes {name}, and no map is called so; leave it out")
        with twin._running("init"):
            for name in maps:
                twin.__dict__[name]._chosen = _whole(_fields(type(self))[name], choices[name])
            for method in methods:
                method(twin, **_taken(method, {name: choices[name] for name in _parameters(method)}))
            for name in maps:
                twin.__dict__[name]._chosen = None
            twin._admit_pools()
        return twin

    def take(self, action: str, **args: Any) -> Self:
        """The state after the action. This state does not change. Raises ``Refused`` or ``Cut``.

        An argument that is a whole relation is given as the set of its keys, one that is a map as a dictionary; or as
        the list of its values, in the order of the keys.
        """
        twin = self.copy()
        method = twin._method(action)
        with twin._running(action):
            method(twin, **_taken(method, args))
            twin._admit_pools()
        return twin

    def _admit_pools(self) -> None:
        """Raise ``Cut`` if a pool has more members than its bound."""
        for name, hint in _fields(type(self)).items():
            if get_origin(hint) is Pool:
                _admit(get_args(hint)[1])(sum(self.__dict__[name]._cells.values()))

    def refusal(self, action: str, **args: Any) -> tuple[str, Enum | None] | None:
        """The label and error of the first rule that refuses the action in this state; None if no rule refuses it.

        A cut is no refusal: the result is None.
        """
        try:
            self.take(action, **args)
        except Refused as refused:
            return refused.label, refused.error
        except Cut:
            return None
        return None

    def holds(self, prop: str, **args: Any) -> Any:
        """The value of a property in this state. A step property takes the argument ``old``, the state before.

        A property is False where it reads a cell beyond a bound.
        """
        with self._running(""):
            try:
                return getattr(self, prop)(**_taken(getattr(type(self), prop), args))
            except Cut:
                return False

    def _method(self, action: str) -> Callable[..., None]:
        """The method of an action in the chosen variants. Raises AttributeError if these do not have the action."""
        for method in _methods(type(self), VariantMark):
            mark = getattr(method, MARK)
            if mark.replaces == action and mark.name in self._variants:
                return method
        found: Callable[..., None] | None = getattr(type(self), action, None)
        mark = getattr(found, MARK, None)
        if found is None or not isinstance(mark, ActionMark) or mark.variant not in (None, *self._variants):
            raise AttributeError(f"{type(self).__name__} has no action {action}")
        return found


setattr(Model, MARK, "model")


def _fields(cls: type) -> dict[str, Any]:
    """The annotated fields of a model, those of its parts first."""
    # Not ``cls._kinds``: a model would inherit the cached fields of its base class.
    known = cls.__dict__.get("_kinds")
    if known is None:
        known = {
            name: hint
            for name, hint in get_type_hints(cls, include_extras=True).items()
            if not name.startswith("_") and get_origin(hint) is not ClassVar
        }
        known = {name: _strip_ghost(hint) for name, hint in known.items()}
        cls._kinds = known  # type: ignore[attr-defined]
    return known


def _methods(cls: type, kind: type) -> list[Callable[..., None]]:
    """The methods with a mark of that kind, those of the parts first.

    An overriding method has the position of the overridden one.
    """
    names = dict.fromkeys(name for base in reversed(cls.__mro__) for name in vars(base))
    methods = (getattr(cls, name, None) for name in names)
    return [method for method in methods if method is not None and isinstance(getattr(method, MARK, None), kind)]


def _parameters(method: Callable[..., None]) -> tuple[str, ...]:
    code = method.__code__
    return code.co_varnames[1 : code.co_argcount]


def _strip_ghost(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated and "ghost" in get_args(hint)[1:] else hint


def _is_flag(hint: Any) -> bool:
    return get_origin(hint) is Annotated and "flag" in get_args(hint)[1:]


def _plain(hint: Any) -> Any:
    """The type of a plain field: ``bool`` for a ``Flag``."""
    return get_args(hint)[0] if _is_flag(hint) else hint


def _value_kind(hint: Any) -> Any:
    """The type of the cells of a Bag, Map, Pool or Rel."""
    return bool if get_origin(hint) in (Pool, Rel) else get_args(hint)[1]


def _cells(hint: Any) -> _Cells:
    """A Bag, Map, Pool or Rel with unset cells for all keys of the universe in force, the last key changing fastest."""
    args = get_args(hint)
    if get_origin(hint) is Rel:
        keys = args
    else:
        keys = get_args(args[0]) if get_origin(args[0]) is tuple else (args[0],)
    bounds = [_admit(key) for key in keys]

    def reach(key: Any) -> None:
        for bound, part in zip(bounds, key, strict=True):
            bound(part)

    kind = _value_kind(hint)
    cells: _Cells = get_origin(hint)(itertools.product(*keys), _admit(kind), reach)
    if get_origin(kind) is Seq:
        cells._cells = {key: _sequence(kind) for key in cells._cells}
    return cells


def _taken(method: Callable[..., Any], args: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a method: a Map or Rel for each parameter that is a whole map, and the others as given."""
    if not any(isinstance(value, Set | Mapping | list) for value in args.values()):
        return args
    hints = _hints(method)
    maps = {name for name in args if get_origin(hints.get(name)) in (Map, Rel)}
    return {name: _whole(hints[name], value) if name in maps else value for name, value in args.items()}


@cache
def _hints(method: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(method)


def _whole(hint: Any, values: Any) -> _Cells:
    """A Map with the values of a dictionary, or the Rel whose members a set has; either from the list of its values."""
    cells = _cells(hint)
    if isinstance(values, list):
        cells._cells = dict(zip(cells._cells, values, strict=True))
        return cells
    if get_origin(hint) is Rel:
        cells.fill(False)
        values = dict.fromkeys(values, True)
    for key, value in values.items():
        cells[key] = value
    return cells


def _sequence(hint: Any) -> Seq[Any, Any]:
    """An empty sequence of a type ``Seq[Value, Index]``."""
    kind, index = get_args(hint)
    return Seq(index, _admit(kind), kind if issubclass(kind, Record) else None)


def _admit(kind: Any) -> Callable[[Any], None]:
    """A function that checks a value against the bounds of its type, and raises ``Cut``.

    It reads the bound when it is called, from the universe in force at that time.
    """
    optional = get_origin(kind) in (UnionType, Union)
    plain = next(part for part in get_args(kind) if part is not type(None)) if optional else kind
    if isinstance(plain, type) and issubclass(plain, Record):
        parts = {name: _admit(part) for name, part in parts_of(plain).items()}

        def admit_parts(value: Any) -> None:
            if value is None:
                return
            for name, admit_part in parts.items():
                admit_part(getattr(value, name))

        return admit_parts
    if not (isinstance(plain, type) and issubclass(plain, Nat)):
        return lambda value: None

    def admit(value: Any) -> None:
        if value is None:
            return
        lo, hi = (plain.lo, plain.hi) if issubclass(plain, Int) else (0, size_in_force(plain))
        if not lo <= value <= hi:
            raise Cut(plain.__name__)

    return admit


def _element(kind: Any, value: Any) -> Any:
    """The value of the model's type for a value of a scope's ``given``.

    ``value``: an element index, a number, a truth value, an Enum member or its name, or None.
    """
    optional = get_origin(kind) in (UnionType, Union)
    plain = next(part for part in get_args(kind) if part is not type(None)) if optional else kind
    if value is None:
        return None
    if issubclass(plain, Sort):
        return plain.element(value)
    if issubclass(plain, Enum):
        return value if isinstance(value, Enum) else plain[value]
    return plain(value)
