"""State variables as CPython executes them: total maps over finite sorts.

A map checks each value that is written to it against the bounds of the scope. A value beyond its bound raises ``Cut``:
the step lies outside the scope and is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Self, TypeVar, TypeVarTuple, overload

from holdfast.ir.marks import MARK
from holdfast.lang.sequences import Seq

K = TypeVar("K")
V = TypeVar("V")
Ks = TypeVarTuple("Ks")


class _Cells:
    """The cells of one variable: a dictionary from key tuples to values.

    ``admit`` checks a value before it is written, and raises ``Cut``; ``reach`` checks a key in the same way.
    """

    def __init__(
        self, keys: Iterable[tuple[Any, ...]], admit: Callable[[Any], None], reach: Callable[[Any], None]
    ) -> None:
        self._cells: dict[tuple[Any, ...], Any] = dict.fromkeys(keys)  # None until the initial condition sets a cell
        self._admit = admit
        self._reach = reach
        self._chosen: _Cells | None = None

    def __getitem__(self, key: Any) -> Any:
        return self._cells[self._found(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        key = self._found(key)  # a dictionary would add the cell silently
        self._admit(value)
        self._cells[key] = value.copy() if isinstance(value, Seq) else value

    def _found(self, key: Any) -> tuple[Any, ...]:
        """The key of a cell that exists. Raises ``Cut`` for one beyond a bound, and KeyError for any other."""
        found: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)
        if found not in self._cells:
            self._reach(found)
            raise KeyError(found)
        return found

    def fill(self, value: Any) -> None:
        for key in self._cells:
            self[key] = value

    def copy(self) -> Self:
        """An equal map that does not share its cells with this one."""
        # ``__new__``, because the constructor would create unset cells.
        twin = type(self).__new__(type(self))
        twin._cells = {key: held.copy() if isinstance(held, Seq) else held for key, held in self._cells.items()}
        twin._admit, twin._reach, twin._chosen = self._admit, self._reach, self._chosen
        return twin

    def choose(self) -> None:
        """Start with any values: there is an initial state for each choice. Only an ``@init`` method may call it."""
        if self._chosen is None:
            raise TypeError("nothing is chosen for this map; call choose in an @init method, and start with its values")
        self._cells = dict(self._chosen._cells)

    def __repr__(self) -> str:
        return repr(self._cells)


class Map(_Cells, Generic[K, V]):
    """A total function: ``owner: Map[Stream, Node | None]``, ``end: Map[tuple[Proc, Stream], Offset]``."""

    def __getitem__(self, key: K) -> V:
        value: V = super().__getitem__(key)
        return value

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)

    def fill(self, value: V) -> None:
        """Write every cell."""
        super().fill(value)

    def clear(self: Map[K, Seq[Any, Any]]) -> None:
        """Empty the sequence of every key."""
        for sequence in self._cells.values():
            sequence.clear()


class _Relation(_Cells):
    """Cells that are truth values: the members of a relation or a pool."""

    def __contains__(self, key: object) -> bool:
        return bool(super().__getitem__(key))

    def _members(self) -> Iterator[Any]:
        return iter([key for (key,), member in self._cells.items() if member])

    def fill(self, value: bool) -> None:
        """Write every cell."""
        super().fill(value)


class Rel(_Relation, Generic[*Ks]):
    """A relation: ``opened: Rel[Stream]``, ``acked: Rel[Proc, Stream, Offset]``. Its cells are truth values."""

    @overload
    def __getitem__(self, key: tuple[*Ks]) -> bool: ...
    @overload
    def __getitem__(self: Rel[K], key: K) -> bool: ...
    def __getitem__(self, key: Any) -> bool:
        value: bool = super().__getitem__(key)
        return value

    @overload
    def __setitem__(self, key: tuple[*Ks], value: bool) -> None: ...
    @overload
    def __setitem__(self: Rel[K], key: K, value: bool) -> None: ...
    def __setitem__(self, key: Any, value: bool) -> None:
        super().__setitem__(key, value)

    def __iter__(self: Rel[K]) -> Iterator[K]:
        """The members of a relation with one key: those from before a loop that adds or removes some."""
        return self._members()


class Bag(_Cells, Generic[K, V]):
    """How many copies of each key there are: ``sent: Bag[Ask, Copies]``, where ``Copies`` is a Nat."""

    def __getitem__(self, key: K) -> V:
        """The number of copies."""
        value: V = super().__getitem__(key)
        return value

    def add(self, key: K) -> None:
        """One copy more. Raises ``Cut`` beyond the bound of the number of copies."""
        self[key] = super().__getitem__(key) + 1

    def remove(self, key: K) -> None:
        """One copy less. Raises ``Cut`` if there is none."""
        self[key] = super().__getitem__(key) - 1

    def clear(self) -> None:
        """Take all copies away."""
        super().fill(0)

    def __contains__(self, key: object) -> bool:
        return bool(super().__getitem__(key) > 0)

    def __iter__(self) -> Iterator[K]:
        """The members of a bag with one key, each once: those from before a loop that adds or removes some."""
        return iter([key for (key,), copies in self._cells.items() if copies])

    def fill(self, value: V) -> None:
        """Give every key this number of copies."""
        super().fill(value)


class Pool(_Relation, Generic[K, V]):
    """A relation with few members: ``sent: Pool[Ask, Sent]``, where ``Sent`` is a Nat.

    A step that ends with more members than the bound of ``Sent`` is cut.
    """

    def __getitem__(self, key: K) -> bool:
        value: bool = super().__getitem__(key)
        return value

    def __setitem__(self, key: K, value: bool) -> None:
        super().__setitem__(key, value)

    def __iter__(self) -> Iterator[K]:
        """The members of a pool with one key: those from before a loop that adds or removes some."""
        return self._members()


setattr(Bag, MARK, "bag")
setattr(Map, MARK, "map")
setattr(Pool, MARK, "pool")
setattr(Rel, MARK, "rel")
