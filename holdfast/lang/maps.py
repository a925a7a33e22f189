"""State variables as CPython executes them: total maps over finite sorts.

A map checks what is written to it against the bounds in force; beyond them it raises ``Cut``, because such a step
lies outside the scope and is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar, TypeVarTuple, overload

from holdfast.ir.marks import MARK

K = TypeVar("K")
V = TypeVar("V")
Ks = TypeVarTuple("Ks")


class Cut(Exception):
    """An assignment went beyond a bound of the scope; ``bound`` names the type whose bound it was."""

    def __init__(self, bound: str) -> None:
        self.bound = bound
        super().__init__(f"beyond the bound of {bound}")


class _Cells:
    """The cells of one variable: key tuples to values."""

    def __init__(self, keys: Iterable[tuple[Any, ...]], admit: Callable[[Any], None]) -> None:
        self._cells: dict[tuple[Any, ...], Any] = dict.fromkeys(keys)
        self._admit = admit

    def __getitem__(self, key: Any) -> Any:
        return self._cells[key if isinstance(key, tuple) else (key,)]

    def __setitem__(self, key: Any, value: Any) -> None:
        key = key if isinstance(key, tuple) else (key,)
        if key not in self._cells:
            raise KeyError(key)
        self._admit(value)
        self._cells[key] = value

    def fill(self, value: Any) -> None:
        for key in self._cells:
            self[key] = value

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


class Rel(_Cells, Generic[*Ks]):
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

    def fill(self, value: bool) -> None:
        """Write every cell."""
        super().fill(value)


setattr(Map, MARK, "map")
setattr(Rel, MARK, "rel")
