"""Fingerprints: systems with the same meaning have the same fingerprint, and others do not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import System
from tests.language.conftest import Build

PLAIN = """
SMALL = {Node: 1, Stream: 1, Epoch: 1}

class M(Table):
    @action
    def open(self, n: Node, s: Stream) -> None:
        require(not self.opened[s], "ST-14")
        self.opened[s] = True
        self.owner[s] = n

    @invariant
    def owned(self) -> bool:
        return all(self.owner[s] is not None for s in Stream if self.opened[s])
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    @action", "    # Why.\n\n    @action"),
        ("require(not self.opened[s],", "require(  (not self.opened[s]) ,"),
        ("        require", "        '''Open a stream.'''\n        require"),
        ("class M(Table):", "class M(Table):\n    wide = Scope(SMALL)\n"),
        ("class M(Table):", 'class M(Table):\n    mutants = outcomes({"ST-14": missing("closes")})\n'),
        ("class M(Table):", "class M(Table):\n    def unused(self) -> bool:\n        return True\n"),
        ("require(not self.opened[s]", "require(self.free(s)"),
    ],
    ids=[
        *("comments", "layout", "prose", "scopes", "outcomes"),
        *("a helper that nobody calls", "a condition moved to a helper"),
    ],
)
def test_a_fingerprint_ignores_what_means_nothing(build: Build, old: str, new: str) -> None:
    """Two texts with the same meaning have the same fingerprint."""
    free = "\n    def free(self, s: Stream) -> bool:\n        return not self.opened[s]\n"
    assert PLAIN.count(old) >= 1

    assert build(PLAIN).fingerprint == build(PLAIN.replace(old, new) + free).fingerprint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"ST-14"', '"ST-15"'),
        ('"ST-14"', '"ST-14", error=E.FENCED'),
        ("not self.opened[s]", "self.opened[s]"),
        ("self.owner[s] = n", "self.owner[s] = None"),
        ("s in Stream if", "s in Stream if not"),
        ("@action", '@action(idempotent="INV-15")'),
        ("@action", '@action(fair="weak")'),
        ("@invariant", "@lemma"),
        ("def open", "def open_it"),
        ("class M(Table):", "class M(Table):\n    spare: bool\n    tiny = Scope(SMALL, given={'spare': True})\n"),
    ],
)
def test_a_fingerprint_tells_meanings_apart(build: Build, old: str, new: str) -> None:
    """A change of a rule, an error, a condition, a write, a property, a role, a name or a variable changes it."""
    assert PLAIN.count(old) >= 1

    assert build(PLAIN).fingerprint != build(PLAIN.replace(old, new)).fingerprint


def test_a_fingerprint_depends_on_rules_and_variants(build: Build) -> None:
    """Removing a rule or choosing a variant changes the fingerprint. A flag that is not chosen does not change it."""
    flagged = PLAIN.replace("self.owner[s] = n", "self.owner[s] = None if self.quick else n").replace(
        "class M(Table):", "class M(Table):\n    quick: Flag\n"
    )
    plain, without, quick = build(PLAIN), build(PLAIN, without=("ST-14",)), build(flagged, "quick")

    assert len({plain.fingerprint, without.fingerprint, quick.fingerprint}) == 3
    assert build(flagged).fingerprint == plain.fingerprint


def test_a_local_is_no_fill(build: Build) -> None:
    """Assigning a local that is named like a map differs from filling that map with the same value."""
    local = PLAIN.replace("self.owner[s] = n", "opened = n == n")
    fill = PLAIN.replace("self.owner[s] = n", "self.opened.fill(n == n)")

    assert build(local).fingerprint != build(fill).fingerprint


PROSE = {"at", "doc", "ids"}
DERIVED = {"premise", "constant", "given", "length_of", "entries_of", "part_of", "most", "record"}
"""Attributes that follow from others: the premise from the expression, the rest from who writes a variable.

``length_of``, ``entries_of``, ``part_of`` and ``record`` say how a model by hand holds its values, and change no step.
The actions that fill a pool have its bound, ``most``.
"""


def changes(value: Any) -> Iterator[tuple[str, Any]]:
    """The value with one attribute changed at any depth, and the name of that attribute."""
    if isinstance(value, tuple):
        for place, part in enumerate(value):
            yield from ((name, (*value[:place], new, *value[place + 1 :])) for name, new in changes(part))
    elif attrs.has(type(value)):
        for field in attrs.fields(type(value)):
            old = getattr(value, field.name)
            if old != ():
                yield f"{type(value).__name__}.{field.name}", attrs.evolve(value, **{field.name: other(old)})
            if field.name not in PROSE:
                yield from ((name, attrs.evolve(value, **{field.name: new})) for name, new in changes(old))


def other(value: object) -> object:
    """A different value: the empty tuple for a tuple, a text for anything else."""
    return () if isinstance(value, tuple) else "other"


def changed(system: System) -> dict[str, System]:
    """The system with each attribute of its parts changed, at the first place that has the attribute."""
    found: dict[str, System] = {}
    for part in ("variables", "init", "actions", "properties"):
        for name, new in changes(getattr(system, part)):
            if name not in found:
                found[name] = attrs.evolve(system, **{part: new})
    return found


def test_every_part_counts() -> None:
    """A fingerprint depends on every attribute of a system's parts, except places, prose and derived attributes."""
    system = compile_model(load_model("tests/lower/models/gauges.py"))
    every = changed(system)
    ignored = {name for name, one in every.items() if one.fingerprint == system.fingerprint}

    assert {name.partition(".")[2] for name in ignored} == PROSE | DERIVED
    assert len(every) > 70


KEPT = """
SMALL = {Node: 1, Stream: 1, Epoch: 1}

class M(Table):
    @action
    def close(self, n: Node, s: Stream) -> None:
        require(any(self.owner[s] is not None and self.owner[s] == m for m in Node), "ST-21")
        if rule("ST-31", self.opened[s] and self.owner[s] is not None):
            self.opened[s] = False

    @invariant
    def owned(self) -> bool:
        return all(self.owner[s] is not None for s in Stream if self.opened[s])
"""


def test_a_fingerprint_stays_over_releases(build: Build) -> None:
    """A model with quantifiers, rules and branches keeps the fingerprint that stored replay lines carry."""
    assert build(KEPT).fingerprint == "f044977776a4c8f3"
