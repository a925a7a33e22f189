"""Logs of random runs of generated models, which CPython executes, and random edits of such logs."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import attrs

from holdfast.lang.maps import Map, Rel
from holdfast.lang.model import Model
from holdfast.lang.rules import Refused
from holdfast.lang.sorts import Cut, Int, Nat, Sort
from tests.conform.generated_oracle import UNKNOWN
from tests.conform.generated_scope import LogScope, kinds_of, some
from tests.generated.case import Case

Line = dict[str, Any]

NUMBERS = 6
"""The greatest number in a run's scope."""

TRIES = 12
"""The number of random requests that are tried for a line."""


class RunLog:
    """The log of one random run. ``literals``: the number of literals of each Nat in the model."""

    def __init__(self, case: Case, chance: random.Random, literals: Mapping[str, int], plain: Collection[str]) -> None:
        self.chance = chance
        mark = case.mark
        sizes = {kind: NUMBERS if issubclass(kind, Nat) else size for kind, size in mark.sizes.items()}
        self.oracle = case.oracle(attrs.evolve(mark, sizes=sizes, budgets={}))
        self.numbers = {
            kind.__name__: list(range(NUMBERS + 2)) if kind.__name__ in plain else self._growing()
            for kind in sizes
            if issubclass(kind, Nat)
        }
        self.header: Line = {
            "holdfast": "log", "version": 1,
            "literals": {
                nat: {str(each): self.numbers[nat][each] for each in range(1, most + 1)}
                for nat, most in literals.items() if most
            },
        }  # fmt: skip
        self.kinds = kinds_of(case.model)
        self.given = {
            kind: [name for name in mark.given if self.kinds[name][0] == (kind,)]
            for kind in sizes
            if issubclass(kind, Sort)
        }
        self.cells_told = chance.choice((0, 10, 50, 100))
        self.cells_before = chance.choice((0, 0, 20))

    def _growing(self) -> list[int]:
        found = [0]
        while len(found) <= NUMBERS + 1:
            found.append(found[-1] + self.chance.randint(2, 9))
        return found

    def lines(self, length: int) -> list[Line]:
        """The header and up to ``length`` events."""
        state = self.chance.choice(self.oracle.starts())
        found = [self.header]
        for _ in range(length * TRIES):
            if len(found) > length:
                break
            after, line = self._request(state)
            if line is not None:
                line |= {"source": "a", "seq": len(found), "t": [10 * len(found), 10 * len(found)]}
                found.append(line)
                state = after
        return found

    def _request(self, state: Model) -> tuple[Model, Line | None]:
        """A random request, which mostly changes something."""
        act = self.chance.choice(self.oracle.acts)
        args = self.chance.choice(list(self.oracle.values(act.types)) or [{}])
        line: Line = {
            "action": act.name,
            "args": {name: self.json(kind, args[name], state) for name, kind in act.types},
        }
        try:
            after = state.take(act.name, **args)
        except Refused as refused:
            if refused.error is None:
                return state, None
            after = state
            line["error"] = refused.error.name
        except Cut:
            return state, None
        if self.oracle.key(after) == self.oracle.key(state) and self.chance.randrange(3):
            return state, None
        for name, cells in (
            ("pre", self._cells(state, state, self.cells_before)),
            ("post", self._cells(after, state, self.cells_told)),
        ):
            if cells:
                line[name] = cells
        return after, line

    def _cells(self, state: Model, old: Model, share: int) -> Line:
        """Some cells, preferably changed ones."""
        found: Line = {}
        for name in self.oracle.fields:
            if name in self.oracle.ghosts:
                continue
            kinds, kind = self.kinds[name]
            held, before = getattr(state, name), getattr(old, name)
            pairs = held._cells.items() if isinstance(held, Map | Rel) else (((), held),)
            for keys, value in pairs:
                changed = value != (before[keys] if keys else before)
                if self.chance.randrange(100) < (share if changed else share // 10):
                    inner, path = (
                        found,
                        [name, *(self._key(kind_, key, state) for kind_, key in zip(kinds, keys, strict=True))],
                    )
                    for step in path[:-1]:
                        inner = inner.setdefault(step, {})
                    inner[path[-1]] = self.json(kind, value, state)
        return found

    def _key(self, kind: Any, value: Any, state: Model) -> str:
        found = self.json(kind, value, state)
        return found if isinstance(found, str) else json.dumps(found, separators=(",", ":"))

    def json(self, kind: Any, value: Any, state: Model) -> Any:
        """A value as the log writes it."""
        kind = some(kind)
        if value is None or kind is bool:
            return value
        if issubclass(kind, Sort):
            names = self.given[kind]
            if names:
                return [self.json(self.kinds[name][1], getattr(state, name)[value], state) for name in names]
            return f"{kind.__name__.lower()}-{value.index}"
        if issubclass(kind, Int):
            return int(value)
        return self.numbers[kind.__name__][int(value)] if issubclass(kind, Nat) else value.name


def edited(log: Sequence[Line], scope: LogScope, chance: random.Random, errors: Sequence[str]) -> list[Line]:
    """The log with one change; an outcome or an argument may become unknown. ``errors``: the model's errors."""
    found = copy.deepcopy(list(log))
    if len(found) < 2:
        return found
    place = chance.randrange(1, len(found))
    line = found[place]
    match chance.randrange(7):
        case 0:
            del found[place]
        case 1 if len(found) > 2:
            other = chance.randrange(1, len(found))
            found[place], found[other] = found[other], found[place]
        case 2:
            _change_outcome(line, chance.choice([*errors, None, UNKNOWN]))
        case 3 if line["args"]:
            name = chance.choice(sorted(line["args"]))
            line["args"][name] = _other(scope.params[line["action"]][name], line["args"][name], scope, chance)
        case 5 if line["args"]:
            del line["args"][chance.choice(sorted(line["args"]))]
        case 6:
            line["error"] = UNKNOWN
        case _:
            _change_cell(line.get("post") or line.get("pre"), scope, chance)
    for number, each in enumerate(found[1:], start=1):
        each.update(seq=number, t=[10 * number, 10 * number])
    return found


def _change_outcome(line: Line, error: str | None) -> None:
    line.pop("error", None)
    if error is not None:
        line["error"] = error


def _change_cell(cells: Line | None, scope: LogScope, chance: random.Random) -> None:
    if not cells:
        return
    name = chance.choice(sorted(cells))
    inner, key, kind = cells, name, scope.kinds[name][1]
    for _ in scope.kinds[name][0]:
        inner = inner[key]
        key = chance.choice(sorted(inner))
    inner[key] = _other(kind, inner[key], scope, chance)


def _other(kind: Any, value: Any, scope: LogScope, chance: random.Random) -> Any:
    """Another value of the type: one from the log, or a neighbouring number."""
    plain = some(kind)
    options: list[Any] = [] if plain is kind else [None]
    if plain is bool:
        options += [True, False]
    elif plain in scope.elements:
        options += [json.loads(name) if plain in scope.given else name for name in scope.elements[plain]]
    elif plain in scope.numbers:
        least = sorted(scope.numbers[plain])[scope.literals.get(plain.__name__, 0)]
        options += [
            other
            for each in scope.numbers[plain]
            for other in (each, each + 1, each - 1)
            if other > least or other in scope.numbers[plain]
        ]
    elif issubclass(plain, Int):
        options += list(range(plain.lo, plain.hi + 1))
    else:
        options += [member.name for member in plain]
    others = [each for each in options if each != value]
    return chance.choice(others) if others else value


def of_sources(log: Sequence[Line], chance: random.Random) -> list[Line]:
    """The log as two or three sources could write it, with overlapping intervals; some lines have a cause."""
    found = [log[0], *map(dict, log[1:])]
    count, seqs, begins = chance.randint(2, 3), [0] * 3, [0] * 3
    for number, line in enumerate(found[1:], start=1):
        source = chance.randrange(count)
        seqs[source] += 1
        begins[source] = max(begins[source], 10 * number - chance.choice((0, 0, 10, 25)))
        end = max(begins[source], 10 * number + chance.choice((0, 0, 10, 25)))
        line |= {"source": "abc"[source], "seq": seqs[source], "t": [begins[source], end]}
        if number > 1 and chance.randrange(4) == 0:
            other = found[chance.randrange(1, number)]
            line["cause"] = [other["source"], other["seq"]]
    if chance.randrange(2):
        _exchange(found, chance)
    return found


def _exchange(log: list[Line], chance: random.Random) -> None:
    """Exchange two lines; each place keeps its source and its time."""
    stay = ("source", "seq", "t", "cause")
    one, other = (chance.randrange(1, len(log)) for _ in range(2))
    first, second = log[one], log[other]
    log[one] = {key: first[key] for key in stay if key in first} | {k: v for k, v in second.items() if k not in stay}
    log[other] = {key: second[key] for key in stay if key in second} | {k: v for k, v in first.items() if k not in stay}
