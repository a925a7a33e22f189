"""What to write instead of a loop whose iterations depend on one another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.ir.expr import And, Compare, Expr, Name, Read, Unwrap, Wrap, walk
from holdfast.ir.names import source_name
from holdfast.ir.stmt import Assign, For, If, Let, Stmt, statements
from holdfast.ir.types import NatType


def of_same_cell(loop: For, write: Assign, name: str) -> str:
    """The remedy for a write whose key lacks the loop's variable, which messages call ``name``.

    If the write stands under ``if i == x``, a single iteration makes it, and the loop is not needed.
    """
    for test in _tests_around(loop.body, write):
        for part in test.args if isinstance(test, And) else (test,):
            found = _equal_to(part, loop.var)
            if found is not None:
                return f"`if {name} == {found}` is true once: write it without the loop, with {found} for {name}"
    return f"write only cells whose key contains {name}"


def of_shift(loop: For, var: str, keys: Sequence[Expr], name: str) -> str:
    """The remedy for an access to ``var`` at keys that another iteration writes. ``name``: as in ``of_same_cell``."""
    if isinstance(loop.domain, NatType) and any(_is_other_place(loop, key) for key in keys):
        kind = loop.domain.name
        return (
            f"declare {var} as a sequence, Seq[..., {kind}], or let its cells stay, and let a field `head: {kind}` say "
            "where it begins"
        )
    return f"touch {var} in this loop only at cells with {name} at one place of the key"


def _is_other_place(loop: For, key: Expr) -> bool:
    """Whether a key is another number of the loop's type that depends on the iteration, such as ``i + 1``."""
    if not isinstance(key, Name):
        return any(isinstance(part, Name) and part.name == loop.var for part in walk(key))
    inner = {stmt.var for stmt in statements(loop.body) if isinstance(stmt, For) and stmt.domain == loop.domain}
    inner |= {stmt.name for stmt in statements(loop.body) if isinstance(stmt, Let)}
    return key.name in inner


def _tests_around(body: tuple[Stmt, ...], write: Assign) -> Iterator[Expr]:
    """The tests of the branches around a write. Each is true where the write stands."""
    for stmt in body:
        match stmt:
            case If(test=test, then=then, orelse=orelse):
                if any(inner is write for inner in statements(then)):
                    yield test
                    yield from _tests_around(then, write)
                elif any(inner is write for inner in statements(orelse)):
                    yield from _tests_around(orelse, write)
            case For(body=inner):
                yield from _tests_around(inner, write)


def _equal_to(test: Expr, var: str) -> str | None:
    """The text of ``x`` if a test is ``var == x`` or ``x == var``, and ``x`` is a name or a plain field."""
    if not isinstance(test, Compare) or test.op != "==":
        return None
    sides = [_bare(test.left), _bare(test.right)]
    for one, other in (sides, sides[::-1]):
        if isinstance(one, Name) and one.name == var:
            if isinstance(other, Name):
                return source_name(other.name)
            if isinstance(other, Read) and not other.keys:
                return f"self.{other.var}"
    return None


def _bare(expr: Expr) -> Expr:
    """An expression without its conversion from or to an Optional."""
    while isinstance(expr, Wrap | Unwrap):
        expr = expr.arg
    return expr
