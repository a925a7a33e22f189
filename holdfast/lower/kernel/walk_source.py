"""The Numba source of one model for random runs: what ``walk_driver.py`` calls.

A search looks at every step of a state; a run takes one. So the steps of an action are only listed, each with its
number among the action's instances and the state it leads to, and the one that is taken is judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.ir.errors import Place
from holdfast.ir.system import Action
from holdfast.lower.emit import code_name
from holdfast.lower.kernel.source import CUT, DIFFERS, Gather, Source
from holdfast.lower.walking import instances, strides


class WalkSource(Source):
    """Writes the functions of a model.

    ``offers`` lists the steps of an action in the array ``seen``: first what was cut, by bound; from HITS on which
    rules decided something; from LISTED on the steps. ``judge`` judges a step and counts in the array ``counts``: the
    step properties, the invariants and lemmas that said nothing yet (SILENT), the witnesses not yet reached
    (UNREACHED), repetitions that a bound cut (UNSHOWN), and by action repetitions (REPEATS) and steps (TAKEN).
    """

    def text(self) -> str:
        parts = [*self._states(), *self._listing()]
        parts += [self._step_masks(None, part) for part in ("body", "trigger")]
        for action in self.system.actions:
            parts += [self._step_masks(action, part) for part in ("body", "trigger")]
            if action in self.idempotent:
                parts.append(self._again(action))
            parts.append(self._every(action, "offer", _Offer(self, action)))
            parts.append(self._judge(action))
        parts.append(self._dispatch("offers(a, s, seen)", "offer_{}(s, 0, seen, seen)", "0"))
        parts.append(self._dispatch("judge(a, t, s, number, counts)", "judge_{}(t, s, number, counts)", "False"))
        parts.append(self._first_failing("invariants", self.checked))
        parts.append(self._mask("triggers", self.checked, "trigger", failing=False))
        parts.append(self._mask("witnesses", self.witnesses, "body", failing=False))
        parts.append(self._mask("finals", self.finals, "body", failing=False))
        return self._places() + self._module(parts)

    @property
    def most_instances(self) -> int:
        """How many steps an action may have in a state, at most."""
        return max((instances(self.layout, action) for action in self.system.actions), default=1)

    def _places(self) -> str:
        """Where the arrays have what; to be asked for when all functions are written."""
        hits = len(self.statistics.cut_counts)
        listed = hits + len(self.statistics.hits)
        repeats = 4
        return (
            f"HITS, LISTED = {hits}, {listed}\n"
            f"SILENT, UNREACHED, UNSHOWN, REPEATS, TAKEN = 1, 2, 3, {repeats}, {repeats + len(self.system.actions)}\n"
        )

    def _listing(self) -> Iterator[str]:
        """The list of steps: for each its number, then the words of the state."""
        words = range(self.packing.words)
        size = self.packing.words + 1
        puts = "".join(f"    seen[place + {word + 1}] = t[{word}]\n" for word in words)
        yield (f"def list_step(seen, k, number, t):\n    place = LISTED + k * {size}\n    seen[place] = number\n{puts}")
        yield f"def number_of(seen, k):\n    return seen[LISTED + k * {size}]\n"
        state = " ".join(f"seen[place + {word + 1}]," for word in words)
        yield f"def state_of(seen, k):\n    place = LISTED + k * {size}\n    return ({state})\n"

    def _judge(self, action: Action) -> str:
        """Whether a step violates a step property, or the action's idempotence."""
        lines = [f"def judge_{action.name}(t, s, number, counts):", "    bad = False"]
        lines += [f"    {line}" for line in self._judged(action)]
        return "\n".join([*lines, "    return bad", ""])

    def _judged(self, action: Action) -> Iterator[str]:
        relevant, idempotent = self.steps_of(action), action in self.idempotent
        if not relevant and not idempotent:
            return
        for param, stride in zip(action.params, strides(self.layout, action), strict=True):
            yield f"{code_name(param)} = number // {stride} % {self.layout.codes(param.type)}"
        args = "".join(f", {code_name(param)}" for param in action.params)
        if relevant:
            yield f"bad = (steps_of_all(t, s) | steps_{action.name}(t, s{args})) != 0"
            yield f"if counts[0] & {relevant}: counts[0] &= ~step_triggers_{action.name}(t, s{args})"
        if idempotent:
            yield "if t != s:"
            yield f"    counts[REPEATS + {self.system.actions.index(action)}] += 1"
            yield f"    again = again_{action.name}(t{args})"
            yield f"    if again == {CUT}: counts[UNSHOWN] += 1"
            yield f"    if again == {DIFFERS}: bad = True"

    def _dispatch(self, head: str, call: str, none: str) -> str:
        """A function that calls that of the action with a given index."""
        lines = [f"def {head}:"]
        lines += [f"    if a == {index}: return {call.format(a.name)}" for index, a in enumerate(self.system.actions)]
        return "\n".join([*lines, f"    return {none}", ""])


class _Offer(Gather):
    """Each step of an action is listed with its number. All that is noted goes to one array, ``notes``."""

    def decisive(self, label: str) -> list[str]:
        return [f"notes[HITS + {self.source.statistics.rule(self.action.name, label)}] = 1"]

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:  # noqa: ARG002 - counts need no place
        return [f"notes[{self.source.statistics.bound(self.action.name, bound)}] += 1", leave]

    def taken(self, state: str, args: str) -> list[str]:  # noqa: ARG002 - they are in the number
        factors = zip(self.action.params, strides(self.source.layout, self.action), strict=True)
        number = " + ".join(f"{code_name(param)} * {stride}" for param, stride in factors) or "0"
        return [f"list_step(notes, k, {number}, ({state},))", "k += 1"]
