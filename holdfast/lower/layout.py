"""The layout of a state of one scope: bytes, one byte for each cell.

The cells are in the order of the system's variables, each variable's cells in row-major order of its keys. Then comes
one hidden cell for each budget, in the order of the actions: the number of times that the action may still happen.
Constants that the scope gives have no cells. States compare as bytes.

A cell holds the *code* of its value:

- bool: 0 or 1;
- Enum member or element of a Sort: its place, from 0 on;
- Nat: the number itself;
- Int: its distance from ``lo``;
- Optional: 0 for None, else 1 more than the code of the value.

The code of a whole map, which only a parameter has, is a number with a digit for each cell, the first one the lowest.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cached_property
from math import prod

import attrs

from holdfast.ir.errors import UsageError
from holdfast.ir.system import Action, Scope, System
from holdfast.ir.types import (
    BoolType,
    Choice,
    EnumType,
    IntType,
    Key,
    MapType,
    NatType,
    OptionalType,
    Plain,
    Scalar,
    SortType,
)
from holdfast.lower.element_names import element_names
from holdfast.lower.map_text import map_text
from holdfast.lower.scope_limits import refuse_sizes

MOST_CODES = 255
"""The number of codes that a cell may have."""

Value = bool | int | str | None
"""A decoded value: a truth value, a number, the name of an Enum member or of an element (``n1``), or None.

