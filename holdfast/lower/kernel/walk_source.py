"""The kernel's text of one model for random runs: the functions that ``walk_driver.py`` calls.

A search checks every step of a state, a run takes only one. So an instance of an action is tried, or all its steps are
listed, each with the number of its instance and the state it leads to. Only the step that is taken is checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.ir.errors import Place
from holdfast.ir.stmt import Require
from holdfast.ir.system import Action, Param
from holdfast.ir.types import IntType, NatType, OptionalType
from holdfast.lower.kernel.emit import KernelEmitter
from holdfast.lower.kernel.instance_ends import CUT, DIFFERS, GatherRows
from holdfast.lower.kernel.masks import MaskEmitter
from holdfast.lower.kernel.packing import MOST_WORDS
from holdfast.lower.kernel.source import KernelSource
from holdfast.lower.layout import Field
from holdfast.lower.python.instance_ends import InstanceEnds
from holdfast.lower.python.names import code_name
from holdfast.lower.random_runs.plan import LISTED_FOR_A_TRY, MOST_TRIES, STATE_BITS, instances, strides


class WalkSource(KernelSource):
    """Writes the functions of a model.

    ``attempt`` tries an instance, and ``offers`` lists the steps of an action, both in the block ``seen``. ``choices``
    is the number of an action's instances. ``judge`` checks a step, and counts in the block ``counts``. The places in
    these blocks are in ``places``.

    A ``sampled`` text also counts how often a rule was decisive and which action followed which, and notes the
    signatures of states.
    """

    def __init__(self, *args: Any, sampled: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sampled = sampled
        self.spread = self.packing.words > MOST_WORDS
        """Whether a run keeps the cells of its state in memory, too. A field of a wide state lies in several words, so
        that a look at one of its cells costs several tests.
        """

    def text(self) -> str:
        parts = [*self._states(), *self._listing()]
        parts += [self._step_masks(None, part) for part in ("body", "premise")]
        for action in self.system.actions:
            parts += [self._step_masks(action, part) for part in ("body", "premise")]
            if action in self.idempotent:
                parts.append(self._again(action))
            parts.append(self._every(action, "offer", _ListSteps(self, action)))
            parts += [self._instance(action, "enabled", _ListOneStep(self, action)), self._attempt(action)]
            parts.append(self._judge(action))
        parts.append(self._spread())
        # The list of steps and the notes lie in one block, so ``seen`` is passed for both.
        parts.append(self._dispatch("offers(a, s, seen)", "offer", "(s, 0, seen, seen)", "0"))
        parts.append(self._dispatch("attempt(a, s, number, seen)", "attempt", "(s, number, seen)", "False"))
        parts.append(self._choices())
        parts.append(self._dispatch("judge(a, t, s, number, counts)", "judge", "(t, s, number, counts)", "0"))
        parts.append(self._outline())
        parts.append(self._first_failing("invariants", self.checked))
        parts.append(self._mask("premises", self.checked, "premise", failing=False))
        parts.append(self._mask("witnesses", self.witnesses, "body", failing=False))
        parts.append(self._mask("finals", self.finals, "body", failing=False))
        return self._module(parts)

    @property
    def most_instances(self) -> int:
        """At least the number of steps that one action has in any state."""
        return max((instances(self.layout, action) for action in self.system.actions), default=1)

    def places(self) -> dict[str, int]:
        """The places in the three blocks, and the other constants of the driver.

        - ``seen``: cuts by bound from 0 on; decisive rules from HITS on; the cells of a wide state from CELL on; from
          LISTED on the list of steps.
        - ``work``: the stream's state and stride (CHANCE); the schedule (PROCESSES, POINTS, PRIORITISED, STRIDES);
          whether there is a swarm (SWARM); the weights of the actions as drawn (WEIGHTS), and as left in the present
          state (LEFT); room for a copy of the cuts (CUTS); the processes by priority, then the change points (ORDER).
        - ``counts``: bit masks of the step properties (0), and of the invariants and lemmas (SILENT), whose premise has
          never been true; a bit mask of the witnesses not reached yet (UNREACHED); the repetitions that a bound cut
          (UNSHOWN); repetitions and steps by action (REPEATS, TAKEN); in a sample the pairs of actions (PAIRS), and
          the bit set of signatures (MET).
        """
        hits, repeats, actions = len(self.statistics.cut_counts), 4, len(self.system.actions)
        cells = hits + len(self.statistics.hits)
        return {
            "SAMPLED": self.sampled,
            "LISTED_FOR_A_TRY": LISTED_FOR_A_TRY,
            "MOST_TRIES": MOST_TRIES,
            "STATE_BITS": STATE_BITS,
            "HITS": hits,
            "CELL": cells,
            "LISTED": cells + (len(self.packing.slots) if self.spread else 0),
            "CHANCE": 0,
            "PROCESSES": 2,
            "POINTS": 3,
            "PRIORITISED": 4,
            "SWARM": 5,
            "WEIGHTS": 6,
            "LEFT": 6 + actions,
            "STRIDES": 6 + 2 * actions,
            "CUTS": 6 + 3 * actions,
            "ORDER": 6 + 3 * actions + hits,
            "SILENT": 1,
            "UNREACHED": 2,
            "UNSHOWN": 3,
            "REPEATS": repeats,
            "TAKEN": repeats + actions,
            "PAIRS": repeats + 2 * actions,
            "MET": repeats + 2 * actions + actions * actions,
        }

    def _writer(self, what: str, at: Place, sink: InstanceEnds | None = None) -> KernelEmitter:
        writer = (
            MaskEmitter(self.packing, what, at, sink) if type(sink) is _ListSteps else super()._writer(what, at, sink)
        )
        # All other functions look at other states than the present one of the run.
        writer.spread = self.spread and isinstance(sink, _ListSteps)
        return writer

    def _spread(self) -> str:
        """A function that writes the cells of a state, one in a word, into the block ``seen``."""
        cells = enumerate(self.packing.slots if self.spread else ())
        lines = [
            f"    poke(seen, CELL + {cell}, (s[{slot.word}] >> {slot.shift}) & {slot.mask})" for cell, slot in cells
        ]
        return "\n".join(["def spread(s, seen):", *(lines or ["    pass"]), ""])

    def _outline(self) -> str:
        """A function to the words of a state without the fields that ``_counts`` names: the signature is their hash.

        Two states that differ in numbers alone have the same signature.
        """
        masks = self._masks(field for field in self.layout.fields if not _counts(field))
        return f"def outline(s):\n    return ({' '.join(f's[{word}] & {mask},' for word, mask in enumerate(masks))})\n"

    def _listing(self) -> Iterator[str]:
        """Functions of the list of steps. An entry is the number of the instance, then the words of the new state."""
        words = range(self.packing.words)
        size = self.packing.words + 1
        puts = "".join(f"    poke(seen, place + {word + 1}, t[{word}])\n" for word in words)
        place = f"    place = LISTED + k * {size}\n"
        yield f"def list_step(seen, k, number, t):\n{place}    poke(seen, place, number)\n{puts}"
        yield f"def number_of(seen, k):\n    return peek(seen, LISTED + k * {size})\n"
        state = " ".join(f"peek(seen, place + {word + 1})," for word in words)
        yield f"def state_of(seen, k):\n{place}    return ({state})\n"

    def _attempt(self, action: Action) -> str:
        """A function of a state and an instance: whether that is a step. If so, it is the only one in the list."""
        args = "".join(f", {code_name(param)}" for param in action.params)
        lines = [f"def {self.name('attempt', action)}(s, number, seen):", *self._arguments(action)]
        return "\n    ".join([*lines, f"return {self.name('enabled', action)}(s{args}, seen)"]) + "\n"

    def _arguments(self, action: Action) -> Iterator[str]:
        """Lines that take the arguments from the number of the instance, a number with one digit for each argument."""
        for param, stride in zip(action.params, strides(self.layout, action), strict=True):
            yield f"{code_name(param)} = number // {stride} % {self.layout.codes(param.type)}"

    def _choices(self) -> str:
        """A function to the number of instances of action number ``a``."""
        lines = [
            f"    if a == {self.number(action)}: return {instances(self.layout, action)}"
            for action in self.system.actions
        ]
        return "\n".join(["def choices(a):", *lines, "    return 0", ""])

    def _judge(self, action: Action) -> str:
        """A function of a step: the bit mask of the step properties it violates.

        If there are none, it returns -1 if the step violates the action's idempotence.
        """
        lines = [f"def {self.name('judge', action)}(t, s, number, counts):", "    bad = 0"]
        lines += [f"    {line}" for line in self._judged(action)]
        return "\n".join([*lines, "    return bad", ""])

    def _judged(self, action: Action) -> Iterator[str]:
        relevant, idempotent = self.steps_of(None) | self.steps_of(action), action in self.idempotent
        if not relevant and not idempotent:
            return
        yield from self._arguments(action)
        args = "".join(f", {code_name(param)}" for param in action.params)
        if relevant:
            yield f"bad = steps_of_all(t, s) | {self.name('steps', action)}(t, s{args})"
            said = f"step_premises_of_all(t, s) | {self.name('step_premises', action)}(t, s{args})"
            yield f"if peek(counts, 0) & {relevant}: poke(counts, 0, peek(counts, 0) & ~({said}))"
        if idempotent:
            yield "if t != s:"
            yield f"    bump(counts, REPEATS + {self.number(action)}, 1)"
            # The repetition notes nothing, so it gets no address of notes.
            yield f"    again = {self.name('again', action)}(t{args}, 0)"
            yield f"    if again == {CUT}: bump(counts, UNSHOWN, 1)"
            yield f"    if again == {DIFFERS} and bad == 0: bad = -1"

    def _dispatch(self, head: str, family: str, args: str, none: str) -> str:
        """A function that calls a family's function for action number ``a``; ``none`` is the result without actions."""
        lines = [f"def {head}:"]
        lines += [f"    if a == {self.number(a)}: return {self.name(family, a)}{args}" for a in self.system.actions]
        return "\n".join([*lines, f"    return {none}", ""])


