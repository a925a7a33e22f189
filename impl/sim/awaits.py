"""All awaits in the source of a package, for a comparison with the awaits at which processes have crashed."""

from __future__ import annotations

import ast
from functools import cache

from impl.rules import ROOT
from impl.tasks import Place

PARTITIONS, ZONES = ("broker/partition/",), ("broker/zones/", "broker/peers.py")
"""What a run without partitions, and one without zones, never reaches: beginnings of the names of files."""


def awaits_of_brokers(*, partitions: bool, zones: bool) -> tuple[Place, ...]:
    """The awaits that a run can reach. ``partitions``, ``zones``: whether the run has some."""
    out = (*(() if partitions else PARTITIONS), *(() if zones else ZONES))
    return tuple(each for each in awaits("broker") if not each[0].startswith(out))


@cache
def awaits(package: str) -> tuple[Place, ...]:
    """The awaits of a package of ``impl``, as ``Tasks.places`` names them, in the order of the source."""
    found: list[Place] = []
    for path in sorted((ROOT / package).rglob("*.py")):
        file = str(path.relative_to(ROOT))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found += [(file, line, function) for line, function in _awaits(tree, ())]
    return tuple(sorted(set(found)))


def _awaits(node: ast.AST, names: tuple[str, ...]) -> list[tuple[int, str]]:
    """The awaits below a node, each with its line and the qualified name of its function."""
    found: list[tuple[int, str]] = []
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.ClassDef(name=name):
                found += _awaits(child, (*names, name))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found += _awaits(child, (*names, name, "<locals>"))
            case ast.Await():
                # The last name is the "<locals>" of the enclosing function: leave it out.
                found += [(child.lineno, ".".join(names[:-1])), *_awaits(child, names)]
            case _:
                found += _awaits(child, names)
    return found
