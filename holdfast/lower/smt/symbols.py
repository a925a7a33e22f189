"""The names of Z3's symbols. All of them are made here, so that no two symbols share a name.

Z3 treats two symbols of equal name and sort as one. A model may call an action ``self`` and a parameter like a field.
So a plain concatenation of the model's names could mean two things, and a proof about it would be worthless. Therefore
each symbol has a role. Its name consists of the role, the model's names, the state and the cell. Each of these has a
separator of its own that no part contains. In addition the table refuses a name that already stands for another symbol.
"""

from __future__ import annotations

import re
from typing import Literal

import attrs
import z3

Role = Literal[
    "sort", "member", "number", "order", "top", "field", "some", "argument", "start", "nothing", "bound", "place",
    "best", "assume",
]  # fmt: skip
"""The kinds of symbols.

- ``sort``, ``member``: a type of the model; a member of an Enum.
- ``number``, ``order``, ``top``: a literal of a Nat; the order of a Nat; its greatest value.
- ``field``, ``some``: the values of a variable of the model; whether an Optional variable is not None.
- ``argument``, ``start``: a parameter of an action; a parameter of ``@init``.
- ``nothing``: an arbitrary value, for the unwrapped value of an Optional that is always None.
- ``bound``, ``place``: a variable of a quantifier; a variable of a definition.
- ``best``: the element with the least or greatest value.
- ``assume``: the switch that turns an assumption on.
"""

_OUTSIDE = re.compile(r"[^A-Za-z0-9_]")


@attrs.frozen
class Symbol:
    """The identity of a Z3 symbol; ``parts`` are the names in the model.

    ``mark`` distinguishes states, and the arguments of different steps. ``index`` has the key codes of a variable's
    cell in a sized universe.
    """

    role: Role
    parts: tuple[str, ...]
    mark: str = ""
    index: tuple[int, ...] = ()

    def __str__(self) -> str:
        mark = f"@{_escaped(self.mark)}" if self.mark else ""
        index = f"[{','.join(map(str, self.index))}]" if self.index else ""
        return ".".join((self.role, *map(_escaped, self.parts))) + mark + index


def _escaped(part: str) -> str:
    """The part with each character but ASCII letters, digits and ``_`` replaced by its code: ``!hex!``."""
    return _OUTSIDE.sub(lambda found: f"!{ord(found[0]):x}!", part)


class Symbols:
    """The symbols of one Z3 context, by name."""

    def __init__(self, ctx: z3.Context) -> None:
        self.ctx = ctx
        self._meanings: dict[str, Symbol] = {}
        self._declared: dict[str, z3.FuncDeclRef] = {}
        self._fresh = 0

    def meaning(self, name: str) -> Symbol:
        """The symbol that has the name."""
        return self._meanings[name]

    def sort(self, name: str) -> z3.SortRef:
        """An uninterpreted sort."""
        return z3.DeclareSort(self._named(Symbol("sort", (name,))), self.ctx)

    def enum(self, name: str, members: tuple[str, ...]) -> tuple[z3.SortRef, list[z3.ExprRef]]:
        """A sort with these members, and the members."""
        names = [self._named(Symbol("member", (name, member))) for member in members]
        sort, found = z3.EnumSort(self._named(Symbol("sort", (name,))), names, self.ctx)
        return sort, list(found)

    def constant(self, symbol: Symbol, sort: z3.SortRef) -> z3.ExprRef:
        """A free constant."""
        return self.function(symbol, sort)()

    def function(self, symbol: Symbol, *sorts: z3.SortRef) -> z3.FuncDeclRef:
        """A free function; the last sort is that of its values. Equal symbols give the same function."""
        name = self._named(symbol)
        made = z3.Function(name, *sorts)
        assert self._declared.setdefault(name, made).eq(made), f"{name} would be of two sorts"
        return self._declared[name]

    def bound(self, stem: str, sort: z3.SortRef) -> z3.ExprRef:
        """A constant that a quantifier binds, with a name that is used once."""
        self._fresh += 1
        return self.constant(Symbol("bound", (stem, str(self._fresh))), sort)

    def is_bound(self, term: z3.ExprRef) -> bool:
        """Whether the term is a constant that a quantifier binds."""
        if not z3.is_const(term):
            return False
        found = self._meanings.get(term.decl().name())
        return found is not None and found.role == "bound"

    def _named(self, symbol: Symbol) -> str:
        name = str(symbol)
        assert self._meanings.setdefault(name, symbol) == symbol, f"{name} would stand for two things"
        return name


def label(name: str) -> Symbol:
    """The symbol of a Boolean: if it is true, the assumption of that name holds."""
    return Symbol("assume", (name,))
