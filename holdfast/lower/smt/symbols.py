"""The names of Z3's symbols. All of them are made here, so that no two things share a name.

Z3 takes two symbols of equal name and sort for one. A model may call an action ``self`` and a parameter like a field,
so a name that is glued together from the model's own names can mean two things, and a proof about it is worthless. Here
a symbol has a role, and its name is the role, the model's names, the state and the cell, each with a separator of its
own that no part contains. The table refuses a name that would be given to a second thing, whatever the reason.
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
"""What a symbol stands for.

- ``sort``, ``member``: a type of the model, a member of an Enum.
- ``number``, ``order``, ``top``: of a Nat, one of its literals, its order, its greatest value.
- ``field``, ``some``: a variable of the model, and where it is not None.
- ``argument``, ``start``: a parameter of an action, and of ``@init``.
- ``nothing``: what is behind an Optional that is surely None.
- ``bound``, ``place``: a variable of a quantifier, and of a definition.
- ``best``: the element with the least or greatest value.
- ``assume``: what switches an assumption on.
"""

_OUTSIDE = re.compile(r"[^A-Za-z0-9_]")


@attrs.frozen
class Symbol:
    """One thing that formulas speak of: ``parts`` are its names in the model.

    ``mark`` tells states apart, and the arguments of steps; ``index`` names the cell of a variable in a sized universe.
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
    """The part in ASCII letters, digits and ``_``, anything else as its code between exclamation marks."""
    return _OUTSIDE.sub(lambda found: f"!{ord(found[0]):x}!", part)


class Symbols:
    """The symbols of one Z3 context, by name."""

    def __init__(self, ctx: z3.Context) -> None:
        self.ctx = ctx
        self._meanings: dict[str, Symbol] = {}
        self._declared: dict[str, z3.FuncDeclRef] = {}
        self._fresh = 0

    def meaning(self, name: str) -> Symbol:
        """What the name stands for."""
        return self._meanings[name]

    def sort(self, name: str) -> z3.SortRef:
        """A sort that nothing is known of."""
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
        """A free function; the last sort is that of its values. Asked for again it is the same one."""
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
    """What switches the assumption of that name on."""
    return Symbol("assume", (name,))
