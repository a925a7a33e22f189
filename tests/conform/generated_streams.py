"""Models with the features of the real ones: streams, processes, epochs, ranges of offsets."""

from __future__ import annotations

import random
from collections.abc import Sequence

HEADER = '''\
"""A generated model."""
from __future__ import annotations
from enum import Enum
from holdfast.lang import *
class E(Enum):
    LATE = 1
    FAR = 2
class Stream(Sort): ...
class Proc(Sort): ...
class Offset(Nat): ...
class Epoch(Nat): ...
class Whole(Model):
    """Whole."""
    born: Map[Proc, Epoch]
    low: Map[Stream, Offset]
    high: Map[Stream, Offset]
    last: Map[Stream, Offset | None]
    epoch: Map[Stream, Epoch]
    now: Epoch
    owner: Map[Stream, Proc | None]
    open: Rel[Stream]
    alive: Rel[Proc]
    full: Rel[Stream, Offset]
    seen: Rel[Offset]
    floor: Map[Offset, Epoch]
'''

CONDITIONS = (
    "a <= b", "a < b", "self.low[s] <= a", "self.low[s] < b", "a <= self.high[s]", "b == self.high[s]",
    "self.low[s] <= self.high[s]", "self.last[s] is None", "self.last[s] is None or self.last[s] != a",
    "self.last[s] is not None and self.last[s] <= a", "self.epoch[s] <= e", "self.epoch[s] < e", "e == self.epoch[s]",
    "self.now <= e", "e != self.now", "self.epoch[s] == self.now", "self.open[s]", "not self.open[s]",
    "self.alive[p]", "self.owner[s] is not None and self.owner[s] == p", "self.owner[s] is None", "self.born[p] <= e",
    "self.born[p] == self.now", "self.born[p] < self.epoch[s]",
    "all(self.full[s, o] for o in Offset if a <= o and o < b)",
    "not any(self.full[s, o] for o in Offset if self.low[s] <= o and o < a)",
    "any(self.seen[o] for o in Offset if o >= a and o < self.high[s])",
    "all(self.floor[o] <= e for o in Offset if a <= o)", "self.seen[a]", "not self.full[s, b]", "self.floor[a] < e",
    "all(self.low[x] <= a for x in Stream)", "all(not self.open[x] or self.epoch[x] <= e for x in Stream)",
    "not any(self.owner[x] is not None and self.owner[x] == p for x in Stream)",
    "all(x == s or not self.open[x] for x in Stream)",
    "not any(self.full[x, o] for x in Stream for o in Offset if a <= o and o < b)",
    "any(self.open[x] for x in Stream)", "all(self.born[q] <= e for q in Proc if self.alive[q])",
    "min((o for o in Offset if self.full[s, o] and self.low[s] <= o), default=b) >= a",
)  # fmt: skip

EFFECTS = (
    "self.low[s] = a", "self.high[s] = b", "self.high[s] = a", "self.last[s] = a", "self.last[s] = None",
    "self.epoch[s] = e", "self.now = e", "self.owner[s] = p", "self.owner[s] = None", "self.open[s] = True",
    "self.open[s] = False", "self.alive[p] = True", "self.alive[p] = False", "self.low[s] = self.high[s]",
    "self.epoch[s] = self.born[p]", "self.now = self.epoch[s]", "self.last[s] = self.low[s]",
    "for o in Offset:\n    if a <= o and o < b:\n        self.full[s, o] = True",
    "for o in Offset:\n    if o < a:\n        self.full[s, o] = False",
    "for o in Offset:\n    if self.low[s] <= o and o < b:\n        self.seen[o] = not self.seen[o]",
    "for o in Offset:\n    if a <= o:\n        self.floor[o] = e",
    "for o in Offset:\n    if a <= o and o < self.high[s]:\n        self.full[s, o] = self.seen[o]",
    "for x in Stream:\n    self.open[x] = False",
    "for x in Stream:\n    if self.owner[x] is not None and self.owner[x] == p:\n        self.owner[x] = None",
    "for x in Stream:\n    if self.epoch[x] < e:\n        self.epoch[x] = e",
    "for x in Stream:\n    if self.open[x]:\n        self.last[x] = a",
    "for x in Stream:\n    for o in Offset:\n        if o < a:\n            self.full[x, o] = True",
    "self.low[s] = min((o for o in Offset if self.full[s, o] and a <= o), default=b)", "self.seen.fill(False)",
    "self.full.fill(True)",
)  # fmt: skip

PARAMETERS = {"s": "Stream", "p": "Proc", "a": "Offset", "b": "Offset", "e": "Epoch"}


