"""A run of a model, with all that is needed to show it, to write it down and to repeat it.

A trace stands on its own: whoever renders it needs neither the model nor an engine.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Literal

import attrs

from holdfast.ir.errors import Place
from holdfast.ir.expr import Expr, Read, walk
from holdfast.ir.system import Param, Property, System
from holdfast.lower.layout import Cell, Layout, Value
from holdfast.lower.layout import Field as LayoutField

ClaimKind = Literal["invariant", "lemma", "step", "idempotent", "deadlock", "witness"]


@attrs.frozen
class Claim:
    """What a run shows: a property that it violates, or a witness that it reaches.

    ``sentence`` is the property in the words of the model. ``where`` names the elements for which it fails, where
    that can be told; ``reads`` are the variables it speaks of, ``reads_before`` those it reads before the last step.
    ``at`` is where the model says it.
    """

    name: str
    kind: ClaimKind
    ids: tuple[str, ...]
    sentence: str
    at: Place
    reads: tuple[str, ...] = ()
    reads_before: tuple[str, ...] = ()
    where: tuple[tuple[str, Value], ...] = ()

    @classmethod
    def of_property(cls, prop: Property) -> Claim:
        """The claim of an invariant, a lemma, a step property or a witness."""
        if prop.kind not in ("invariant", "lemma", "step", "witness"):
            raise ValueError(f"no single run shows {prop.name}, a property of kind {prop.kind}")
        reads, before = _reads(prop.body, old=False), _reads(prop.body, old=True)
        return cls(prop.name, prop.kind, prop.ids, first_paragraph(prop.doc), prop.at, reads, before)

    @property
    def title(self) -> str:
        """The name with the rule ids, as messages show it."""
        return f"{self.name} ({', '.join(self.ids)})" if self.ids else self.name


def first_paragraph(doc: str) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join(doc.strip().split("\n\n")[0].split())


def _reads(body: Expr, *, old: bool) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.var for part in walk(body) if isinstance(part, Read) and part.old == old))


@attrs.frozen
class Signature:
    """An action with its parameters, whether the run takes it or not: a file's types must not depend on the run."""

    action: str
    params: tuple[Param, ...]


@attrs.frozen
class Step:
    """One entry of a run: an action with its arguments, and the state after it.

    The first entry is the start: its action is ``init``, without arguments. ``repeat`` marks the second of two equal
    steps where the run shows that an action is not idempotent; if the second was ``refused``, that names the rule and
    the error, and the state is the one before.
    """

    action: str
    args: tuple[tuple[str, Value], ...]
    code: bytes
    values: tuple[Value, ...]
    repeat: bool = False
    refused: str | None = None


@attrs.frozen
class Trace:
    """A run, what it shows, and where it came from.

    ``target`` is what the command line calls the model, and ``options`` are further arguments that it had. ``cells``
    name the values of each step, hidden budgets included; ``constants`` are the values that the scope gives. ``seed``
    is None for a search, which draws nothing.
    """

    model: str
    target: str
    scope: str
    variants: tuple[str, ...]
    removed: tuple[str, ...]
    options: tuple[str, ...]
    seed: int | None
    fingerprint: str
    claim: Claim
    signatures: tuple[Signature, ...]
    constants: tuple[tuple[Cell, Value], ...]
    cells: tuple[Cell, ...]
    steps: tuple[Step, ...]

    @property
    def length(self) -> int:
        """How many steps lead to what the run shows; neither the start nor a repeated step counts."""
        return sum(not step.repeat for step in self.steps) - 1

    @property
    def command(self) -> str:
        """The line that finds this run again."""
        parts = ["holdfast", "check" if self.seed is None else "walk", self.target, "--scope", self.scope]
        for variant in self.variants:
            parts += ["--variant", variant]
        for label in self.removed:
            parts += ["--without", label]
        parts += [] if self.seed is None else ["--seed", str(self.seed)]
        return shlex.join([*parts, *self.options])


@attrs.frozen
class Origin:
    """Where the runs of one check come from: what every trace of it has in common."""

    system: System
    layout: Layout
    target: str
    options: tuple[str, ...] = ()
    seed: int | None = None

    def trace(self, claim: Claim, steps: Iterable[Step]) -> Trace:
        """The trace of these steps."""
        return Trace(
            model=self.system.name,
            target=self.target,
            scope=self.layout.scope.name,
            variants=self.system.chosen,
            removed=self.system.removed,
            options=self.options,
            seed=self.seed,
            fingerprint=self.system.fingerprint,
            claim=claim,
            signatures=tuple(Signature(action.name, action.params) for action in self.system.actions),
            constants=_constants(self.layout),
            cells=self.layout.cells,
            steps=tuple(steps),
        )

    def start(self, state: bytes) -> Step:
        """The first entry of a run."""
        return Step("init", (), state, self._values(state))

    def step(
        self, action: str, args: Sequence[int], state: bytes, *, repeat: bool = False, refused: str | None = None
    ) -> Step:
        """A later entry: the action's arguments and the state after it, as the engines code them."""
        named = self.layout.decode_args(self.system.action(action), tuple(args))
        return Step(action, tuple(named.items()), state, self._values(state), repeat, refused)

    def _values(self, state: bytes) -> tuple[Value, ...]:
        return tuple(self.layout.decode(state).values())


def _constants(layout: Layout) -> tuple[tuple[Cell, Value], ...]:
    """The cells of the constants that the scope gives, with their values."""
    found: list[tuple[Cell, Value]] = []
    for name, codes in layout.given.items():
        var = layout.system.var(name)
        sizes = tuple(layout.scope.size(key) for key in var.keys)
        field = LayoutField(name, var.keys, sizes, var.value, layout.codes(var.value), offset=0, ghost=var.ghost)
        for index, code in zip(field.indices, codes, strict=True):
            keys = tuple(layout.decode_value(key, part) for key, part in zip(var.keys, index, strict=True))
            label = f"{name}[{', '.join(map(str, keys))}]" if keys else name
            found.append((Cell(field, keys, label), layout.decode_value(var.value, code)))
    return tuple(found)
