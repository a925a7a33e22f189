"""From the bodies of actions to functions over packed states, in the language of kernels.

The text is that of the interpreter's emitter, except for states. There a state is bytes. Here it is words in local
variables: ``s0``, ``s1``, … for the state, ``t0``, … for the copy that is written, ``o0``, … for the state before a
step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from holdfast.ir.errors import Place, UsageError
from holdfast.ir.expr import Expr, Fold, Read
from holdfast.ir.stmt import Assign, Fill
from holdfast.ir.system import Action, Param
from holdfast.ir.types import BUDGET, OptionalType, Plain
from holdfast.lower.kernel.packing import Packing, Slot
from holdfast.lower.layout import Field
from holdfast.lower.python.emit import Emitter
from holdfast.lower.python.expression_text import origin
from holdfast.lower.python.instance_ends import InstanceEnds
from holdfast.lower.python.names import code_name
from holdfast.lower.python.terms import FALSE, TRUE, Term, add, literal, subtract, term, truth

ALL_BITS = (1 << 63) - 1
"""The bits of a word that may hold cells: all but the sign."""

GREATEST = (1 << 63) - 1
"""The greatest distance from 0 of a number that machine code may compute."""


class KernelEmitter(Emitter):
    """Writes the function of one action over packed states.

    ``place`` is given for a text that serves all mutants of a model. It maps a label to the rule's place in the array
    ``removed``.
    """

    def __init__(
        self, packing: Packing, what: str, at: Place, sink: InstanceEnds, place: Callable[[str], int] | None = None
    ) -> None:
        super().__init__(packing.layout, what, sink)
        self.packing = packing
        self.at = at
        self.place = place
        self.spread = False
        """Whether the cells of the state ``s`` also lie in the block ``notes``, one in a word, from CELL on."""

    def words(self, state: str) -> str:
        """The local variables that hold the words of a state."""
        return ", ".join(f"{state}{word}" for word in range(self.packing.words))

    # Numbers --------------------------------------------------------------------------------------------------

    def expr(self, node: Expr) -> Term:
        return self.fits(super().expr(node))

    def fits(self, value: Term) -> Term:
        """Returns the term. Raises UsageError if its computation may need a number that 64 bits cannot hold."""
        # Machine code computes modulo 2^64 and reports no overflow: the number would be wrong.
        if value.reach > GREATEST:
            raise UsageError(
                f"{self.at}: a number in {self.what} may get as far from 0 as {value.reach} in scope "
                f"{self.layout.scope.name}, and machine code computes with 64 bits; use smaller numbers or a "
                "smaller scope, or --engine interpreter where a command has it"
            )
        return value

    # Reading --------------------------------------------------------------------------------------------------

    def read(self, node: Read) -> Term:
        if node.var in self.layout.given:
            return self.given(node)
        field = self.layout.field(node.var)
        state = self.old if node.old else self.state
        index = self.index(node.var, field.keys, node.keys)
        last_code = self.layout.codes(node.type) - 1
        runs = list(self.runs(field.offset, index))
        if self.spread and state == "s" and len(runs) > 1:
            cell = f"peek(notes, CELL + {field.offset} + {index.text})"
            return add(term(cell, 0, last_code), literal(origin(node.type)))
        # A field may reach over several words: nested choices by the index, the last word without a test.
        *others, (_, last) = [(end, f"(({state}{slot.word} >> {shift}) & {slot.mask})") for slot, shift, end in runs]
        for end, text in reversed(others):
            last = f"({text} if {index.text} <= {end} else {last})"
        return add(term(last, 0, last_code), literal(origin(node.type)))

    def given(self, node: Read) -> Term:
        """A constant of the scope: a number if the cell is known, else a bit field of one number with all values."""
        var = self.layout.system.var(node.var)
        values = [code + origin(node.type) for code in self.layout.given[node.var]]
        index = self.index(node.var, var.keys, node.keys)
        if index.constant:
            return literal(values[index.lo])
        least = min(values)
        width = max(1, (max(values) - least).bit_length())
        # Too many bits for one word, so the values stand in a tuple.
        if width * len(values) >= 63:
            return term(f"({', '.join(map(str, values))},)[{index.text}]", least, max(values))
        table = sum((value - least) << (width * place) for place, value in enumerate(values))
        piece = f"(({table} >> ({width} * {index.text})) & {(1 << width) - 1})"
        return add(term(piece, 0, max(values) - least), literal(least))

    def runs(self, offset: int, index: Term) -> Iterator[tuple[Slot, str, int]]:
        """The words that may hold the cell ``offset + index``: of each a slot, the shift as text, and its last index.

        Only the slot's word, width and mask hold for all its cells. The cells of a field lie next to each other in a
        word, the first one highest, so the shift is linear in the index.
        """
        slots = self.packing.slots
        if index.constant:
            slot = slots[offset + index.lo]
            yield slot, str(slot.shift), index.lo
            return
        first = index.lo
        while first <= index.hi:
            slot, last = slots[offset + first], first
            while last < index.hi and slots[offset + last + 1].word == slot.word:
                last += 1
            yield slot, f"({slot.shift + slot.width * first} - {slot.width} * {index.text})", last
            first = last + 1

    def wrap(self, value: Term, optional: OptionalType) -> Term:
        code = subtract(value, literal(origin(optional.of)))
        if code.lo >= 0:
            return super().wrap(value, optional)
        # The language of kernels has no ``:=``, which the interpreter's text uses, so a function takes its place.
        lo, hi = (end + (end >= 0) for end in (code.lo, code.hi))
        return term(f"wrapped({code.text})", lo, hi, code)

    def unwrap(self, optional: Term, of: Plain) -> Term:
        if optional.lo >= 0:
            return super().unwrap(optional, of)
        lo, hi = (end - (end > 0) for end in (optional.lo, optional.hi))
        return add(term(f"unwrapped({optional.text})", lo, hi), literal(origin(of)))

    def standing(self, label: str) -> Term:
        # The only test that a mutable text has more: 1 means that the mutant lacks the rule.
        return TRUE if self.place is None else truth(f"(peek(notes, REMOVED + {self.place(label)}) == 0)")

    def ruled(self, label: str, cond: Term) -> Term:
        return super().ruled(label, self.conjunction(iter((self.standing(label), cond))))

    # Writing --------------------------------------------------------------------------------------------------

    def copy(self) -> None:
        self.line(f"{self.words('t')} = {self.words('s')}")
        self.state = "t"

    def assign(self, stmt: Assign) -> bool:
        field = self.layout.field(stmt.var)
        code = self.admitted(self.expr(stmt.value), field.type, stmt.at)
        if code is not None:
            self.store(field.offset, self.index(stmt.var, field.keys, stmt.keys), code)
        return code is not None

    def fill(self, stmt: Fill) -> bool:
        field = self.layout.field(stmt.var)
        code = self.admitted(self.expr(stmt.value), field.type, stmt.at)
        if code is not None:
            code = code if code.constant else self.kept(self.scratch("v"), code)
            for place in range(field.count):
                self.store(field.offset, literal(place), code)
        return code is not None

    def store(self, offset: int, index: Term, code: Term) -> None:
        """Write a code into the cell ``offset + index`` of the copy."""
        # A cell of width 0 has one code and takes no bits, so there is nothing to write.
        runs = [run for run in self.runs(offset, index) if run[0].width]
        for number, (slot, shift, last) in enumerate(runs):
            word = f"t{slot.word}"
            if index.constant:
                kept = f"({word} & {ALL_BITS ^ (slot.mask << slot.shift)})"
            else:
                kept = f"({word} & ~({slot.mask} << {shift}))"
            # A condition gives a bool, and a shift needs a number.
            value = str(code.lo) if code.constant else f"int({code.text})"
            text = f"{word} = {kept}" if code == FALSE else f"{word} = {kept} | ({value} << {shift})"
            if len(runs) == 1:
                self.line(text)
                continue
            head = "if" if number == 0 else "elif"
            self.line(f"{head} {index.text} <= {last}:" if number + 1 < len(runs) else "else:")
            with self.indented():
                self.line(text)

    def members(self, pool: Field) -> str:
        slots = self.packing.slots[pool.offset : pool.offset + pool.count]
        masks = {slot.word: 0 for slot in slots}
        for slot in slots:
            masks[slot.word] |= slot.mask << slot.shift
        return " + ".join(f"ones({self.state}{word} & {mask})" for word, mask in masks.items())

    # Frames ---------------------------------------------------------------------------------------------------

    def choice(self, param: Param) -> None:
        self.line(f"for {code_name(param)} in range({self.layout.codes(param.type)}):")
        self.depth += 1
        self.leave = "continue"
        self.parameter(param, code_name(param))

    def complete(self, action: Action) -> None:
        if self.state == "s":
            self.copy()
        cell = self.layout.budget(action.name)
        if cell is not None:
            slot = self.packing.slots[cell]
            left = truth(f"((t{slot.word} >> {slot.shift}) & {slot.mask}) == 0") if slot.width else TRUE
            with self.when(left):
                self.cut(BUDGET, None)
            # A budget of 0: every instance is cut, and no step is ever complete.
            if not slot.width:
                return
            self.line(f"t{slot.word} -= {1 << slot.shift}")
        for text in self.sink.taken(self.words("t"), ", ".join(code_name(param) for param in action.params)):
            self.line(text)

    def fold(self, node: Fold) -> Term:
        """As the interpreter's text, but ``min`` and ``max`` take all elements: one that is not chosen is neutral.

        The neutral value is the greatest possible one for ``min``, the least possible one for ``max``.
        """
        if node.kind in ("count", "sum"):
            return super().fold(node)
        chosen: list[tuple[Term, Term]] = []
        for _ in self.elements(node.var, node.domain):
            where = self.expr(node.where)
            if where != FALSE:
                chosen.append((where, self.expr(node.value)))
        default = self.expr(node.default)
        if not chosen:
            return default
        ends = [end for value in (default, *(value for _, value in chosen)) for end in (value.lo, value.hi)]
        neutral = max(ends) if node.kind == "min" else min(ends)
        items = [
            value.text if where == TRUE else f"({value.text} if {where.text} else {neutral})" for where, value in chosen
        ]
        text = f"{node.kind}({', '.join(items)})" if len(items) > 1 else items[0]
        if any(where == TRUE for where, _ in chosen):
            return term(text, min(ends), max(ends))
        # If no element is chosen, the result is the default and not the neutral value.
        some = " or ".join(where.text for where, _ in chosen)
        return term(f"({text} if ({some}) else {default.text})", min(ends), max(ends))
