"""Random models of a few booleans against the oracle: hidden steps, unknown outcomes, and worlds of one node."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from holdfast.check.conform.judge.projection import project
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.system import System
from tests.conform.generated_comparing import judged
from tests.conform.generated_oracle import LogOracle
from tests.differential.running import loaded

HEAD = '''
from enum import Enum

from holdfast.lang import *


class E(Enum):
    """Answers."""

    LATE = 1
    FAR = 2


class Node(Sort):
    """A node."""


class Small(Model):
    """A model."""

    on: bool
    done: bool
    up: Rel[Node]
    seen: Rel[Node]

    tiny = Scope({Node: 2})

    @init
    def begin(self) -> None:
        """All is off."""
        self.on = False
        self.done = False
        self.up.fill(False)
        self.seen.fill(False)
'''

CELLS = ("self.on", "self.done", "self.up[n]", "self.seen[n]")

VALUES = (
    "True",
    "True",
    "False",
    "not self.on",
    "self.done",
    "self.up[n]",
    "not self.seen[n]",
    "all(self.up[x] for x in Node)",
)

ACTIONS = ("one", "two", "three", "four")


LOOPS = (
    "self.up.fill(False)",
    "for x in Node:\n    self.up[x] = not self.seen[x]",
    "for x in Node:\n    self.seen[x] = True",
)


def divided_body(chance: random.Random, number: int) -> list[str]:
    """A rule and effects that concern one node, all nodes by a loop, or cells without a node."""
    weaker = ("all(self.up[x] for x in Node)", "not any(self.seen[x] for x in Node)", "self.on")
    quantified = chance.choice(weaker) if chance.randrange(12) else "any(self.up[x] for x in Node)"
    if chance.randrange(3) == 0:
        return [
            f'require({quantified}, "R-{number}", E.LATE)',
            f"{chance.choice(CELLS[:2])} = {chance.choice(('True', 'not self.on'))}",
        ]
    rule = chance.choice((quantified, *CELLS, *(f"not {cell}" for cell in CELLS)))
    own = [f"{cell} = {chance.choice(('True', 'self.on', 'not self.seen[n]'))}" for cell in chance.sample(CELLS[2:], 1)]
    loop = chance.choice(LOOPS).splitlines() if chance.randrange(2) else []
    return [f'require({rule}, "R-{number}", E.FAR)', *own, *loop]


def model(chance: random.Random, *, divided: bool = False) -> str:
    """Four actions, each with a rule and one or two effects. ``divided``: for worlds of one node."""
    lines = []
    for number, name in enumerate(ACTIONS):
        cond = chance.choice(VALUES + CELLS).removeprefix("not ")
        negated = "not " if chance.randrange(2) else ""
        error = chance.choice(("", ", E.LATE", ", E.FAR"))
        body = [f'require({negated}({cond}), "R-{number}"{error})'] if cond not in ("True", "False") else []
        body += [f"{cell} = {chance.choice(VALUES)}" for cell in chance.sample(CELLS, chance.randint(1, 2))]
        body = divided_body(chance, number) if divided else body
        params = "self, n: Node" if any("[n]" in line for line in body) else "self"
        lines += [
            "",
            "@action",
            f"def {name}({params}) -> None:",
            '    """A step."""',
            *(f"    {line}" for line in body),
        ]
    # Some rule has to give each error, so that a log can have it.
    lines += ["", "@action", "def ask(self) -> None:", '    """A question."""']
    lines += ['    require(self.on, "R-8", E.LATE)', '    require(not self.done, "R-9", E.FAR)']
    return HEAD + "".join(f"    {line}\n" for line in lines)


def log_of(chance: random.Random, with_node: set[str]) -> list[dict[str, Any]]:
    """A log of random events: most are no run, but hidden steps explain many."""
    found: list[dict[str, Any]] = [{"holdfast": "log", "version": 1, "literals": {}}]
    for number in range(1, chance.randint(2, 5)):
        action = chance.choice((*ACTIONS, "ask"))
        line: dict[str, Any] = {"source": "a", "seq": number, "t": [number, number], "action": action, "args": {}}
        if action in with_node and chance.randrange(6):
            line["args"]["n"] = chance.choice("xy")
        if chance.randrange(3) == 0:
            line["error"] = chance.choice(("LATE", "FAR", "?"))
        for name in ("pre", "post"):
            if chance.randrange(4) == 0:
                cell = chance.choice(("on", "done", "up", "seen"))
                value: Any = bool(chance.randrange(2))
                line[name] = {cell: value if cell in ("on", "done") else {chance.choice("xy"): value}}
        found.append(line)
    return found


def told(log: list[dict[str, Any]], with_node: set[str]) -> list[dict[str, Any]]:
    """The log with every unknown argument and outcome filled in."""
    for line in log[1:]:
        if line["action"] in with_node:
            line["args"].setdefault("n", "x")
        if line.get("error") == "?":
            del line["error"]
    return log


def run_of(found: Any, chance: random.Random, with_node: set[str]) -> list[dict[str, Any]]:
    """The log of a run, whose last line may be no step of the model."""
    log: list[dict[str, Any]] = [{"holdfast": "log", "version": 1, "literals": {}}]
    for _ in range(14):
        _, line, *_ = told(log_of(chance, with_node), with_node)
        line |= {"seq": len(log), "t": [len(log), len(log)]}
        if LogOracle(found, found.tiny, [*log, line]).possible() or chance.randrange(12) == 0:
            log.append(line)
            if not LogOracle(found, found.tiny, log).possible():
                break
    return log if len(log) > 1 else [*log, line]


def alone(system: System, log: list[dict[str, Any]], folder: Path, hidden: tuple[str, ...]) -> str:
    """The judge's answer for one node at a time, or "refused" if the model cannot be divided."""
    try:
        return judged(system, log, folder, hidden=hidden, project="Node", joint=1).kind
    except UsageError:
        return "refused"