class _Writer:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(f"streams {seed}")
        self.rules = 0
        self.divided = self.chance.randrange(4) > 0
        self.conditions: Sequence[str] = CONDITIONS
        self.effects: Sequence[str] = EFFECTS
        self.shapes = self._some_shapes()

    def _some_shapes(self) -> list[tuple[Sequence[str], Sequence[str]]]:
        """Conditions and effects of an action, few enough that steps interact. Most models divide into streams."""
        if not self.divided:
            return [(self.chance.sample(CONDITIONS, 9), self.chance.sample(EFFECTS, 8))]
        conditions = [each for each in CONDITIONS if not each.startswith("any(self.open[x]")]
        own = [
            each for each in EFFECTS if "[s]" in each.split(" = ")[0] or "[s, o] =" in each or "for x in Stream" in each
        ]
        shared = [each for each in EFFECTS if "s" not in _words(each) and "[s" not in each]
        alone = [each for each in conditions if "[s" not in each and "s" not in _words(each)]
        return [
            (self.chance.sample(conditions, 7), self.chance.sample(own, 6)),
            (self.chance.sample(alone, 4), self.chance.sample(shared, 4)),
        ]

    def source(self) -> str:
        lines = [
            'tiny = Scope({Stream: 2, Proc: 2, Offset: 3, Epoch: 3}, given={"born": (0, 1)})',
            "@init",
            "def begin(self) -> None:",
        ]
        lines += [f"    {each}" for each in self._start()]
        for number in range(self.chance.randint(2, 4)):
            lines += self._action(f"act{number}")
        return HEADER + "".join(f"    {line}\n" for line in lines)

    def _start(self) -> list[str]:
        one = self.chance.choice
        return [
            '"""The start."""', "self.low.fill(Offset(0))", "self.last.fill(None)",
            f"self.high.fill(Offset({one((0, 0, 0, 1, 2))}))",
            f"self.epoch.fill(Epoch({one((0, 0, 1))}))", "self.now = Epoch(0)", "self.owner.fill(None)",
            f"self.open.fill({one((True, False))})", f"self.alive.fill({one((True, False))})",
            f"self.full.fill({one((True, False))})", "self.seen.fill(False)", "self.floor.fill(Epoch(0))",
        ]  # fmt: skip

    def _action(self, name: str) -> list[str]:
        self.conditions, self.effects = self.chance.choice(self.shapes)
        body = [self._require() for _ in range(self.chance.randint(0, 2))]
        for _ in range(self.chance.randint(1, 3)):
            effect = self._literal(self.chance.choice(self.effects)).splitlines()
            condition = self._condition()
            looks = any(_looks(part) for part in (condition, *effect))
            if self.chance.randrange(3) == 0 and not (self.divided and looks):
                effect = [f"if {condition}:", *(f"    {line}" for line in effect)]
            body += effect
        text = "\n".join(body)
        params = [f"{each}: {kind}" for each, kind in PARAMETERS.items() if _uses(text, each)]
        return [
            "@action",
            f"def {name}({', '.join(['self', *params])}) -> None:",
            '    """An action."""',
            *(f"    {line}" for line in body),
        ]

    def _require(self) -> str:
        self.rules += 1
        error = self.chance.choice(("", ", E.LATE", ", E.FAR"))
        return f'require({self._condition()}, "G-{self.rules}"{error})'

    def _condition(self) -> str:
        found = self._literal(self.chance.choice(self.conditions))
        if self.chance.randrange(4) == 0:
            found = f"{found} {self.chance.choice(('and', 'or'))} {self._literal(self.chance.choice(self.conditions))}"
        negated = self.chance.randrange(8) == 0 and not (self.divided and _looks(found))
        return f"not ({found})" if negated else found

    def _literal(self, text: str) -> str:
        """Sometimes with a literal in place of a parameter."""
        if self.chance.randrange(12) == 0:
            text = text.replace("= e", f"= Epoch({self.chance.randint(1, 2)})").replace(
                "< b", f"< Offset({self.chance.randint(1, 2)})"
            )
        return text


def _looks(text: str) -> bool:
    """Whether a part reads all streams."""
    return "in Stream" in text


def _uses(text: str, name: str) -> bool:
    return any(word == name for word in _words(text))


def _words(text: str) -> Sequence[str]:
    return "".join(each if each.isalnum() or each in "._" else " " for each in text).split()


def streams_model(seed: int) -> str:
    """The source of the model of a seed; it has one scope, ``tiny``."""
    return _Writer(seed).source()
