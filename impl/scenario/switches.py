"""The named switches of the implementation: suspicious spots of AutoMQ that the default mends (streams.md 18)."""

from __future__ import annotations

import ast
from functools import cache

from impl.rules import ROOT


@cache
def switches() -> tuple[str, ...]:
    """The names that the source asks for (``"AM-07" in profile.as_built``), sorted."""
    found = set()
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Compare(
                    left=ast.Constant(value=str(name)),
                    ops=[ast.In() | ast.NotIn()],
                    comparators=[ast.Attribute(attr="as_built") | ast.Name(id="as_built")],
                ):
                    found.add(name)
    return tuple(sorted(found))