@pytest.mark.parametrize("part", range(5))
def test_hidden_steps_explain_what_they_can(part: int, tmp_path: Path) -> None:
    """The judge inserts hidden steps only where they matter, and the oracle anywhere: the answers agree."""
    chance = random.Random(part)
    kinds: Counter[str] = Counter()
    for _ in range(8):
        source = model(chance)
        with loaded(source) as found:
            system = compile_model(found)
            with_node = {action.name for action in system.actions if action.params}
            for _ in range(12):
                log = log_of(chance, with_node)
                shown = {line["action"] for line in log[1:]}
                hidden = tuple(name for name in ACTIONS if name not in shown or chance.randrange(4) == 0)
                hidden = tuple(chance.sample(hidden, min(len(hidden), chance.randint(1, 3))))
                said = judged(system, log, tmp_path, hidden=hidden).kind
                possible = LogOracle(found, found.tiny, log, hidden=hidden).possible()  # type: ignore[attr-defined]
                kinds[said] += 1
                assert not (possible and alone(system, log, tmp_path, hidden) == "impossible"), (source, hidden, log)
                assert said in ("conforms" if possible else "impossible", "unknown"), (source, hidden, log)
    assert min(kinds["conforms"], kinds["impossible"]) > 8, kinds
    assert kinds["unknown"] < 20, kinds


@pytest.mark.parametrize("part", range(3))
def test_one_node_at_a_time(part: int, tmp_path: Path) -> None:
    """Worlds of one node find the same logs impossible as all nodes together, unless a rule reads all nodes."""
    chance = random.Random(f"divided {part}")
    kinds: Counter[str] = Counter()
    for _ in range(10):
        source = model(chance, divided=True)
        with loaded(source) as found:
            system = compile_model(found)
            weak = project(system, "Node", frozenset()).weak
            with_node = {action.name for action in system.actions if action.params}
            for _ in range(8):
                log = run_of(found, chance, with_node)
                possible = LogOracle(found, found.tiny, log).possible()  # type: ignore[attr-defined]
                said = alone(system, log, tmp_path, ())
                kinds[said] += 1
                if possible or not weak:
                    assert said in ("conforms" if possible else "impossible", "refused"), (source, log)
    assert min(kinds["conforms"], kinds["impossible"]) > 8, kinds
    assert kinds["refused"] < 40, kinds
