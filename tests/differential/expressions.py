"""Generates typed expressions of the language as source text, from the names and fields of a Sight."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

import attrs

from tests.differential.reads import Maker, Reads
from tests.differential.vocabulary import (
    BOOL,
    MODE,
    Helper,
    Sight,
    computed,
    is_computed,
    is_optional,
    optional,
    some,
)

Facts = Mapping[str, str]

NAMES = ("a", "b", "c", "d", "u", "v")
ORDERS = ("==", "!=", "<", "<=", ">", ">=")


@attrs.frozen
class Condition:
    """A condition, and the Optionals that are known not to be None if it holds and if it fails."""

    text: str
    held: Facts = attrs.field(factory=dict)
    failed: Facts = attrs.field(factory=dict)


class Expressions(Reads):
    """Writes expressions of every kind, made of reads."""

    # Values of any kind ---------------------------------------------------------------------------------------

    def value(self, kind: str, sight: Sight, depth: int = 2) -> str:
        """An expression of exactly this kind; a computed number may also have no unit."""
        if kind == BOOL:
            return self.condition(sight, depth).text
        if is_computed(kind):
            return self.number(kind.removeprefix("computed").strip(), sight, depth)
        makers = self.reads(kind, sight, depth)
        if not is_optional(kind) and kind not in self.words.sorts:
            makers.append((3, lambda: self.literal(kind)))
        if depth > 0 and self.reaches(kind, sight):
            makers.append((1, lambda: self.if_else(kind, sight, depth)))
            makers += [(3, maker) for maker in self.calls((kind,), sight, depth)]
        if not makers:
            # Every Optional in sight is known not to be None, so it would count as a plain value.
            plain = self.choices.weighted(self.reads(some(kind), sight, 0))()
            return f"({plain} if True else None)"
        return self.choices.weighted(makers)()

    def fitting(self, kind: str, sight: Sight, depth: int = 2) -> str:
        """An expression that fits this kind: it may be None, a plain value or a computed number too."""
        ghost = sight.in_ghost or sight.ghosts
        if not is_optional(kind):
            computes = kind in self.words.units and not ghost and self.choices.chance(40)
            return self.value(computed(kind), sight, depth) if computes else self.value(kind, sight, depth)
        plain = some(kind)
        makers: list[tuple[int, Maker]] = [(1, lambda: "None")]
        if self.reaches(plain, sight):
            makers.append((3, lambda: self.value(plain, sight, depth)))
            makers.append((1, lambda: self.chosen_or_none(plain, sight, depth)))
        if self.reaches(kind, sight):
            makers.append((2, lambda: self.value(kind, sight, depth)))
        if plain in self.words.units and not ghost:
            makers.append((2, lambda: self.number(plain, sight, depth, bare=False)))
        return self.choices.weighted(makers)()

    def if_else(self, kind: str, sight: Sight, depth: int) -> str:
        """A choice between two values of one kind."""
        test = self.condition(sight, depth - 1)
        then = self.value(kind, sight.knowing(test.held), depth - 1)
        return f"({then} if {test.text} else {self.value(kind, sight.knowing(test.failed), depth - 1)})"

    def chosen_or_none(self, plain: str, sight: Sight, depth: int) -> str:
        """A choice between a value and None."""
        test = self.condition(sight, depth - 1)
        if self.choices.chance(50):
            return f"({self.value(plain, sight.knowing(test.held), depth - 1)} if {test.text} else None)"
        return f"(None if {test.text} else {self.value(plain, sight.knowing(test.failed), depth - 1)})"

    # Helpers --------------------------------------------------------------------------------------------------

    def calls(self, kinds: tuple[str, ...], sight: Sight, depth: int) -> list[Maker]:
        """Calls of the helpers that return one of these kinds."""
        return [
            lambda receiver=receiver, helper=helper: self.call(receiver, helper, sight, depth - 1)
            for helper in sight.helpers
            if helper.returns in kinds and self.callable(helper, sight)
            for receiver in sight.receivers
        ]

    def callable(self, helper: Helper, sight: Sight) -> bool:
        """Whether the helper may be called here."""
        if (helper.ghost and not sight.ghosts) or (helper.ruled and not sight.ruled):
            return False
        if not {touch.field for touch in helper.touches} <= {field.name for field in sight.fields}:
            return False
        forced = self.forced(helper, sight)
        return forced is not None and all(
            name in forced or is_optional(kind) or self.reaches(kind, sight) for name, kind in helper.params
        )

    def forced(self, helper: Helper, sight: Sight) -> dict[str, str] | None:
        """The arguments that the enclosing loops require; None if the helper touches cells that they forbid."""
        found: dict[str, str] = {}
        for touch in helper.touches:
            held = sight.held.get(touch.field, {})
            for place, variable in held.items():
                param = touch.keys[place]
                if param is None or found.setdefault(param, variable) != variable:
                    return None
        return found

    def call(self, receiver: str, helper: Helper, sight: Sight, depth: int) -> str:
        """A call, its arguments by position or by name."""
        forced = self.forced(helper, sight) or {}
        args = {name: forced.get(name) or self.passed(kind, helper, sight, depth) for name, kind in helper.params}
        if receiver == "self":
            self.touched += [
                sight.touch(touch.field, ["" if key is None else args[key] for key in touch.keys])
                for touch in helper.touches
            ]
        words = [f"{name}={arg}" for name, arg in args.items()]
        by_name = self.choices.below(len(args) + 1) if self.choices.chance(30) else 0
        listed = [*list(args.values())[: len(args) - by_name], *reversed(words[len(args) - by_name :])]
        return f"{receiver}.{helper.name}({', '.join(listed)})"

    def passed(self, kind: str, helper: Helper, sight: Sight, depth: int) -> str:
        """An argument, preferably one that the helper itself changes."""
        kinds = (kind.replace("computed ", ""), some(kind))
        changed = [f for f in sight.fields if f.name in helper.writes and f.kind in kinds and self.may_read(f, sight)]
        if changed and self.choices.chance(70):
            return self.cell("self", self.choices.one(changed), sight)
        if is_computed(kind):
            return self.argument(kind, sight, max(depth, 0))
        return self.strict(kind, sight, max(depth, 0))

    def argument(self, kind: str, sight: Sight, depth: int) -> str:
        """A number for a parameter of a numeric type."""
        return self.number(kind.removeprefix("computed").strip(), sight, depth, bare=False)

    def strict(self, kind: str, sight: Sight, depth: int) -> str:
        """A value that fits the kind and is no computed number."""
        if not is_optional(kind):
            return self.value(kind, sight, depth)
        options: list[tuple[int, Maker]] = [(1, lambda: "None")]
        wider = [wanted for wanted in (some(kind), kind) if self.reaches(wanted, sight)]
        options += [(3, lambda wanted=wanted: self.value(wanted, sight, depth)) for wanted in wider]
        return self.choices.weighted(options)()

    # Conditions -----------------------------------------------------------------------------------------------

    def condition(self, sight: Sight, depth: int = 2) -> Condition:
        """A truth value."""
        leaves: list[tuple[int, Callable[[], Condition]]] = [
            (8, lambda: self.comparison(sight, max(depth - 1, 0))),
            (1, lambda: Condition(self.literal(BOOL))),
        ]
        reads = self.reads(BOOL, sight, max(depth - 1, 0))
        if reads:
            leaves.append((6, lambda: Condition(self.choices.weighted(reads)())))
        if self.optionals(sight):
            leaves.append((5, lambda: self.none_test(sight)))
        if depth > 0:
            leaves += [
                (2, lambda: self.negation(sight, depth - 1)),
                (3, lambda: self.conjunction(sight, depth - 1)),
                (3, lambda: self.disjunction(sight, depth - 1)),
                (3, lambda: Condition(self.quantified(sight, depth - 1))),
                (1, lambda: Condition(self.if_else(BOOL, sight, depth))),
                *((6, lambda call=call: Condition(call())) for call in self.calls((BOOL,), sight, depth)),
            ]
        return self.choices.weighted(leaves)()

    def negation(self, sight: Sight, depth: int) -> Condition:
        """A negation, which swaps the facts of success and failure."""
        inner = self.condition(sight, depth)
        return Condition(f"(not {inner.text})", inner.failed, inner.held)

    def conjunction(self, sight: Sight, depth: int) -> Condition:
        """Two or three conditions, the later ones relying on the earlier."""
        texts: list[str] = []
        held: dict[str, str] = {}
        for _ in range(self.choices.between(2, 3)):
            part = self.condition(sight.knowing(held), depth)
            texts.append(part.text)
            held |= part.held
        return Condition(f"({' and '.join(texts)})", held=held)

    def disjunction(self, sight: Sight, depth: int) -> Condition:
        """Two or three alternatives, the later ones relying on the failure of the earlier."""
        texts: list[str] = []
        failed: dict[str, str] = {}
        for _ in range(self.choices.between(2, 3)):
            part = self.condition(sight.knowing(failed), depth)
            texts.append(part.text)
            failed |= part.failed
        return Condition(f"({' or '.join(texts)})", failed=failed)

    def optionals(self, sight: Sight) -> list[Callable[[], tuple[str, str]]]:
        """Ways to name an Optional, each with its plain kind, so that a test for None establishes a fact."""
        found: list[Callable[[], tuple[str, str]]] = [
            lambda name=name, kind=local.kind: (name, some(kind))
            for name, local in sight.names.items()
            if is_optional(local.kind) and (sight.ghosts or not local.ghost)
        ]
        fields = [field for field in sight.fields if is_optional(field.kind) and self.may_read(field, sight)]
        found += [
            lambda r=receiver, f=field: (self.cell(r, f, sight), some(f.kind))
            for receiver, field in itertools.product(sight.receivers, fields)
        ]
        return found

    def none_test(self, sight: Sight) -> Condition:
        """A test for None, mostly followed by a use of the fact that it establishes."""
        text, plain = self.choices.one(self.optionals(sight))()
        fact = {text: plain}
        if self.choices.chance(40):
            return Condition(f"({text} is None)", failed=fact)
        test = f"{text} is not None"
        if not self.choices.chance(50):
            return Condition(f"({test})", held=fact)
        inner = sight.knowing(fact)
        if plain in self.words.units:
            use = f"{self.mention(text, inner)} {self.choices.one(ORDERS)} {self.number(plain, inner, 0)}"
        elif plain == BOOL:
            use = self.mention(text, inner)
        elif self.reaches(plain, sight):
            use = f"{self.mention(text, inner)} {self.choices.one(('==', '!='))} {self.value(plain, inner, 0)}"
        else:
            use = f"{self.mention(text, inner)} == {text}"
        if self.choices.chance(30):
            return Condition(f"({text} is None or {use})", failed=fact)
        return Condition(f"({test} and {use})", held=fact)

    def comparison(self, sight: Sight, depth: int) -> Condition:
        """A comparison, a chain of them, or membership in a tuple."""
        kinds = [kind for kind in (*self.words.units, MODE, *self.words.sorts, BOOL) if self.reaches(kind, sight)]
        holders = (*self.words.sorts, *self.words.nats, MODE)
        kinds += [optional(kind) for kind in holders if self.reads(optional(kind), sight, 0)]
        # A comparison of two literals tests little.
        kind = self.choices.weighted([(8 if self.reads(kind, sight, 0) else 1, kind) for kind in kinds])
        ordered = kind in self.words.units
        wanted = computed(kind) if ordered and self.choices.chance(60) else kind
        reads = self.reads(kind, sight, depth)
        first = (
            self.choices.weighted(reads)() if reads and self.choices.chance(75) else self.value(wanted, sight, depth)
        )
        form = self.choices.below(8) if not is_optional(kind) else 0
        if form == 7:
            members = [self.value(wanted, sight, depth) for _ in range(self.choices.between(1, 3))]
            word = self.choices.one(("in", "not in"))
            return Condition(f"({first} {word} ({', '.join(members)},))")
        signs = ORDERS if ordered else ("==", "!=")
        links = 2 if form == 6 else 1
        second = self.value(wanted, sight, depth)
        second = self.value(wanted, sight, depth) if second == first else second
        rest = [f"{self.choices.one(signs)} {second}"]
        rest += [f"{self.choices.one(signs)} {self.value(wanted, sight, depth)}" for _ in range(links - 1)]
        return Condition(f"({' '.join([first, *rest])})")

    def quantified(self, sight: Sight, depth: int) -> str:
        """``all`` or ``any`` over one or two variables."""
        head, inner = self.generators(sight, depth, self.choices.between(1, 2))
        return f"{self.choices.one(('all', 'any'))}({self.condition(inner, depth).text} {head})"

    def generators(self, sight: Sight, depth: int, number: int) -> tuple[str, Sight]:
        """The ``for`` parts of a comprehension, and the Sight inside."""
        # Hiding a name is allowed, and worth testing.
        free = [name for name in ("n", "i", "t", *NAMES) if name not in sight.loop_variables()]
        names = [self.choices.one(free) for _ in range(number)]
        parts: list[str] = []
        for position, name in enumerate(names):
            kind = self.choices.one(self.words.keys)
            sight = sight.bind(name, kind)
            part = f"for {name} in {kind}"
            if self.choices.chance(40):
                unbound = set(names[position + 1 :]) - set(names[: position + 1])
                cond = self.condition(sight.hiding(unbound), max(depth - 1, 0))
                sight = sight.knowing(cond.held)
                part += f" if {cond.text}"
            parts.append(part)
        return " ".join(parts), sight

    # Numbers --------------------------------------------------------------------------------------------------

    def number(self, unit: str, sight: Sight, depth: int, *, bare: bool = True) -> str:
        """A computed number with this unit; a ``bare`` one may be only a literal."""
        makers: list[tuple[int, Maker]] = []
        if bare:
            makers.append((3, lambda: str(self.choices.between(-1, 3))))
        makers += [
            (3, lambda name=name: name)
            for name, local in sight.names.items()
            if local.kind in (computed(unit), computed()) and (sight.ghosts or not local.ghost)
        ]
        if unit:
            makers.append((5, lambda: self.value(unit, sight, max(depth - 1, 0))))
            makers.append((1, lambda: self.far_literal(unit)))
        if depth > 0 or not makers:
            makers += self.operations(unit, sight, max(depth - 1, 0))
        return self.choices.weighted(makers)()

    def far_literal(self, unit: str) -> str:
        """A literal that a cell may have no room for."""
        return f"{unit}({self.choices.below(self.bounds[unit] + 2)})" if unit in self.bounds else self.literal(unit)

    def operations(self, unit: str, sight: Sight, depth: int) -> list[tuple[int, Maker]]:
        """Arithmetic and folds."""

        def part() -> str:
            return self.number(unit, sight, depth)

        def extremum() -> str:
            return f"{self.choices.one(('min', 'max'))}({', '.join(part() for _ in range(self.choices.between(2, 3)))})"

        def chosen() -> str:
            test = self.condition(sight, depth)
            then, orelse = sight.knowing(test.held), sight.knowing(test.failed)
            return f"({self.number(unit, then, depth)} if {test.text} else {self.number(unit, orelse, depth)})"

        def counted() -> str:
            head, inner = self.generators(sight, depth, self.choices.between(1, 2))
            return f"count({self.condition(inner, depth).text} {head})"

        def summed() -> str:
            head, inner = self.generators(sight, depth, self.choices.between(1, 2))
            return f"sum({self.number(unit, inner, depth)} {head})"

        def least() -> str:
            head, inner = self.generators(sight, depth, 1)
            word = self.choices.one(("min", "max"))
            return f"{word}(({self.number(unit, inner, depth)} {head}), default={part()})"

        made: list[tuple[int, Maker]] = [
            (4, lambda: f"({part()} + {part()})"),
            (4, lambda: f"({part()} - {part()})"),
            (2, lambda: f"({self.choices.between(-1, 2)} * {part()})"),
            (1, lambda: f"({part()} * {self.choices.between(0, 2)})"),
            (2, extremum),
            (1, lambda: f"abs({part()})"),
            (2, chosen),
            (2, counted),
            (2, summed),
            (2, least),
            *((2, call) for call in self.calls((computed(unit), computed()), sight, depth + 1)),
        ]
        if unit:
            made.append((1, lambda: f"{unit}({self.number(unit, sight, depth, bare=False)} + 0)"))
        return made
