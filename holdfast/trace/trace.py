"""A run of a model, with everything needed to show it, to write it to a file and to replay it.

A trace is complete in itself: code that renders it needs neither the model nor an engine.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import attrs

from holdfast.ir.errors import Place
from holdfast.ir.expr import Expr, Read, walk
from holdfast.ir.system import LIVENESS, Action, Param, Property, System
from holdfast.lower.layout import Cell, Layout, Value
from holdfast.lower.layout import Field as LayoutField

ClaimKind = Literal[
    "invariant",
    "lemma",
    "step",
    "idempotent",
    "deadlock",
    "witness",
    "leads_to",
    "always_eventually",
    "eventually_always",
]


@attrs.frozen
class Claim:
    """The property that a run violates, or the witness that it reaches.

    ``sentence`` is the property in the words of the model. ``where`` names the elements for which it fails, if they
    are known. ``reads`` are the variables that it reads, ``reads_before`` those that it reads before the last step.
    ``at`` is its place in the model's source.
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
        """The claim of a property about states, steps or runs; ValueError for an assumption and a final state."""
        if prop.kind == "assume" or prop.kind == "final":
            raise ValueError(f"no single run shows {prop.name}, a property of kind {prop.kind}")
        reads, before = _reads(prop.body, old=False), _reads(prop.body, old=True)
        if prop.goal is not None:
            reads = tuple(dict.fromkeys((*reads, *_reads(prop.goal, old=False))))
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
    """An action with its parameters.

    A trace has the signatures of all actions, also of those that the run does not take, so that the types in a file do
    not depend on the run. An initial condition with parameters has a signature too, under the name ``init``.
    """

    action: str
    params: tuple[Param, ...]


@attrs.frozen
class Step:
    """One entry of a run: an action with its arguments, and the state after it.

    The first entry is the start: its action is ``init``, and its arguments are the least that give the state. If the
    run shows that an action is not idempotent, ``repeat`` marks the second of the two equal steps. If that second step
    is refused, ``refused`` names the rule and the error, and the state is the one before. ``code`` is the state in the
    engines' encoding; it is empty for a foreign run.
    """

    action: str
    args: tuple[tuple[str, Value], ...]
    code: bytes
    values: tuple[Value, ...]
    repeat: bool = False
    refused: str | None = None


@attrs.frozen
class Trace:
    """A run, the claim that it shows, and its origin.

    ``claim`` is None for a run that shows nothing in particular. ``loop`` makes the run a lasso: after the last step
    it continues from the state of the step with that index, for ever. If ``loop`` is the index of the last step,
    nothing happens any more.

    ``target`` is the command line's name for the model. ``options`` are further arguments of that command line; None
    if no command is known that finds the run. ``cells`` name the values of each step, including hidden budgets.
    ``constants`` are the values that the scope gives. ``seed`` is None for a search, which draws no random numbers.
    ``fingerprint`` is the fingerprint of the model in its scope.

    A *foreign* run was read from a file, without a model. Its cells are the leaves of the file's values. ``foreign``
    keeps the states as read, in the encoding of ITF; ``heading`` keeps the rest of the file (``#meta``, ``params``,
    ``vars``).
    """

    model: str
    target: str
    scope: str
    variants: tuple[str, ...]
    removed: tuple[str, ...]
    options: tuple[str, ...] | None
    seed: int | None
    fingerprint: str
    claim: Claim | None
    signatures: tuple[Signature, ...]
    constants: tuple[tuple[Cell, Value], ...]
    cells: tuple[Cell, ...]
    steps: tuple[Step, ...]
    loop: int | None = None
    foreign: tuple[Mapping[str, Any], ...] | None = attrs.field(default=None, hash=False)
    heading: Mapping[str, Any] | None = attrs.field(default=None, hash=False)

    @property
    def is_foreign(self) -> bool:
        """Whether the run was read from a file, without a model."""
        return self.foreign is not None

    @property
    def shown(self) -> Claim:
        """The claim. Only for runs that have one, such as every run that an engine reports."""
        assert self.claim is not None, "this run shows nothing in particular"
        return self.claim

    @property
    def length(self) -> int:
        """The number of steps that lead to the claim; neither the start nor a repeated step counts."""
        return sum(not step.repeat for step in self.steps) - 1

    @property
    def command(self) -> str | None:
        """The command line that finds this run again; None if no engine is known to find it."""
        if self.options is None:
            return None
        owed = self.claim is not None and self.claim.kind in LIVENESS
        verb = "walk" if self.seed is not None else "live" if owed else "check"
        parts = ["holdfast", verb, self.target, "--scope", self.scope]
        for variant in self.variants:
            parts += ["--variant", variant]
        for label in self.removed:
            parts += ["--without", label]
        parts += [] if self.seed is None else ["--seed", str(self.seed)]
        return shlex.join([*parts, *self.options])


@attrs.frozen
class Origin:
    """The origin of the runs of one check: the data that all its traces share."""

    system: System
    layout: Layout
    target: str
    options: tuple[str, ...] | None = ()
    seed: int | None = None

    def trace(self, claim: Claim | None, steps: Iterable[Step], loop: int | None = None) -> Trace:
        """The trace of the given steps."""
        return Trace(
            model=self.system.name,
            target=self.target,
            scope=self.layout.scope.name,
            variants=self.system.chosen,
            removed=self.system.removed,
            options=self.options,
            seed=self.seed,
            fingerprint=self.fingerprint,
            claim=claim,
            signatures=tuple(Signature(action.name, action.params) for action in self._signed()),
            constants=_constants(self.layout),
            cells=self.layout.cells,
            steps=tuple(steps),
            loop=loop,
        )

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits that identify the meaning of the system in its scope, on which a run depends."""
        return self.system.fingerprint_in(self.layout.scope)

    def _signed(self) -> tuple[Action, ...]:
        init = self.system.init
        return (init, *self.system.actions) if init.params else self.system.actions

    def start(self, state: bytes, args: Sequence[int] = ()) -> Step:
        """The first entry of a run: an initial state, and the arguments of ``@init`` that give it."""
        named = self.layout.decode_args(self.system.init, tuple(args))
        return Step("init", tuple(named.items()), state, self._values(state))

    def step(
        self, action: str, args: Sequence[int], state: bytes, *, repeat: bool = False, refused: str | None = None
    ) -> Step:
        """The entry of a step. ``args`` and ``state``, the state after the step, are in the encoding of the engines."""
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