class _ListSteps(GatherRows):
    """Writes each step into the list, with the number of its instance. ``notes`` is the block ``seen``."""

    def decisive(self, label: str) -> list[str]:
        return [f"{self.note(label)}"]

    def decisive_for(self, label: str, mask: str) -> list[str]:
        """Lines that note a rule as often as a mask has bits."""
        return [f"noted_for(notes, HITS + {self.source.statistics.rule(self.action.name, label)}, {mask})"]

    def shortage(self, param: Param, at: Place) -> list[str]:  # noqa: ARG002 - a run tries only some of the arguments
        return []

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:  # noqa: ARG002 - counts need no place
        return [f"bump(notes, {self.source.statistics.bound(self.action.name, bound)}, 1)", leave]

    def taken(self, state: str, args: str) -> list[str]:  # noqa: ARG002 - the number contains them
        return [f"list_step(notes, k, {self.instance()}, ({state},))", "k += 1"]

    def instance(self) -> str:
        """An expression for the number of the instance, from its arguments."""
        factors = zip(self.action.params, strides(self.source.layout, self.action), strict=True)
        return " + ".join(f"{code_name(param)} * {stride}" for param, stride in factors) or "0"


class _ListOneStep(_ListSteps):
    """Writes the step of one instance as the first of the list, and returns whether it is a step."""

    def refuse(self, stmt: Require, leave: str) -> list[str]:  # noqa: ARG002 - the return ends the instance
        return [*self.decisive(stmt.label), "return False"]

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:  # noqa: ARG002 - as above
        return super().cut(bound, at, "return False")

    def taken(self, state: str, args: str) -> list[str]:  # noqa: ARG002 - as above
        return [f"list_step(notes, 0, {self.instance()}, ({state},))", "return True"]


def _counts(field: Field) -> bool:
    """Whether a field holds numbers or has a number as a key. Ghosts and budgets count as numbers too."""
    value = field.type.of if isinstance(field.type, OptionalType) else field.type
    return field.ghost or any(isinstance(type_, NatType | IntType) for type_ in (value, *field.keys))
