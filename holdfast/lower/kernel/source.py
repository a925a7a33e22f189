"""The text of one model's kernel in one scope: the functions that the kernel's drivers call.

A state is a tuple of words. Every function here is small and depends on the model. The loops over tables, levels and
walks are the same for all models. They stand in the drivers (``driver.py``, …), and are compiled together with this
text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, partial

from holdfast.ir.compile.checks import written_variables
from holdfast.ir.errors import Place, UsageError
from holdfast.ir.expr import Expr, Read, walk
from holdfast.ir.system import Action, Property
from holdfast.lower.kernel.build import template
from holdfast.lower.kernel.canonical_source import CanonicalSource
from holdfast.lower.kernel.emit import KernelEmitter
from holdfast.lower.kernel.instance_ends import GatherRows, JudgeRepetition, ReturnCode
from holdfast.lower.kernel.notes import Shapes, places, shapes
from holdfast.lower.kernel.packing import Packing
from holdfast.lower.kernel.row_source import RowSource
from holdfast.lower.layout import Field
from holdfast.lower.outcome import Cut, Refused
from holdfast.lower.python.instance_ends import InstanceEnds
from holdfast.lower.python.names import code_name, numbered
from holdfast.lower.python.predicates import parameters
from holdfast.lower.python.prune import prune
from holdfast.lower.statistics import Statistics
from holdfast.lower.symmetry import Symmetry

MOST_STEPS = 1 << 20
"""The number of steps that a state may have. Each core keeps twice that number of rows for each partition."""


class KernelSource:
    """Writes the functions of a model.

    ``checked`` are the invariants and lemmas, ``steps`` the step properties, ``witnesses`` and ``finals`` the
    properties of these kinds. A property's place in its sequence is its bit in masks. States are ranked by their orbits
    under ``symmetry``. If ``reduced``, one state of each orbit is stored.

    A ``mutable`` text serves all mutants of the model: at each labelled rule it looks up in the array ``removed``, at
    the rule's place in the statistics, whether the mutant lacks the rule. Then ``text`` also raises UsageError for code
    that only a mutant reaches: a condition that never holds in the scope may hide statements that do not fit the scope.
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
        self.form = (
            None if symmetry is None or symmetry.form is None else CanonicalSource(packing, symmetry.form.elements)
        )
        """What writes the functions for canonical states of a large group."""
        self.by_orbit = self.form is not None and not reduced
        """Whether the rank of a state begins with its canonical state. Else the least state has the least orbit."""
        self.reduced = reduced
        self.checked, self.steps, self.witnesses, self.finals = checked, steps, witnesses, finals
        self.idempotent = idempotent
        self.mutable = mutable
        self.outcomes: list[Refused | Cut] = []
        """The outcomes behind the numbers that the functions ``outcome_…`` return."""
        self.fan = 1
        """At least the number of steps of any state: ``text`` adds up the combinations of arguments of all actions."""

    def text(self) -> str:
        """All functions, each with its decorator, behind the constants that they need."""
        # Writing a function gives its rules and bounds their places in the statistics, so ``_module`` comes last.
        parts = [*self._states(), self._hashed(), *self._canonical()]
        parts += [self._step_masks(None, part) for part in ("body", "premise")]
        for action in self.system.actions:
            parts += [self._step_masks(action, part) for part in ("body", "premise")]
            if action in self.idempotent:
                parts.append(self._again(action))
            parts.append(self._every(action, "every", GatherRows(self, action)))
            parts.append(self._outcome(action))
        parts += [*self._look_at_steps(), self._successors()]
        parts.append(self._first_failing("invariants", self.checked))
        parts.append(self._mask("invariants_failing", self.checked, "body", failing=True))
        parts.append(self._mask("premises", self.checked, "premise", failing=False))
        parts.append(self._mask("witnesses", self.witnesses, "body", failing=False))
        parts.append(self._mask("finals", self.finals, "body", failing=False))
        return self._module(parts)

    def shapes(self) -> Shapes:
        """The parts of a block of notes. Call it after all functions are written: only then are all rules counted."""
        return shapes(
            words=self.packing.words,
            by_orbit=self.by_orbit,
            actions=len(self.system.actions),
            steps=len(self.steps),
            checked=len(self.checked),
            witnesses=len(self.witnesses),
            rules=len(self.statistics.hits),
            bounds=len(self.statistics.cut_counts),
        )

    def places(self) -> dict[str, int]:
        """The places of the notes in their block, by the names of the driver's constants."""
        return {name.upper(): place for name, place in places(self.shapes()).items()}

    def _module(self, parts: Iterable[str]) -> str:
        """The functions behind the constants that they and the driver need.

        Raises UsageError if a state may have more than ``MOST_STEPS`` steps.
        """
        if self.fan > MOST_STEPS:
            raise UsageError(
                f"scope {self.layout.scope.name}: the actions of {self.system.name} have {self.fan} choices of "
                f"arguments, and the kernel has room for {MOST_STEPS:,}; use a smaller scope, or --engine interpreter "
                "where a command has it"
            )
        constants = {
            "WORDS": self.packing.words,
            "ROW_WORDS": self.packing.row_words,
            "FAN": max(self.fan, 1),
            "ACTIONS": len(self.system.actions),
            "REDUCED": self.symmetry is not None and self.reduced,
            "HAS_FINALS": bool(self.finals),
            "HAS_WITNESSES": bool(self.witnesses),
            "BOUNDS": len(self.statistics.cut_counts),
        }
        if self.form is not None:
            constants |= self.form.constants()
        constants |= self.places()
        head = "".join(f"{name} = {value!r}\n" for name, value in constants.items())
        loops = "" if self.form is None else f"\n\n{template('canonical_driver.py')}"
        return head + "\n\n" + "\n\n".join(f"@{_kind(part)}\n{part}" for part in parts) + loops

    def _writer(self, what: str, at: Place, sink: InstanceEnds | None = None) -> KernelEmitter:
        place = partial(self.statistics.rule, what) if self.mutable else None
        return KernelEmitter(self.packing, what, at, sink or JudgeRepetition(self), place)

    def number(self, action: Action) -> int:
        """The action's place among the actions."""
        return self.system.actions.index(action)

    def name(self, family: str, action: Action | None) -> str:
        """The name of a family's function for one action, or for the steps of all actions (None)."""
        return f"{family}_of_all" if action is None else numbered(family, self.number(action))

    def words(self, state: str) -> str:
        """The local variables of a state's words, as a tuple."""
        return "".join(f"{state}{word}, " for word in range(self.packing.words)).rstrip()

    # States ---------------------------------------------------------------------------------------------------

    def _states(self) -> Iterable[str]:
        yield from RowSource(self.packing).functions()
        yield "def wrapped(value):\n    return value + 1 if value >= 0 else value\n"
        yield "def unwrapped(code):\n    return code - 1 if code > 0 else code\n"

    def _hashed(self) -> str:
        """A function to the hash of a state, for tables of states."""
        # Odd factors without a pattern in their bits, one for each word. Shift, multiplication and shift then spread
        # the bits of a state over the hash: the highest choose the partition, the lowest a row of the cache.
        factors = [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9]
        factors += [factors[word % 3] ** (word // 3 + 1) % (1 << 64) for word in range(3, self.packing.words)]
        mixed = " ^ ".join(f"(np.uint64(s[{word}]) * np.uint64({factors[word]}))" for word in range(self.packing.words))
        finish = (
            "    h ^= h >> np.uint64(32)\n    h *= np.uint64(0xD6E8FEB86659FD93)\n    return h ^ (h >> np.uint64(29))\n"
        )
        return f"def hashed(s: State):\n    h = {mixed}\n{finish}"

    def _canonical(self) -> Iterable[str]:
        """A function to the canonical state of an orbit. A renaming is a few shifts: see ``_moved``.

        Under a small group it is the least of all renamed states. A large group has a form of its own, and the least
        form of the cosets counts.
        """
        if self.form is not None:
            yield from self.form.functions()
        form = "" if self.form is None else "canonical_form"
        lines = ["def canonical(s: State):", f"    {self.words('s')} = s", f"    best = {form}(s)"]
        if self.symmetry is not None:
            # The first renaming changes nothing.
            for moves in self.symmetry.moves()[1:]:
                for word, text in enumerate(self._moved(moves)):
                    lines.append(f"    t{word} = {text}")
                lines += [f"    t = {form}(({self.words('t')}))", "    if t < best: best = t"]
        yield "\n".join([*lines, "    return best", ""])
        yield f"def state_rank(s):\n    return {'canonical(s) + s' if self.by_orbit else 's'}\n"

    def _moved(self, moves: list[tuple[int, bytes | None]]) -> list[str]:
        """The words of a renamed state, as expressions over the words of the state.

        ``moves`` has for each cell of the renamed state the source cell, and the table that translates its code (None:
        the code stays). Cells that keep their code and move equally far within the words share one mask and one shift.
        """
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
            # The table of codes as one number, the new code of ``code`` at bit ``width * code``: no memory is read.
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
        """A function of all steps of an action from ``s``. ``sink`` writes the lines for each end of an instance."""
        writer = self._writer(action.name, action.at, sink)
        head = f"{self.name(family, action)}(s, k, rows, notes)"
        fan = 1
        for param in action.params:
            fan *= self.layout.codes(param.type)
        self.fan += fan
        with writer.function(head):
            writer.line(f"{self.words('s')} = s")
            # A loop of one turn: before the first parameter's loop opens, a ``continue`` still ends the instance.
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
            if self._read_by_steps & written_variables((action,)):
                lines.append("    look_at_steps(s, k0, k, rows, notes)")
        rest = ["    look_at_stuttering(s, k, rows, notes)"] if self.general else []
        return "\n".join([*lines, *rest, "    return k", ""])

    def _again(self, action: Action) -> str:
        """A function of the repetition of a step in the state ``s`` that it led to: FINE, DIFFERS or CUT."""
        return self._instance(action, "again", JudgeRepetition(self))

    def _outcome(self, action: Action) -> str:
        """A function of the outcome of one instance, which Python calls: the notes are an array, not an address."""
        inner = self._instance(action, "instance", ReturnCode(self))
        args = "".join(f", {code_name(param)}" for param in action.params)
        head = f"@entry\ndef {self.name('outcome', action)}(s: State{args}, notes: Line):"
        return f"{inner}\n\n{head}\n    return {self.name('instance', action)}(s{args}, address(notes))\n"

    def _instance(self, action: Action, family: str, sink: InstanceEnds) -> str:
        """A function of one instance of an action in the state ``s``. The lines of ``sink`` return its result."""
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
        """For each word, the bit mask of the cells of the protocol: no ghosts, no budgets."""
        return self._masks(field for field in self.layout.fields if not field.ghost and not field.hidden)

    def _masks(self, fields: Iterable[Field]) -> list[int]:
        """For each word, the bit mask of the cells of these fields."""
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
        """A function to a bit mask: the properties of the mask ``wanted`` whose part holds (if ``failing``, fails)."""
        lines = [f"def {name}(s, wanted):", f"    {self.words('s')} = s", "    found = 0"]
        for index, prop in enumerate(props):
            text = self._term(prop, prop.body if part == "body" else prop.premise)
            text = f"not ({text})" if failing else f"({text})"
            lines.append(f"    if wanted & {1 << index} and {text}: found |= {1 << index}")
        return "\n".join([*lines, "    return found", ""])

    def _step_masks(self, action: Action | None, part: str) -> str:
        """A function to a bit mask: the step properties that a step violates (body), or whose premise holds.

        It asks the properties of one action's steps, or those of every step (None).
        """
        args = "".join(f", {code_name(param)}" for param in action.params) if action else ""
        family = "steps" if part == "body" else "step_premises"
        lines = [
            f"def {self.name(family, action)}(s, o{args}):",
            f"    {self.words('s')} = s",
            f"    {self.words('o')} = o",
            "    found = 0",
        ]
        for index, prop in enumerate(self.steps):
            if prop.of == (action.name if action else None):
                text = self._term(prop, prop.body if part == "body" else prop.premise, action)
                text = f"not ({text})" if part == "body" else f"({text})"
                lines.append(f"    if {text}: found |= {1 << index}")
        return "\n".join([*lines, "    return found", ""])

    @property
    def general(self) -> list[Property]:
        """The step properties of the steps of all actions."""
        return [prop for prop in self.steps if prop.of is None]

    @cached_property
    def _read_by_steps(self) -> set[str]:
        """The variables that the properties of every step read."""
        return {part.var for prop in self.general for part in walk(prop.body) if isinstance(part, Read)}

    def _look_at_steps(self) -> Iterable[str]:
        """Functions that check the properties of every step, for steps from ``s`` that are in ``rows``.

        These properties read only cells. A step that changes no cell that they read has the values of a stuttering
        step, which are computed once per state. Most steps are of that kind, and most actions have no other steps: they
        write no variable that the properties read, and nothing looks at their steps one by one.
        """
        if not self.general:
            return
        masks = self._masks(field for field in self.layout.fields if field.name in self._read_by_steps)
        differs = " | ".join(f"((t[{word}] ^ s[{word}]) & {mask})" for word, mask in enumerate(masks) if mask)
        changed = f"({differs or '0'}) != 0"
        yield f"""def look_at_steps(s, first, last, rows, notes):
    for j in range(first, last):
        t = load(rows, j)
        if {changed}:
            bad = steps_of_all(t, s)
            if bad: note_steps(notes, bad, t, s)
"""
        yield f"""def look_at_stuttering(s, count, rows, notes):
    bad = steps_of_all(s, s)
    if bad:
        for j in range(count):
            t = load(rows, j)
            if not {changed}: note_steps(notes, bad, t, s)
    if peek(notes, PENDING) & {self.steps_of(None)}:
        for j in range(count): note_premises(notes, step_premises_of_all(load(rows, j), s))
"""

    def steps_of(self, action: Action | None) -> int:
        """A bit mask: the step properties of one action's steps, or those of every step (None)."""
        name = action.name if action else None
        return sum(1 << index for index, prop in enumerate(self.steps) if prop.of == name)


ENTRIES = ("def hashed(", "def canonical(")


def _kind(function: str) -> str:
    """The decorator of a function. ``entry`` lets Python call it; ``jit`` compiles faster."""
    return "entry" if function.startswith(ENTRIES) else "jit"
