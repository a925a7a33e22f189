"""The value types of a model: Sort, Nat and Int, as CPython executes them.

The scope gives the number of elements of each type. ``universe`` puts these numbers in force, so that
``for s in Stream`` can run; nothing else in this module depends on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, NoReturn, Self, TypeVar

from holdfast.ir.marks import MARK

_sizes: ContextVar[Mapping[type, int] | None] = ContextVar("holdfast_universe", default=None)

T = TypeVar("T")


class Cut(Exception):
    """A value, a key or a length exceeds a bound of the scope. ``bound``: the name of the type with that bound."""

    def __init__(self, bound: str) -> None:
        self.bound = bound
        super().__init__(f"beyond the bound of {bound}")


@contextmanager
def universe(sizes: Mapping[type, int]) -> Iterator[None]:
    """Within this context a Sort has ``sizes[sort]`` elements and a Nat runs from 0 to ``sizes[nat]``."""
    token = _sizes.set(sizes)
    try:
        yield
    finally:
        _sizes.reset(token)


def size_in_force(cls: type) -> int:
    """The size of a Sort, or the greatest value of a Nat, in the universe in force.

    Raises RuntimeError if no universe is in force, or it has no size for the class.
    """
    sizes = _sizes.get()
    if sizes is None or cls not in sizes:
        raise RuntimeError(f"{cls.__name__} has no size here: run the model through a scope, or inside universe(...)")
    return sizes[cls]


class _Domain(type):
    """A class that can be iterated over, and has a size: ``for s in Stream``, ``len(Stream)``."""

    def __iter__(cls: type[T]) -> Iterator[T]:
        return iter(cls.elements())  # type: ignore[attr-defined]

    def __len__(cls) -> int:
        return len(cls.elements())  # type: ignore[attr-defined]

    def __bool__(cls) -> bool:
        return True  # a class, whatever its length; Python would ask for that


class _Order(_Domain):
    """A class whose values have an order: ``Index.first``, ``Index.last``."""

    @property
    def first(cls: type[T]) -> T:
        """The least value."""
        value: T = cls.elements()[0]  # type: ignore[attr-defined]
        return value

    @property
    def last(cls: type[T]) -> T:
        """The greatest value in the universe in force."""
        value: T = cls.elements()[-1]  # type: ignore[attr-defined]
        return value


class Sort(metaclass=_Domain):
    """Interchangeable things: nodes, streams, processes. Only ``==`` and ``!=`` tell elements apart.

    ``class Node(Sort): ...`` declares a sort. Messages call its elements ``n1``, ``n2``, …; ``prefix`` sets another
    name: ``class Proc(Sort, prefix="proc")``.
    """

    __slots__ = ("index",)
    prefix: ClassVar[str] = ""
    _known: ClassVar[list[Any]]

    def __init_subclass__(cls, prefix: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.prefix = prefix or cls.__name__[0].lower()
        cls._known = []  # a list for each sort

    index: int

    def __new__(cls, index: int) -> Self:
        """The element with that index, counted from zero. It is always the same object, so ``==`` is identity."""
        while len(cls._known) <= index:
            element = super().__new__(cls)
            element.index = len(cls._known)
            cls._known.append(element)
        known: Self = cls._known[index]
        return known

    @classmethod
    def element(cls, index: int) -> Self:
        """The element with that index."""
        return cls(index)

    @classmethod
    def elements(cls) -> list[Self]:
        """All elements in the universe in force."""
        return [cls.element(index) for index in range(size_in_force(cls))]

    def __repr__(self) -> str:
        return f"{self.prefix}{self.index + 1}"

    def _no_order(self, _other: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__} is interchangeable: its elements have no order")

    __lt__ = __le__ = __gt__ = __ge__ = _no_order


class Nat(int, metaclass=_Order):
    """A total order with a least element: epochs, offsets. ``class Epoch(Nat): ...`` declares a Nat.

    ``Epoch(0)`` is its least value. Arithmetic keeps the type. The assignment of a result beyond the bound cuts the
    step.
    """

    __slots__ = ()

    @classmethod
    def elements(cls) -> list[Self]:
        """All values in the universe in force."""
        return [cls(value) for value in range(size_in_force(cls) + 1)]

    def __add__(self, other: int) -> Self:
        return type(self)(int(self) + int(other))

    def __sub__(self, other: int) -> Self:
        return type(self)(int(self) - int(other))

    def __mul__(self, other: int) -> Self:
        return type(self)(int(self) * int(other))

    def __mod__(self, other: int) -> Self:
        return type(self)(int(self) % int(other))

    __radd__ = __add__
    __rmul__ = __mul__

    def __repr__(self) -> str:
        return str(int(self))


class Ring(Nat):
    """A Nat whose values stand in a circle: ``class Node(Ring): ...``. After the last one comes the first."""

    __slots__ = ()

    @property
    def next(self) -> Self:
        """The value after this one."""
        return type(self)(0 if self == type(self).last else int(self) + 1)

    @property
    def previous(self) -> Self:
        """The value before this one."""
        return type(self)(type(self).last if self == 0 else int(self) - 1)


class Int(Nat):
    """Integers from ``lo`` to ``hi``, both included: ``class Gap(Int, lo=-2, hi=2): ...``."""

    __slots__ = ()
    lo: ClassVar[int] = 0
    hi: ClassVar[int] = 0

    def __init_subclass__(cls, lo: int = 0, hi: int = 0, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.lo, cls.hi = lo, hi

    @classmethod
    def elements(cls) -> list[Self]:
        """All values from ``lo`` to ``hi``."""
        return [cls(value) for value in range(cls.lo, cls.hi + 1)]


for _cls, _role in ((Sort, "sort"), (Nat, "nat"), (Ring, "ring"), (Int, "int")):
    setattr(_cls, MARK, _role)
