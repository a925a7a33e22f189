"""The Numba source of one model in one scope: what the driver calls.

A state is a tuple of words. Every function is small and knows the model; what does not (tables, levels, walks) stands
in ``driver.py`` and is compiled together with this text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from holdfast.ir.errors import Place, UsageError
from holdfast.ir.expr import Expr, Read, walk
from holdfast.ir.system import Action, Property
from holdfast.lower.kernel.emit import KernelEmitter
from holdfast.lower.kernel.instance_ends import GatherRows, JudgeRepetition, ReturnCode
from holdfast.lower.kernel.notes import Shapes, places, shapes
from holdfast.lower.kernel.packing import Packing
from holdfast.lower.layout import Field
from holdfast.lower.outcome import Cut, Refused
from holdfast.lower.python.instance_ends import InstanceEnds
from holdfast.lower.python.names import code_name, numbered
from holdfast.lower.python.predicates import parameters
from holdfast.lower.python.prune import prune
from holdfast.lower.statistics import Statistics
from holdfast.lower.symmetry import Symmetry

MOST_STEPS = 1 << 20
"""How many steps a state may have: so many rows each core keeps for each partition, twice."""


class KernelSource:
    """Writes the functions of a model. ``checked`` are the invariants and lemmas, ``steps`` the step properties,
    ``witnesses`` and ``finals`` the properties of these kinds, in the order in which a search asks them. States are
    ranked by their orbits under ``symmetry``; if ``reduced``, one state of each orbit is stored.

    A ``mutable`` text serves all mutants of the model: each labelled rule asks the array ``removed``, at the rule's
    place in the statistics, whether it is there at all. Raises UsageError where a mutant alone would: a condition
    that is never met in the scope may hide statements that do not fit it.
    """

    def __init__(
        self,
        packing: Packing,
        statistics: Statistics,
        symmetry: Symmetry | None,
        *,
        reduced: bool = True,
        checked: Sequence[Property],
        steps: Sequence[Property],
        witnesses: Sequence[Property],
        finals: Sequence[Property],
        idempotent: Sequence[Action],
        mutable: bool = False,
    ) -> None:
        self.packing = packing
        self.layout = packing.layout
        self.system = packing.layout.system
        self.statistics = statistics
        self.symmetry = symmetry
        self.reduced = reduced
        self.checked, self.steps, self.witnesses, self.finals = checked, steps, witnesses, finals
        self.idempotent = idempotent
        self.mutable = mutable
        self.outcomes: list[Refused | Cut] = []
        """What the numbers mean that the functions ``outcome_…`` return."""
        self.fan = 1

    def text(self) -> str:
        """All functions, each under ``@jit``."""
        parts = [*self._states(), self._canonical()]
        parts += [self._step_masks(None, part) for part in ("body", "trigger")]
        for action in self.system.actions:
            parts += [self._step_masks(action, part) for part in ("body", "trigger")]
            if action in self.idempotent:
                parts.append(self._again(action))
            parts.append(self._every(action, "every", GatherRows(self, action)))
            parts.append(self._outcome(action))
        parts.append(self._successors())
        parts.append(self._first_failing("invariants", self.checked))
        parts.append(self._mask("invariants_failing", self.checked, "body", failing=True))
        parts.append(self._mask("triggers", self.checked, "trigger", failing=False))
        parts.append(self._mask("witnesses", self.witnesses, "body", failing=False))
        parts.append(self._mask("finals", self.finals, "body", failing=False))
        return self._module(parts)

    def shapes(self) -> Shapes:
        """The parts of a block of notes; to be asked for when all functions are written."""
        return shapes(
            words=self.packing.words,
            actions=len(self.system.actions),
            steps=len(self.steps),
            checked=len(self.checked),
            witnesses=len(self.witnesses),
            rules=len(self.statistics.hits),
            bounds=len(self.statistics.cut_counts),
        )

    def places(self) -> dict[str, int]:
        """Where what is noted lies, by the names that the driver has for the places."""
        return {name.upper(): place for name, place in places(self.shapes()).items()}

    def _module(self, parts: Iterable[str]) -> str:
        """The functions after the constants that they and the driver need.

        Raises UsageError where a state may have more steps than there is room for.
        """
        if self.fan > MOST_STEPS:
            raise UsageError(
                f"scope {self.layout.scope.name}: the actions of {self.system.name} have {self.fan} choices of "
                f"arguments, and the kernel has room for {MOST_STEPS:,}; use a smaller scope, or --engine interpreter "
                "where a command has it"
            )
        constants = {
            "WORDS": self.packing.words,
            "FAN": max(self.fan, 1),
            "ACTIONS": len(self.system.actions),
            "REDUCED": self.symmetry is not None and self.reduced,
            "HAS_FINALS": bool(self.finals),
            "HAS_WITNESSES": bool(self.witnesses),
            "BOUNDS": len(self.statistics.cut_counts),
        }
        constants |= self.places()
        head = "".join(f"{name} = {value!r}\n" for name, value in constants.items())
        return head + "\n\n" + "\n\n".join(f"@{_kind(part)}\n{part}" for part in parts)

    def _writer(self, what: str, at: Place, sink: InstanceEnds | None = None) -> KernelEmitter:
        place = partial(self.statistics.rule, what) if self.mutable else None
        return KernelEmitter(self.packing, what, at, sink or JudgeRepetition(self), place)

    def number(self, action: Action) -> int:
        """The action's place among the actions."""
        return self.system.actions.index(action)

    def name(self, family: str, action: Action | None) -> str:
        """The name of the function of that family for an action, or for every step."""
        return f"{family}_of_all" if action is None else numbered(family, self.number(action))

    def words(self, state: str) -> str:
        """The local variables of a state's words, as a tuple."""
        return "".join(f"{state}{word}, " for word in range(self.packing.words)).rstrip()

    # States ---------------------------------------------------------------------------------------------------

    def _states(self) -> Iterable[str]:
        count, words = self.packing.words, range(self.packing.words)
        loads = " ".join(f"peek(rows, i * {count} + {word})," for word in words)
        yield f"def load(rows, i):\n    return ({loads})\n"
        puts = "".join(f"    poke(rows, i * {count} + {word}, s[{word}])\n" for word in words)
        yield f"def put(rows, i, s):\n{puts}"
        same = " and ".join(f"peek(rows, i * {count} + {word}) == s[{word}]" for word in words)
        yield f"def holds(rows, i, s):\n    return {same}\n"
        factors = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
        mixed = " ^ ".join(f"(np.uint64(s[{word}]) * np.uint64({factors[word]}))" for word in words)
        finish = (
            "    h ^= h >> np.uint64(32)\n    h *= np.uint64(0xD6E8FEB86659FD93)\n    return h ^ (h >> np.uint64(29))\n"
        )
        yield f"def hashed(s):\n    h = {mixed}\n{finish}"
        yield "def wrapped(value):\n    return value + 1 if value >= 0 else value\n"
        yield "def unwrapped(code):\n    return code - 1 if code > 0 else code\n"

    def _canonical(self) -> str:
        """The least state of an orbit: each renaming is a few groups of cells that move the same way."""
        lines = ["def canonical(s):", f"    {self.words('s')} = s", "    best = s"]
        if self.symmetry is not None:
            for moves in self.symmetry.moves()[1:]:
                for word, text in enumerate(self._moved(moves)):
                    lines.append(f"    t{word} = {text}")
                lines += [f"    t = ({self.words('t')})", "    if t < best: best = t"]
        return "\n".join([*lines, "    return best", ""])

    def _moved(self, moves: list[tuple[int, bytes | None]]) -> list[str]:
        """The words of a renamed state. Cells that keep their code and move equally far go together."""
        together: list[dict[tuple[int, int], int]] = [{} for _ in range(self.packing.words)]
        terms: list[list[str]] = [[] for _ in range(self.packing.words)]
        for cell, (source, table) in enumerate(moves):
            to, of = self.packing.slots[cell], self.packing.slots[source]
            if not to.width:
                continue
            if table is None:
                group = (of.word, to.shift - of.shift)
                together[to.word][group] = together[to.word].get(group, 0) | (of.mask << of.shift)
                continue
            packed = sum(table[code] << (to.width * code) for code in range(self.layout.cells[cell].field.codes))
            code = f"((s{of.word} >> {of.shift}) & {of.mask})"
            if packed.bit_length() <= 63:
                terms[to.word].append(f"((({packed} >> ({to.width} * {code})) & {to.mask}) << {to.shift})")
            else:
                codes = ", ".join(str(table[code]) for code in range(self.layout.cells[cell].field.codes))
                terms[to.word].append(f"(({codes},)[{code}] << {to.shift})")
        for word, groups in enumerate(together):
            for (of_word, by), mask in groups.items():
                moved = f"<< {by}" if by > 0 else f">> {-by}" if by < 0 else ""
                terms[word].append(f"((s{of_word} & {mask}) {moved})")
        return [" | ".join(parts) or "0" for parts in terms]

    # Actions --------------------------------------------------------------------------------------------------

    def _every(self, action: Action, family: str, sink: InstanceEnds) -> str:
        """All steps of an action from ``s``: what becomes of each, the sink says."""
        writer = self._writer(action.name, action.at, sink)
        head = f"{self.name(family, action)}(s, k, rows, notes)"
        fan = 1
        for param in action.params:
            fan *= self.layout.codes(param.type)
        self.fan += fan
        with writer.function(head):
            writer.line(f"{self.words('s')} = s")
            writer.line("for once in range(1):")
            writer.depth += 1
            writer.leave = "continue"
            writer.all_steps(action)
            writer.depth = 1
            writer.line("return k")
        return writer.source()

    def _successors(self) -> str:
        lines = ["def successors(s, rows, notes):", "    k = 0"]
        for number, action in enumerate(self.system.actions):
            lines += [
                f"    k0 = k\n    k = {self.name('every', action)}(s, k, rows, notes)",
                f"    bump(notes, TAKEN + {number}, k - k0)",
            ]
        return "\n".join([*lines, *self._look_at_steps(), "    return k", ""])

    def _again(self, action: Action) -> str:
        """What becomes of the step when it is repeated in the state ``s``, which it led to."""
        return self._instance(action, "again", JudgeRepetition(self))

    def _outcome(self, action: Action) -> str:
        """The same for whoever has the notes as an array."""
        inner = self._instance(action, "instance", ReturnCode(self))
        args = "".join(f", {code_name(param)}" for param in action.params)
        head = f"@entry\ndef {self.name('outcome', action)}(s{args}, notes):"
        return f"{inner}\n\n{head}\n    return {self.name('instance', action)}(s{args}, address(notes))\n"

    def _instance(self, action: Action, family: str, sink: InstanceEnds) -> str:
        """What becomes of an action with given arguments in the state ``s``: what the sink returns."""
        writer = self._writer(action.name, action.at, sink)
        args = "".join(f", {code_name(param)}" for param in action.params)
        with writer.function(f"{self.name(family, action)}(s{args}, notes)"):
            writer.line(f"{self.words('s')} = s")
            for param in action.params:
                writer.parameter(param, code_name(param))
            if writer.block(prune(action.body, self.layout.dropped)):
                writer.complete(action)
        return writer.source()

    def lasting(self) -> list[int]:
        """For each word, the bits of cells that are part of the protocol: no ghosts, no budgets."""
        return self._masks(field for field in self.layout.fields if not field.ghost and not field.hidden)

    def _masks(self, fields: Iterable[Field]) -> list[int]:
        """For each word, the bits of some fields."""
        masks = [0] * self.packing.words
        for field in fields:
            for slot in self.packing.slots[field.offset : field.offset + field.count]:
                masks[slot.word] |= slot.mask << slot.shift
        return masks

    # Properties -----------------------------------------------------------------------------------------------

    def _term(self, prop: Property, expr: Expr, of: Action | None = None) -> str:
        writer = self._writer(prop.title, prop.at)
        for param, position in parameters(prop, of if prop.of else None):
            assert of is not None, prop.name
            writer.parameter(param, code_name(of.params[position]))
        found = writer.expr(expr)
        return str(bool(found.lo)) if found.constant else found.text

    def _first_failing(self, name: str, props: Sequence[Property]) -> str:
        lines = [f"def {name}(s):", f"    {self.words('s')} = s"]
        lines += [f"    if not ({self._term(prop, prop.body)}): return {index}" for index, prop in enumerate(props)]
        return "\n".join([*lines, "    return -1", ""])

    def _mask(self, name: str, props: Sequence[Property], part: str, *, failing: bool) -> str:
        """Those of the properties in ``wanted`` whose part holds (or fails), one bit each."""
        lines = [f"def {name}(s, wanted):", f"    {self.words('s')} = s", "    found = 0"]
        for index, prop in enumerate(props):
            text = self._term(prop, prop.body if part == "body" else prop.trigger)
            text = f"not ({text})" if failing else f"({text})"
            lines.append(f"    if wanted & {1 << index} and {text}: found |= {1 << index}")
        return "\n".join([*lines, "    return found", ""])

    def _step_masks(self, action: Action | None, part: str) -> str:
        """Which step properties a step violates (body) or triggers: those of every step (None), or of one action's."""
        args = "".join(f", {code_name(param)}" for param in action.params) if action else ""
        family = "steps" if part == "body" else "step_triggers"
        lines = [
            f"def {self.name(family, action)}(s, o{args}):",
            f"    {self.words('s')} = s",
            f"    {self.words('o')} = o",
            "    found = 0",
        ]
        for index, prop in enumerate(self.steps):
            if prop.of == (action.name if action else None):
                text = self._term(prop, prop.body if part == "body" else prop.trigger, action)
                text = f"not ({text})" if part == "body" else f"({text})"
                lines.append(f"    if {text}: found |= {1 << index}")
        return "\n".join([*lines, "    return found", ""])

    @property
    def general(self) -> list[Property]:
        """The step properties that speak of every step."""
        return [prop for prop in self.steps if prop.of is None]

    def _look_at_steps(self) -> list[str]:
        """Lines that look at the properties of every step, for each step from ``s`` that stands in ``rows``.

        They see nothing of a step but cells: where it leaves all those that they read as they are, they say of it what
        they say of a step that changes nothing at all, which is asked once a state. Most steps are of that kind.
        """
        if not self.general:
            return []
        read = {part.var for prop in self.general for part in walk(prop.body) if isinstance(part, Read)}
        masks = self._masks(field for field in self.layout.fields if field.name in read)
        changed = " | ".join(f"((t[{word}] ^ s[{word}]) & {mask})" for word, mask in enumerate(masks) if mask)
        every = self.steps_of(None)
        return [
            "    still = steps_of_all(s, s)",
            "    for j in range(k):",
            "        t = load(rows, j)",
            f"        bad = steps_of_all(t, s) if {changed or '0'} else still",
            "        if bad: note_steps(notes, bad, t, s)",
            f"        if peek(notes, PENDING) & {every}: note_triggers(notes, step_triggers_of_all(t, s))",
        ]

    def steps_of(self, action: Action | None) -> int:
        """The step properties that speak of one action's steps, or of every step, one bit each."""
        name = action.name if action else None
        return sum(1 << index for index, prop in enumerate(self.steps) if prop.of == name)


ENTRIES = ("def hashed(", "def canonical(")


def _kind(function: str) -> str:
    """The decorator of a function: Python calls few of them, and what it does not call compiles faster."""
    return "entry" if function.startswith(ENTRIES) else "jit"
