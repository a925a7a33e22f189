"""Several sources: the judge compared with all orders of a few events, on a model that allows exactly one order."""

from __future__ import annotations

import json
import random
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from holdfast.check.budget import Budget, Meter
from holdfast.check.conform.judge.judge import judge
from holdfast.check.conform.judge.setup import JudgeOptions
from holdfast.check.conform.logs.log import Log
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.system import System
from tests.differential.running import loaded

MODEL = '''
from holdfast.lang import *


class Stream(Sort):
    """A stream."""


class Number(Nat):
    """A number."""


class Ascending(Model):
    """The numbers of each stream ascend, and so do those that belong to no stream."""

    last: Map[Stream, Number]
    top: Number

    tiny = Scope({Stream: 2, Number: 3})

    @init
    def begin(self) -> None:
        """All is 0."""
        self.last.fill(Number(0))
        self.top = Number(0)

    @action
    def put(self, s: Stream, v: Number) -> None:
        """A greater number."""
        require(self.last[s] < v, "R-1")
        self.last[s] = v

    @action
    def rise(self, v: Number) -> None:
        """A greater number for all."""
        require(self.top < v, "R-2")
        self.top = v
'''

Line = dict[str, Any]


@cache
def system() -> System:
    """The model, compiled once."""
    with loaded(MODEL) as found:
        return compile_model(found)


def events(chance: random.Random) -> list[Line]:
    """Up to seven events of up to three sources, each with an interval and perhaps a cause."""
    found: list[Line] = []
    seqs, begins = [0] * 3, [0] * 3
    length = chance.randint(2, 7)
    for value in (
        chance.sample(range(1, 10), length) if chance.randrange(2) else sorted(chance.sample(range(1, 10), length))
    ):
        source = chance.randrange(3)
        seqs[source] += 1
        begins[source] += chance.choice((0, 1, 1, 2, 3))
        line = {"source": "abc"[source], "seq": seqs[source], "v": value, "action": "rise"}
        line["t"] = [begins[source], begins[source] + chance.choice((0, 0, 1, 2, 5))]
        if chance.randrange(2):
            line |= {"action": "put", "s": chance.choice("xy")}
        if found and chance.randrange(4) == 0:
            other = chance.choice(found)
            line["cause"] = [other["source"], other["seq"]]
        found.append(line)
    return found


def kind(log: list[Line], path: Path, joint: int) -> str:
    """The verdict, or ``damaged``."""
    path.write_text("".join(f"{json.dumps(line)}\n" for line in log))
    with Log([str(path)]) as found:
        try:
            return judge(system(), found, {}, JudgeOptions(joint=joint), Meter(Budget())).kind
        except UsageError:
            return "damaged"


def comes_first(one: Line, other: Line) -> bool:
    """Whether one event must take effect before the other."""
    return (
        (one["source"] == other["source"] and one["seq"] < other["seq"])
        or one["t"][1] < other["t"][0]
        or other.get("cause") == [one["source"], one["seq"]]
    )


def has_order(log: list[Line]) -> bool:
    """Whether some order of the events puts every event after all events that must precede it."""
    waiting = list(log)
    while waiting:
        free = [line for line in waiting if not any(comes_first(other, line) for other in waiting if other is not line)]
        if not free:
            return False
        waiting.remove(free[0])
    return True


def ascends(log: list[Line]) -> bool:
    """Whether some order of the events makes the numbers of each group ascend."""
    groups: dict[str, list[Line]] = {}
    for line in log:
        groups.setdefault(line.get("s", ""), []).append(line)
    follows = {
        (id(before), id(after))
        for group in groups.values()
        for before, after in pairwise(sorted(group, key=lambda line: int(line["v"])))
    }
    waiting = list(log)
    while waiting:
        free = [
            line
            for line in waiting
            if not any(
                comes_first(other, line) or (id(other), id(line)) in follows for other in waiting if other is not line
            )
        ]
        if not free:
            return False
        waiting.remove(free[0])
    return True


@pytest.mark.parametrize("part", range(4))
def test_some_order_is_a_run(part: int, tmp_path: Path) -> None:
    """The log conforms if ascending numbers contradict neither sources, nor times, nor causes."""
    chance = random.Random(part)
    seen = {"conforms": 0, "impossible": 0, "damaged": 0}
    for _ in range(150):
        log = events(chance)
        found = kind(log, tmp_path / "a.log", 0)
        seen[found] += 1
        if not has_order(log):
            assert found == "damaged", log
        elif found != "damaged":
            assert found == ("conforms" if ascends(log) else "impossible"), log
            # A world of one stream has fewer events, so it is never impossible more often.
            assert found == "impossible" or kind(log, tmp_path / "a.log", 1) == "conforms", log
        else:
            assert any("cause" in line for line in log), log
    assert min(seen["conforms"], seen["impossible"]) > 20, seen
