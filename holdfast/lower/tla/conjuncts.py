"""Writes blocks as text: an action, or the condition on a state that an action is allowed in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.ir.expr import And, Expr, IfElse, Implies, Name, Or, Quantified, Read, negate
from holdfast.lower.tla.blocks import (
    Block,
    BoundGuard,
    ChosenFunction,
    Conditional,
    Contents,
    Definition,
    Item,
    MappedFunction,
    NamedFunction,
    NewValue,
    RuleGuard,
    Unchanged,
    UpdatedFunction,
)
from holdfast.lower.tla.expression_text import TlaExpressions
from holdfast.lower.tla.text import (
    ROOM,
    Text,
    bulleted,
    choice,
    commented,
    definition,
    equation,
    hang,
    implication,
    junction,
    let,
    mapped,
    word,
)

AND = "/\\"
TRUE = word("TRUE")
HOLDS = "Holds"
"""The operator around a condition that TLC would otherwise take for a choice: see its comment in the module."""


class Conjuncts:
    """Writes the blocks of one operator. ``prime``: the mark of a variable after the step; empty in Init."""

    def __init__(self, writer: TlaExpressions, everything: Sequence[str], *, prime: str = "'") -> None:
        self.writer = writer
        self.everything = tuple(everything)
        """All variables of the module; its tuple ``vars`` holds them."""
        self.prime = prime
        self.values: dict[str, Expr] = {}
        """The expressions of the definitions in sight, by name."""

    def block(self, block: Block) -> Text:
        """A conjunction."""
        for each in block.definitions:
            if not isinstance(each.value, NamedFunction | UpdatedFunction | MappedFunction | ChosenFunction):
                self.values[each.name] = each.value
        items = [self.item(item) for item in block.items]
        body = bulleted(AND, items) if len(items) > 1 else items[0] if items else TRUE
        return self.defined(block.definitions, body)

    def item(self, item: Item) -> Text:
        """One conjunct, with its comment."""
        match item:
            case RuleGuard(cond, note) | BoundGuard(cond, note):
                return commented(self.held(cond), note)
            case NewValue(var, value, note):
                name = self.writer.variable(var)
                return commented(equation(f"{name}{self.prime}", self.contents(value)), note)
            case Unchanged(variables):
                return self.unchanged(variables)
            case Conditional(test, note, then, orelse):
                return self.branch(test, note, self.block(then), self.block(orelse))

    def held(self, cond: Expr) -> Text:
        """A condition of an action, written so that TLC makes only one step of it."""
        text = self.writer.expr(cond)
        if not self.chooses(cond):
            return text
        self.writer.module.needed.add(HOLDS)
        return hang(f"{HOLDS}(", text, ")")

    def chooses(self, cond: Expr) -> bool:
        """Whether TLC would take the condition, as part of an action, for a choice between steps."""
        match cond:
            case Or() | Quantified("any"):
                return True
            case And(args):
                return any(map(self.chooses, args))
            case Quantified("all", body=body) | Implies(right=body):
                return self.chooses(body)
            case IfElse(_, then, orelse):
                return self.chooses(then) or self.chooses(orelse)
            case Name(name):
                value = self.values.get(self.writer.declared(name))
                return value is not None and self.chooses(value)
            case Read(var, keys=()):
                value = self.values.get(var)
                return value is not None and self.chooses(value)
            case _:
                return False

    def branch(self, test: Expr, note: str, then: Text, orelse: Text) -> Text:
        """A choice between two conjunctions; an implication if one of them is TRUE."""
        if orelse == TRUE:
            return commented(implication(self.writer.expr(test), then), note)
        if then == TRUE:
            return commented(implication(self.writer.expr(negate(test)), orelse), note)
        return choice(self.writer.expr(test), then, orelse, note)

    def unchanged(self, variables: Sequence[str]) -> Text:
        """The frame condition."""
        names = [self.writer.variable(var) for var in variables]
        if tuple(variables) == self.everything:
            return word("UNCHANGED vars")
        if len(names) == 1:
            return word(f"UNCHANGED {names[0]}")
        lines = [f"UNCHANGED <<{names[0]}"]
        for name in names[1:]:
            if len(lines[-1]) + len(name) > ROOM:
                lines[-1] += ","
                lines.append(" " * len("UNCHANGED <<") + name)
            else:
                lines[-1] += f", {name}"
        lines[-1] += ">>"
        return Text(tuple(lines))

    def contents(self, value: Contents) -> Text:
        """The value of a variable."""
        match value:
            case NamedFunction(name):
                return word(self.writer.variable(name))
            case UpdatedFunction(of, changes):
                return self.updated(self.writer.variable(of.name), changes)
            case MappedFunction(params, body):
                heads = [rf"{self.writer.local(name)} \in {self.writer.module.domain(kind)}" for name, kind in params]
                return mapped(", ".join(heads), self.writer.expr(body))
            case ChosenFunction(test, then, orelse):
                return choice(self.writer.expr(test), self.contents(then), self.contents(orelse))
            case _:
                return self.writer.expr(value)

    def updated(self, name: str, changes: Sequence[tuple[Sequence[Expr], Expr]]) -> Text:
        """The expression of a function that has new values at some keys."""
        # Each change is laid out alone. All of them go on one line if they fit, and else one below the other.
        parts = []
        for keys, value in changes:
            *before, last = hang("![", self.writer.listed(keys), "]").lines
            parts.append(Text((*before, *equation(last, self.writer.expr(value)).lines)))
        head = f"[{name} EXCEPT "
        if all(part.flat for part in parts) and sum(len(part.lines[0]) + 2 for part in parts) + len(head) <= ROOM:
            return word(f"{head}{', '.join(part.lines[0] for part in parts)}]")
        lines: list[str] = []
        for place, part in enumerate(parts):
            ending = "]" if place == len(parts) - 1 else ","
            lines += hang(head if place == 0 else " " * len(head), part, ending).lines
        return Text(tuple(lines))

    def defined(self, definitions: Sequence[Definition], body: Text) -> Text:
        """The body under the definitions that it mentions, directly or through another definition."""
        texts: list[Text] = []
        # From the last one: a definition mentions only earlier ones, and writing it marks these as used.
        for each in reversed(definitions):
            if each.name in self.writer.used:
                texts.insert(0, definition(each.name, self.contents(each.value)))
        return let(texts, body)

    # Conditions on states ---------------------------------------------------------------------------------------

    def outcome(self, block: Block, becomes: Callable[[NewValue], Text | None]) -> Text:
        """The condition on a state that the rules allow the action, or that a bound cuts it before a rule refuses it.

        ``becomes`` returns a further condition on the new value of a variable; None if there is none.
        """
        return self.defined(block.definitions, self._outcome(list(block.items), becomes))

    def _outcome(self, items: list[Item], becomes: Callable[[NewValue], Text | None]) -> Text:
        texts: list[Text] = []
        for place, item in enumerate(items):
            rest = items[place + 1 :]
            match item:
                case RuleGuard(cond):
                    texts.append(self.writer.expr(cond))
                case BoundGuard(cond):
                    # The items after a bound only count if it does not cut the step.
                    last = self._outcome(rest, becomes)
                    return _all([*texts, *([] if last == TRUE else [implication(self.writer.expr(cond), last)])])
                case NewValue():
                    texts += [text for text in [becomes(item)] if text is not None]
                case Unchanged():
                    pass
                case Conditional(test, _, then, orelse):
                    # If a side can cut the step, the items after the branch must come after that bound: they are
                    # moved into both sides.
                    cut = _cuts(then) or _cuts(orelse)
                    sides = [
                        self.defined(
                            side.definitions,
                            self._outcome([*side.items, *(rest if cut else ())], becomes),
                        )
                        for side in (then, orelse)
                    ]
                    if sides != [TRUE, TRUE]:
                        texts.append(self.branch(test, "", *sides))
                    if cut:
                        return _all(texts)
        return _all(texts)


def _cuts(block: Block) -> bool:
    return any(
        isinstance(item, BoundGuard) or (isinstance(item, Conditional) and (_cuts(item.then) or _cuts(item.orelse)))
        for item in block.items
    )


def _all(texts: Sequence[Text]) -> Text:
    if not texts:
        return TRUE
    return texts[0] if len(texts) == 1 else junction(AND, texts)