A whole map is its text: see ``map_text``.
"""


@attrs.frozen
class Field:
    """The cells of one variable or budget: they begin at cell ``offset``. ``sizes`` has the size of each key.

    ``codes`` is the number of codes that a cell may hold.
    """

    name: str
    keys: tuple[Key, ...]
    sizes: tuple[int, ...]
    type: Scalar
    codes: int
    offset: int
    ghost: bool = False
    hidden: bool = False
    """Whether the field is a budget. The model cannot read or write it."""
    sequence: str | None = None
    """The sequence whose entries or length the field holds, or None."""
    is_length: bool = False
    most: int | None = None
    """The greatest number of members of a pool. Other fields have none."""

    @property
    def count(self) -> int:
        """The number of cells."""
        return prod(self.sizes)

    @property
    def strides(self) -> tuple[int, ...]:
        """For each key, the distance between the cells of two neighbouring values."""
        return tuple(prod(self.sizes[position + 1 :]) for position in range(len(self.sizes)))

    @property
    def indices(self) -> list[tuple[int, ...]]:
        """The codes of the keys of each cell, in the order of the cells."""
        return list(itertools.product(*(range(size) for size in self.sizes)))

    @property
    def member_bits(self) -> int | None:
        """The bits of a member, if a stored state lists the members of a pool, since they take less than all cells."""
        bits = self.count.bit_length()
        return bits if self.most is not None and self.most * bits < self.count else None

    @property
    def bits(self) -> int:
        """The number of bits that it takes in a stored state."""
        if self.most is not None and self.member_bits is not None:
            return self.most * self.member_bits
        return self.count * (self.codes - 1).bit_length()


@attrs.frozen
class Cell:
    """One cell: its field, the values of its keys, and its name, such as ``owner[s1]``."""

    field: Field
    keys: tuple[Value, ...]
    name: str


class Layout:
    """The layout of a system's states in a scope.

    ``ghosts`` are the ghost fields to keep (all by default). Raises UsageError if a cell would have more than
    ``MOST_CODES`` codes, if a parameter, key or sort has more than ``MOST_VALUES`` values, or if the scope does not fit
    the system.
    """

    def __init__(self, system: System, scope: Scope, ghosts: frozenset[str] | None = None) -> None:
        self.system = system
        self.scope = scope
        # This comes before all else: the rest of the layout lists the elements and cells.
        refuse_sizes(system, scope, self.codes)
        self.elements = element_names(system, scope)
        self.dropped = frozenset(
            v.name for v in system.variables if v.ghost and ghosts is not None and v.name not in ghosts
        )
        self.given = {var.name: self._given(var.name) for var in system.variables if var.given}
        self.fields = self._fields()
        self.width = sum(field.count for field in self.fields)
        self._by_name = {field.name: field for field in self.fields}

    def _fields(self) -> tuple[Field, ...]:
        fields: list[Field] = []
        offset = 0
        for var in self.system.variables:
            if not var.given and var.name not in self.dropped:
                codes = self.codes(var.value)
                if codes > MOST_CODES:
                    raise UsageError(
                        f"scope {self.scope.name}: {var.name} holds {var.value}, which has {codes} values, and "
                        f"a cell has room for {MOST_CODES}; choose a smaller scope"
                    )
                sizes = tuple(self.scope.size(key) for key in var.keys)
                sequence, is_length = var.entries_of or var.length_of, var.length_of is not None
                most = None if var.most is None else self.codes(var.most) - 1
                fields.append(
                    Field(
                        var.name, var.keys, sizes, var.value, codes, offset, var.ghost, False, sequence, is_length, most
                    )
                )
                offset += fields[-1].count
        for action in self.system.actions:
            if action.name in self.scope.budgets:
                codes = self.scope.budgets[action.name] + 1
                if codes > MOST_CODES:
                    raise UsageError(
                        f"scope {self.scope.name}: the budget of {action.name} is {codes - 1}; "
                        f"give it at most {MOST_CODES - 1}"
                    )
                fields.append(Field(budget(action.name), (), (), NatType("budget"), codes, offset, hidden=True))
                offset += 1
        return tuple(fields)

    # Types ----------------------------------------------------------------------------------------------------

    def codes(self, kind: Scalar | Choice) -> int:
        """The number of values of a type in this scope."""
        match kind:
            case MapType(keys=keys, value=value):
                return int(self.codes(value) ** prod(self.scope.size(key) for key in keys))
            case BoolType():
                return 2
            case IntType(lo=lo, hi=hi):
                return hi - lo + 1
            case OptionalType(of):
                return 1 + self.codes(of)
            # An Enum, a Sort or a Nat.
            case _:
                return self.scope.size(kind)

    def last(self, kind: Scalar | Choice) -> int:
        """The greatest value of a type of numbers."""
        return self.codes(kind) - 1 + (kind.lo if isinstance(kind, IntType) else 0)

    def decode_value(self, kind: Scalar | Choice, code: int) -> Value:
        """The value that a code stands for."""
        match kind:
            case MapType():
                return map_text(kind, self.cells_of(kind, code))
            case BoolType():
                return bool(code)
            case EnumType(members=members):
                return members[code]
            case SortType(name):
                return self.elements[name][code]
            case NatType():
                return code
            case IntType(lo=lo):
                return lo + code
            case OptionalType(of):
                return None if code == 0 else self.decode_value(of, code - 1)

    def cells_of(self, kind: MapType, code: int) -> list[tuple[tuple[Value, ...], Value]]:
        """The keys and the value of each cell of a whole map, the last key changing fastest."""
        return [
            (
                tuple(self.decode_value(key, each) for key, each in zip(kind.keys, index, strict=True)),
                self.decode_value(kind.value, held),
            )
            for index, held in self.digits(kind, code).items()
        ]

    def digits(self, kind: MapType, code: int) -> dict[tuple[int, ...], int]:
        """The code of each cell of a whole map, by the codes of its keys, the last one changing fastest."""
        found, base = {}, self.codes(kind.value)
        for index in itertools.product(*(range(self.scope.size(key)) for key in kind.keys)):
            code, found[index] = divmod(code, base)
        return found

    def code_of(self, kind: MapType, digits: Mapping[tuple[int, ...], int]) -> int:
        """The code of a whole map, from those of its cells."""
        indices = itertools.product(*(range(self.scope.size(key)) for key in kind.keys))
        base = self.codes(kind.value)
        return sum(digits[index] * base**place for place, index in enumerate(indices))

    def encode_value(self, kind: Scalar | Choice, value: Value) -> int:
        """The code of a value; raises UsageError if the type has no such value in this scope."""
        if isinstance(kind, MapType):
            codes = range(self.codes(kind))
            found = next((code for code in codes if self.decode_value(kind, code) == value), None)
            if found is None:
                example = self.decode_value(kind, codes[-1])
                raise UsageError(
                    f"{value!r} is not a value of {kind} in scope {self.scope.name}; write it like {example}"
                )
            return found
        if isinstance(kind, OptionalType):
            return 0 if value is None else 1 + self.encode_value(kind.of, value)
        code = self._code(kind, value)
        if code is not None and 0 <= code < self.codes(kind):
            return code
        raise UsageError(f"{value!r} is not a value of {kind} in scope {self.scope.name}; {self._choices(kind)}")

    def _code(self, kind: Plain, value: Value) -> int | None:
        """The code that a value would have; None if it is of another type."""
        match kind:
            case EnumType() | SortType():
                names = kind.members if isinstance(kind, EnumType) else self.elements[kind.name]
                return names.index(value) if isinstance(value, str) and value in names else None
            case BoolType():
                return int(value) if isinstance(value, bool) else None
            case NatType() | IntType():
                # Python's bool is an int, and True is no number of a model.
                if not isinstance(value, int) or isinstance(value, bool):
                    return None
                return value - (kind.lo if isinstance(kind, IntType) else 0)

    def _choices(self, kind: Plain) -> str:
        codes = self.codes(kind)
        if isinstance(kind, NatType | IntType):
            return f"use {self.decode_value(kind, 0)} to {self.decode_value(kind, codes - 1)}"
        return f"use one of {', '.join(str(self.decode_value(kind, code)) for code in range(codes))}"

    def _given(self, name: str) -> tuple[int, ...]:
        """The codes of a constant that the scope gives."""
        var = self.system.var(name)
        if name not in self.scope.given:
            raise UsageError(f"scope {self.scope.name} gives no value for {name}; add it to the scope's given")
        values = self.scope.given[name]
        cells = prod(self.scope.size(key) for key in var.keys)
        if len(values) != cells:
            raise UsageError(
                f"scope {self.scope.name} gives {len(values)} values for {name}, which has {cells} cells; give each one"
            )
        plain = var.value.of if isinstance(var.value, OptionalType) else var.value
        # A scope writes an element as its index, counted from zero.
        named = self.elements[plain.name] if isinstance(plain, SortType) else ()
        try:
            return tuple(
                self.encode_value(var.value, named[value] if named and isinstance(value, int) and value >= 0 else value)
                for value in values
            )
        # An index beyond the sort's elements raises IndexError, every other wrong value UsageError.
        except (IndexError, UsageError):
            last = len(named) - 1
            remedy = f"write elements of {plain} as 0 to {last}" if named else self._choices(plain)
            raise UsageError(f"scope {self.scope.name} gives {name} the values {values}; {remedy}") from None

    # States ---------------------------------------------------------------------------------------------------

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Every cell, in the order of a state's bytes."""
        found = []
        for field in self.fields:
            for index in field.indices:
                keys = tuple(self.decode_value(key, code) for key, code in zip(field.keys, index, strict=True))
                name = f"{field.name}[{', '.join(map(str, keys))}]" if keys else field.name
                found.append(Cell(field, keys, name))
        return tuple(found)

    def field(self, name: str) -> Field:
        """The field of that name."""
        return self._by_name[name]

    def budget(self, action: str) -> int | None:
        """The index of the cell with the action's budget, or None if the action has no budget."""
        field = self._by_name.get(budget(action))
        return None if field is None else field.offset

    def blank(self) -> bytes:
        """The state in which ``@init`` starts: every cell 0, every budget full."""
        return bytes(field.codes - 1 if field.hidden else 0 for field in self.fields for _ in range(field.count))

    def decode(self, state: bytes) -> dict[str, Value]:
        """The value of every cell, by the cell's name."""
        return {
            cell.name: self.decode_value(cell.field.type, code) for cell, code in zip(self.cells, state, strict=True)
        }

    def encode(self, values: Mapping[str, Value]) -> bytes:
        """The state with these values; raises UsageError for a cell that is missing, unknown or out of range."""
        names = {cell.name for cell in self.cells}
        for name in (*values, *names):
            if name not in names or name not in values:
                problem = "is missing; add it" if name in names else "is not a cell; leave it out"
                raise UsageError(f"a state of scope {self.scope.name}: {name} {problem}")
        return bytes(self._encode_cell(cell, values[cell.name]) for cell in self.cells)

    def _encode_cell(self, cell: Cell, value: Value) -> int:
        if not cell.field.hidden:
            return self.encode_value(cell.field.type, value)
        if isinstance(value, int) and 0 <= value < cell.field.codes:
            return value
        raise UsageError(f"{cell.name} is {value!r}; use 0 to {cell.field.codes - 1}")

    def decode_args(self, action: Action, args: tuple[int, ...]) -> dict[str, Value]:
        """The values of an action's arguments, by the parameter's name."""
        return {
            param.name: self.decode_value(param.type, code) for param, code in zip(action.params, args, strict=True)
        }

    def encode_args(self, action: Action, values: Mapping[str, Value]) -> tuple[int, ...]:
        """The codes of an action's arguments; raises UsageError for one that is missing, unknown or out of range."""
        wanted = [param.name for param in action.params]
        if set(values) != set(wanted):
            raise UsageError(
                f"{action.name} takes ({', '.join(wanted)}), and ({', '.join(values)}) is given; give each one"
            )
        return tuple(self.encode_value(param.type, values[param.name]) for param in action.params)

    # Figures --------------------------------------------------------------------------------------------------

    @property
    def bits(self) -> int:
        """The number of bits that a state needs."""
        return sum(field.bits for field in self.fields)

    def widest(self, count: int = 3) -> list[tuple[str, int]]:
        """The ``count`` fields that need the most bits, with their bits; equal ones in the order of the model."""
        ranked = sorted(self.fields, key=lambda field: -field.bits)
        return [(field.name, field.bits) for field in ranked[:count]]


def budget(action: str) -> str:
    """The name of the hidden field that holds an action's budget."""
    return f"budget({action})"
