"""The judge compared with all runs of the model in a large scope: a log with a run is never impossible.

The converse holds if no action counts a number on and no guard reads all streams. Otherwise the judge is weaker, since
the next number of a log may be any greater one.
"""

from __future__ import annotations

import copy
import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest

from holdfast.ir.system import Scope
from holdfast.ir.types import NatType, OptionalType, SortType
from holdfast.lower.outcome import Refused, Taken
from holdfast.lower.python.interpreter import Interpreter
from tests.conform.walked_logs import Line, judged, lines, system

LENGTH = 25


@pytest.mark.parametrize("model", ["ownership", "fast_close", "route_epoch"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 7))])
def test_the_judge_finds_no_more_impossible(model: str, seed: int, tmp_path: Path) -> None:
    """Short logs with random edits, some of which are still runs, are never wrongly impossible."""
    chance = random.Random(seed)
    log = lines(model, seed, LENGTH, scope="tiny", stretched=False)
    top = max((each for line in log[1:] for each in numbers(line)), default=0)
    brute = Brute(model, top + 1)
    assert brute.allows(log)
    agreed = 0
    for _ in range(12):
        edited = edit(chance, log)
        if named(edited) != named(log):
            continue  # The judge knows only the log's processes, and `recover` needs another one.
        found = judged(model, edited, tmp_path / "a.log")
        possible = brute.allows(edited)
        assert not (possible and found.kind == "impossible"), (edited, found.facts)
        agreed += possible == (found.kind == "conforms")
    assert agreed >= 8, agreed


def named(log: list[Line]) -> set[str]:
    """The processes that a log names."""
    return {json.dumps(line["p"]) for line in log[1:] if "p" in line}


def edit(chance: random.Random, log: list[Line]) -> list[Line]:
    """The log with a step changed, its cells left out, or a line dropped."""
    edited = copy.deepcopy(log)
    place = chance.randrange(1, len(edited))
    line = edited[place]
    what = chance.randrange(4)
    if what == 0:
        del edited[place]
        for number, each in enumerate(edited[1:], start=1):
            each["seq"] = number
    elif what == 1 and "error" in line:
        del line["error"]
    elif what == 2:
        other = chance.choice(edited[1:])
        for name in other.keys() & line.keys() - {"source", "seq", "t", "action", "post", "error"}:
            line[name] = other[name]
    else:
        post = line.get("post", {})
        if post and line["action"] not in ("append", "open", "bump"):
            post.pop(chance.choice(sorted(post)))
    return edited


def numbers(value: Any) -> list[int]:
    """All numbers in a line."""
    if isinstance(value, dict):
        return [each for key, inner in value.items() if key not in ("seq", "t") for each in numbers(inner)]
    if isinstance(value, list):
        return [each for inner in value for each in numbers(inner)]
    return [value] if type(value) is int else []


class Brute:
    """All states after a log, in a scope with its numbers; the codes of a Nat are its numbers."""

    def __init__(self, model: str, top: int) -> None:
        self.system = system(model)
        tiny = self.system.scope("tiny")
        sizes = {
            **tiny.sizes,
            **{nat.name: top for nat in self.system.nats},
            **({"Stream": 3} if "Stream" in tiny.sizes else {}),
        }
        scope = Scope("brute", sizes, {}, tiny.given, tiny.at)
        self.machine = Interpreter(self.system, scope, ghosts=frozenset(), properties=())
        self.layout = self.machine.layout
        self.given = [var for var in self.system.variables if var.given]
        self.names = {json.dumps(self.named(number)): number for number in range(sizes.get("Proc", 0))}

    def named(self, number: int) -> list[Any]:
        return [self.layout.decode_value(var.value, self.layout.given[var.name][number]) for var in self.given]

    def allows(self, log: list[Line]) -> bool:
        states = set(self.machine.initial())
        for line in log[1:]:
            action = self.system.action(line["action"])
            args = tuple(self.code(param.type, line[param.name]) for param in action.params)
            after: set[bytes] = set()
            for state in states:
                match self.machine.step(state, action.name, args):
                    case Taken(new) if "error" not in line:
                        after.add(new)
                    case Refused(_, error) if error is not None and error == line.get("error"):
                        after.add(state)
            states = {state for state in after if self.agrees(state, line.get("post", {}))}
        return bool(states)

    def agrees(self, state: bytes, post: dict[str, Any]) -> bool:
        for name, value in post.items():
            field = self.layout.field(name)
            for keys, inner in nested(value, len(field.keys)):
                codes = [self.code(kind, key) for kind, key in zip(field.keys, keys, strict=True)]
                cell = field.offset + sum(map(int.__mul__, codes, field.strides))
                if state[cell] != self.code(field.type, inner):
                    return False
        return True

    def code(self, kind: Any, value: Any) -> int:
        match kind:
            case OptionalType(of):
                return 0 if value is None else 1 + self.code(of, value)
            case SortType("Proc"):
                value = json.loads(value) if isinstance(value, str) else value
                return self.names[json.dumps(value)]
            case NatType():
                return int(value)
            case _:
                return self.layout.encode_value(kind, value)


def nested(value: Any, depth: int) -> list[tuple[tuple[Any, ...], Any]]:
    """The keys and the value of each cell."""
    if not depth:
        return [((), value)]
    return list(
        itertools.chain.from_iterable(
            [((key, *keys), inner) for keys, inner in nested(each, depth - 1)] for key, each in value.items()
        )
    )
