"""Lists of enabled instances by bit masks: the innermost loop of an action is one word, a bit for each argument.

A rule that compares the innermost parameter with a value, such as ``e > self.epoch[s]``, refuses a range of arguments
at once. So the loop over that parameter opens as late as possible. Until then a word says for which arguments the
instance goes on, and a rule clears bits of it. A loop visits the bits that are left where the action writes, or where
an expression cannot be computed for all arguments at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import attrs

from holdfast.ir.errors import Place
from holdfast.ir.expr import (
    MIRRORED,
    And,
    Compare,
    Expr,
    Implies,
    Name,
    Not,
    Or,
    Quantified,
    Ruled,
    negate,
    walk,
)
from holdfast.ir.stmt import If, Let, Require, Stmt
from holdfast.ir.system import Action, Param
from holdfast.ir.types import BoolType
from holdfast.lower.kernel.emit import KernelEmitter
from holdfast.lower.kernel.packing import Packing
from holdfast.lower.python.expression_text import origin
from holdfast.lower.python.instance_ends import InstanceEnds
from holdfast.lower.python.names import code_name
from holdfast.lower.python.terms import FALSE, TRUE, Term, literal, subtract, truth

FEWEST, MOST = 4, 62
"""The numbers of arguments for which a mask is used: a loop over fewer is as fast, and a word has no room for more."""

DEEPEST = 40
"""The deepest block in which a rule still clears bits. Python reads blocks of up to 100 levels."""

SHIFTED = {
    "==": "(1 << {})", "!=": "~(1 << {})",
    "<": "((1 << {}) - 1)", ">=": "(-1 << {})",
    "<=": "((2 << {}) - 1)", ">": "(-2 << {})",
}  # fmt: skip
"""The mask of the arguments that compare with a code in this way. Bits beyond the last argument may be set."""


class MaskEnds(InstanceEnds, Protocol):
    """The sink of a ``MaskEmitter``."""

    def decisive_for(self, label: str, mask: str) -> list[str]:
        """A labelled condition held for each argument in a mask."""


@attrs.define
class ArgumentMask:
    """The arguments of the innermost parameter for which the instance goes on, as text: a variable or a number.

    ``narrowed``: whether a rule has cleared bits. ``lets`` has the masks of the locals that depend on the parameter.
    """

    param: Param
    text: str
    narrowed: bool = False
    lets: dict[str, str] = attrs.field(factory=dict)


class MaskEmitter(KernelEmitter):
    """Writes the function that lists all steps of an action, with a mask in place of the innermost loop."""

    def __init__(self, packing: Packing, what: str, at: Place, sink: MaskEnds) -> None:
        super().__init__(packing, what, at, sink)
        self.ends = sink
        self.mask: ArgumentMask | None = None

    # Loops ----------------------------------------------------------------------------------------------------

    def choice(self, param: Param) -> None:
        self._visit()
        codes = self.layout.codes(param.type)
        if not FEWEST <= codes <= MOST:
            super().choice(param)
            return
        # The parameter has no term yet, so no text can read it before its loop opens.
        self.mask = ArgumentMask(param, str((1 << codes) - 1))

    def _visit(self) -> None:
        """Open the loop over the arguments that are left, if it is not open yet."""
        mask, self.mask = self.mask, None
        if mask is None:
            return
        argument = code_name(mask.param)
        if mask.narrowed:
            last = self.layout.codes(mask.param.type) - 1
            self.line(f"while {mask.text}:")
            self.depth += 1
            self.leave = "continue"
            # The second mask tells the compiler the range; it clears nothing.
            self.line(f"{argument} = lowest({mask.text}) & {(1 << last.bit_length()) - 1}")
            self.line(f"{mask.text} &= {mask.text} - 1")
            self.parameter(mask.param, argument)
        else:
            super().choice(mask.param)
        for name, text in mask.lets.items():
            self.names[name] = truth(f"(({text} >> {argument}) & 1)")

    def _path(self, body: Sequence[Stmt], waiting: list[Param], put_off: list[Let], action: Action) -> None:
        super()._path(body, waiting, put_off, action)
        # After a rule that refuses all, the loop was never opened.
        self.mask = None

    def _fork(self, stmt: If, rest: Sequence[Stmt], waiting: list[Param], put_off: list[Let], action: Action) -> None:
        self._visit()
        super()._fork(stmt, rest, waiting, put_off, action)

    def complete(self, action: Action) -> None:
        self._visit()
        super().complete(action)

    # Statements -----------------------------------------------------------------------------------------------

    def statement(self, stmt: Stmt) -> bool:
        mask = self.mask
        if mask is not None and self.depth < DEEPEST:
            if isinstance(stmt, Require):
                goes_on = self._refuse(stmt, mask)
                if goes_on is not None:
                    return goes_on
            if isinstance(stmt, Let) and self._name_mask(stmt, mask):
                return True
        self._visit()
        return super().statement(stmt)

    def _refuse(self, stmt: Require, mask: ArgumentMask) -> bool | None:
        """Clear the bits that a rule refuses. Returns whether any instance can go on; None if there is no mask."""
        failed = self._masked(negate(stmt.cond), mask)
        if failed is None:
            return None
        self.at = stmt.at
        if failed == FALSE:
            return True
        if isinstance(failed, Term):
            with self.when(failed):
                self._decisive(stmt.label, mask.text)
            if failed.constant:
                return False
            self.line("else:")
        else:
            refused, left = self.scratch("m"), self.scratch("m")
            self.line(f"{refused} = {mask.text} & {failed}")
            self._decisive(stmt.label, refused)
            self.line(f"{left} = {mask.text} ^ {refused}")
            self.line(f"if {left}:")
            mask.text, mask.narrowed = left, True
        # What follows is reached only by instances that are left. All of it stands inside this block.
        self.depth += 1
        return True

    def _name_mask(self, stmt: Let, mask: ArgumentMask) -> bool:
        """Give a local a mask, or a value if it does not depend on the parameter; False if it can have neither."""
        if _notes(stmt.value):
            return False
        if not _depends(stmt.value, mask):
            self.let(stmt)
            return True
        if not isinstance(stmt.value.type, BoolType):
            return False
        value = self._masked(stmt.value, mask)
        if not isinstance(value, str):
            return False
        name = self.scratch("m")
        self.line(f"{name} = {value}")
        mask.lets[stmt.name] = name
        return True

    def _split(self, stmt: If, rest: Sequence[Stmt], waiting: list[Param], put_off: list[Let], action: Action) -> bool:
        mask = self.mask
        label, test = (stmt.test.label, stmt.test.arg) if isinstance(stmt.test, Ruled) else (None, stmt.test)
        chosen = self._masked(test, mask) if mask is not None and self.depth < DEEPEST else None
        if mask is None or chosen is None:
            return False
        self.at = stmt.at
        then, orelse = (*stmt.then, *rest), (*stmt.orelse, *rest)
        if isinstance(chosen, Term):
            whole = attrs.evolve(mask, lets=dict(mask.lets))
            branches = [(f"if {chosen.text}:", then, mask, label), ("else:", orelse, whole, None)]
            if chosen.constant:
                branches = [("if True:", then, mask, label) if chosen.lo else ("if True:", orelse, whole, None)]
        else:
            one, two = self.scratch("m"), self.scratch("m")
            self.line(f"{one} = {mask.text} & {chosen}")
            self.line(f"{two} = {mask.text} ^ {one}")
            masks = [ArgumentMask(mask.param, text, True, dict(mask.lets)) for text in (one, two)]
            branches = [(f"if {one}:", then, masks[0], label), (f"if {two}:", orelse, masks[1], None)]
        before = self.depth, self.leave, dict(self.names)
        for head, body, left, noted in branches:
            self.depth, self.leave, self.names, self.state = before[0], before[1], dict(before[2]), "s"
            self.mask = left
            self.line(head)
            with self.indented():
                if noted is not None:
                    self._decisive(noted, left.text)
                self._path(body, list(waiting), list(put_off), action)
                self.depth = before[0] + 1
        return True

    def _decisive(self, label: str, mask: str) -> None:
        for text in self.ends.decisive_for(label, mask):
            self.line(text)

    # Conditions -----------------------------------------------------------------------------------------------

    def _masked(self, node: Expr, mask: ArgumentMask) -> Term | str | None:
        """A condition for all arguments at once: the text of a mask; a term if it is the same for all of them.

        None if the condition has a part that needs a single argument. Bits beyond the last argument may be set.
        """
        if _notes(node):
            return None
        if not _depends(node, mask):
            return self.expr(node)
        self.count()
        match node:
            case Name(name):
                return mask.lets.get(name)
            case Not(arg):
                found = self._masked(arg, mask)
                return self.negation(found) if isinstance(found, Term) else found and f"~{found}"
            case And(args):
                return self._all((self._masked(arg, mask) for arg in args), decides=FALSE)
            case Or(args):
                return self._all((self._masked(arg, mask) for arg in args), decides=TRUE)
            case Implies(left, right):
                return self._all((self._masked(arg, mask) for arg in (negate(left), right)), decides=TRUE)
            case Quantified():
                bodies = (self._masked(node.body, mask) for _ in self.elements(node.var, node.domain))
                return self._all(bodies, decides=FALSE if node.kind == "all" else TRUE)
            case Compare(op, left, right):
                if left == Name(mask.param.name, mask.param.type):
                    return self._compared(op, right, mask)
                if right == Name(mask.param.name, mask.param.type):
                    return self._compared(MIRRORED[op], left, mask)
        return None

    def _compared(self, op: str, other: Expr, mask: ArgumentMask) -> str | None:
        """The mask of the arguments that compare with a value in this way."""
        if _depends(other, mask):
            return None
        code = subtract(self.expr(other), literal(origin(mask.param.type)))
        # The shift of a code beyond the word has no meaning.
        if not 0 <= code.lo <= code.hi < MOST:
            return None
        return SHIFTED[op].format(code.text)

    def _all(self, parts: Iterator[Term | str | None], decides: Term) -> Term | str | None:
        """The parts of ``and`` (a false one decides) or of ``or`` (a true one decides) as one mask.

        A part may be computable only where the parts before it do not decide. So behind a term, the text is a choice.
        """
        found: list[Term | str] = []
        for part in parts:
            if part is None:
                return None
            if isinstance(part, Term) and part.constant:
                if part == decides:
                    found.append(part)
                    break
                continue
            found.append(part)
        if all(isinstance(part, Term) for part in found):
            terms = iter([part for part in found if isinstance(part, Term)])
            return self.conjunction(terms) if decides == FALSE else self.disjunction(terms)
        return _chained(found, decides=decides)


def _chained(parts: Iterable[Term | str], decides: Term) -> str:
    """The text of one mask for parts that ``and`` or ``or`` connects."""
    *before, last = parts
    text = _mask_text(last)
    for part in reversed(before):
        if isinstance(part, str):
            text = f"({part} {'&' if decides == FALSE else '|'} {text})"
        else:
            text = f"({text} if {part.text} else 0)" if decides == FALSE else f"(-1 if {part.text} else {text})"
    return text


def _mask_text(part: Term | str) -> str:
    if isinstance(part, str):
        return part
    return ("-1" if part.lo else "0") if part.constant else f"(-1 if {part.text} else 0)"


def _notes(node: Expr) -> bool:
    """Whether computing an expression may note a rule, so that it has to be computed once for each argument."""
    return any(isinstance(part, Ruled) for part in walk(node))


def _depends(node: Expr, mask: ArgumentMask) -> bool:
    """Whether a value may differ from one argument to another."""
    names = {mask.param.name, *mask.lets}
    return any(isinstance(part, Name) and part.name in names for part in walk(node))
