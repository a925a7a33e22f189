"""Generates bodies of the language as lines of source: of values, of actions and of initial conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import attrs

from tests.differential.expressions import NAMES, Condition, Expressions
from tests.differential.vocabulary import (
    Choices,
    Field,
    Helper,
    Sight,
    Words,
    annotation,
    computed,
    is_computed,
    is_optional,
    optional,
    some,
)


def indented(lines: Sequence[str]) -> list[str]:
    """The lines one level deeper."""
    return [f"    {line}" for line in lines]


@attrs.define
class Block:
    """The lines written so far, and the Sight for the lines after them."""

    sight: Sight
    lines: list[str] = attrs.field(factory=list)
    written: set[str] = attrs.field(factory=set)
    ended: bool = False
    """Whether the last line returns."""
    ends: bool = False
    """Whether some line may refuse, return or fill."""
    returns: bool = False

    def write(self, field: str) -> None:
        """Record a write: facts about the field no longer hold."""
        self.written.add(field)
        self.sight = self.sight.after({field})

    def take(self, inner: Block) -> None:
        """Record the possible effects of a nested block."""
        self.written |= inner.written
        self.ends |= inner.ends
        self.returns |= inner.returns
        self.sight = self.sight.after(inner.written)

    def burn(self, inner: Block) -> None:
        """Record a branch that may return: later lines are compiled after each branch, so its names hold values."""
        names = set(inner.sight.names) | inner.sight.burnt
        self.sight = attrs.evolve(self.sight, burnt=self.sight.burnt | names)


class Bodies(Expressions):
    """Writes bodies; ``labels`` counts the rules, since each rule has its own label."""

    def __init__(self, choices: Choices, bounds: Mapping[str, int], words: Words) -> None:
        super().__init__(choices, bounds, words)
        self.labels = 0
        plain = words.plain
        self.local_kinds = (*plain, *(optional(kind) for kind in plain), *(computed(unit) for unit in words.units))

    def label(self) -> str:
        """A new label, in quotes."""
        self.labels += 1
        return f'"GA-{self.labels:02}{self.choices.one(("", ".also", ".x_1"))}"'

    def fresh(self, sight: Sight) -> str | None:
        """A name that has no value here and on no path that leads here."""
        free = [name for name in NAMES if name not in sight.names and name not in sight.burnt]
        return self.choices.one(free) if free else None

    def test(self, sight: Sight, depth: int = 2) -> tuple[str, Condition, bool]:
        """The test of an ``if``: its text, the facts that it establishes, and whether it is a rule."""
        if not sight.ruled or not self.choices.chance(25):
            cond = self.condition(sight, depth)
            return cond.text, cond, False
        if self.choices.chance(25):
            return f"rule({self.label()})", Condition("True"), True
        cond = self.condition(sight, depth)
        # A rule that fails may have been removed, so its failure establishes nothing.
        return f"rule({self.label()}, {cond.text})", Condition(cond.text, cond.held), True

    # Values ---------------------------------------------------------------------------------------------------

    def value_body(self, kind: str, sight: Sight, size: int) -> list[str]:
        """Lines that return a value of the kind on every path."""
        lines: list[str] = []
        for _ in range(self.choices.below(size + 1)):
            form = self.choices.below(4)
            if form == 0 and (made := self.local(sight, annotated=50)):
                line, sight = made
                lines.append(line)
            elif form == 1:
                text, cond, _ = self.test(sight, 1)
                inner = sight.knowing(cond.held)
                made = self.local(inner, annotated=50)
                nested, _, _ = self.test(made[1] if made else inner, 1)
                lines += [f"if {text}:", *([f"    {made[0]}"] if made else []), f"    if {nested}:"]
                lines += [f"        return {self.returned(kind, made[1] if made else inner)}"]
                if made:
                    sight = attrs.evolve(sight, burnt=sight.burnt | set(made[1].names))
            elif form > 1:
                text, cond, _ = self.test(sight, 1)
                lines += [f"if {text}:", *indented(self.value_body(kind, sight.knowing(cond.held), size - 1))]
                sight = sight.knowing(cond.failed)
                if self.choices.chance(30):
                    text, cond, _ = self.test(sight, 1)
                    lines += [f"elif {text}:", *indented(self.value_body(kind, sight.knowing(cond.held), 0))]
                    sight = sight.knowing(cond.failed)
                if self.choices.chance(30):
                    return [*lines, "else:", *indented(self.value_body(kind, sight, size - 1))]
        return [*lines, f"return {self.returned(kind, sight)}"]

    def returned(self, kind: str, sight: Sight) -> str:
        """A ``return`` of a helper or a property."""
        if is_computed(kind):
            return self.argument(kind, sight, 1)
        return self.strict(kind, sight, 2)

    def local(self, sight: Sight, annotated: int = 30) -> tuple[str, Sight] | None:
        """A line that gives a value a name, and the Sight after it; None if all names are taken."""
        name = self.fresh(sight)
        kinds = [kind for kind in self.local_kinds if is_optional(kind) or self.reaches(kind, sight)]
        kind = self.choices.one(kinds)
        if name is None:
            return None
        ghost = sight.in_ghost or sight.ghosts
        if is_computed(kind):
            typed = self.choices.chance(annotated)
            text = self.number(annotation(kind), sight, 2, bare=not typed)
            return f"{name}: {annotation(kind)} = {text}" if typed else f"{name} = {text}", sight.bind(
                name, kind, ghost=ghost
            )
        if is_optional(kind) and (not self.reaches(kind, sight) or self.choices.chance(annotated)):
            return f"{name}: {kind} = {self.fitting(kind, sight)}", sight.bind(name, kind, ghost=ghost)
        text = self.value(kind, sight)
        typed = self.choices.chance(annotated)
        return f"{name}: {kind} = {text}" if typed else f"{name} = {text}", sight.bind(name, kind, ghost=ghost)

    # Statements -----------------------------------------------------------------------------------------------

    def body(self, sight: Sight, size: int, *, require: int = 60) -> Block:
        """The body of an action or a procedure: some rules, then up to ``size`` statements."""
        block = Block(sight)
        for _ in range(self.choices.between(0, 2) if self.choices.chance(require) else 0):
            self.require(block)
        self.statements(block, size)
        if not block.lines:
            block.lines.append("pass")
        return block

    def statements(self, block: Block, size: int) -> None:
        """Up to ``size`` more statements."""
        for _ in range(self.choices.between(1, size) if size else 0):
            if block.ended:
                return
            self.choices.weighted(self.forms(block, size))(block)

    def forms(self, block: Block, size: int) -> list[tuple[int, Callable[[Block], None]]]:
        """The statements that are allowed here."""
        sight = block.sight
        free = not sight.in_loop and not sight.in_ghost
        found: list[tuple[int, Callable[[Block], None]]] = [
            (10 if sight.writable else 0, self.assign),
            (2, self.name),
            (6 if size > 1 else 0, lambda block: self.branch(block, size - 1)),
            (3 if size > 1 and not sight.in_loop else 1, lambda block: self.loop(block, size - 1)),
            (2 if free else 0, self.require),
            (2 if not sight.in_loop and any(field.keys for field in sight.writable) else 0, self.fill),
            (1 if size > 1 and any(field.ghost for field in sight.writable) else 0, self.record),
        ]
        calls = [helper for helper in sight.helpers if helper.returns is None and self.may_call(helper, sight)]
        return [*found, (8 if calls else 0, lambda block: self.procedure(block, self.choices.one(calls)))]

    def require(self, block: Block) -> None:
        """A rule that may refuse."""
        cond = self.condition(block.sight)
        error = self.choices.one(("", ", error=E.LATE", ", error=E.FAR", ", E.FAR"))
        block.lines.append(f"require({cond.text}, {self.label()}{error})")
        block.ends = True

    def name(self, block: Block) -> None:
        """A local."""
        made = self.local(block.sight)
        if made:
            line, block.sight = made
            block.lines.append(line)

    def assign(self, block: Block) -> None:
        """A write of one cell."""
        field = self.choices.one(block.sight.writable)
        sight = attrs.evolve(block.sight, ghosts=block.sight.ghosts or field.ghost)
        if not self.may_read(field, sight):
            return
        target = self.cell("self", field, sight, depth=1 if self.choices.chance(20) else 0)
        augmented = some(field.kind) in self.words.units and not field.ghost and not sight.in_ghost
        if augmented and (not is_optional(field.kind) or target in sight.known) and self.choices.chance(50):
            if self.choices.chance(20):
                block.lines.append(f"{target} *= {self.choices.between(0, 2)}")
            else:
                block.lines.append(f"{target} {self.choices.one('+-')}= {self.number(some(field.kind), sight, 1)}")
        else:
            value = self.strict(field.kind, sight, 2) if field.ghost else self.assigned(field.kind, sight)
            block.lines.append(f"{target} = {value}")
        block.write(field.name)

    def assigned(self, kind: str, sight: Sight) -> str:
        """The value written to a cell: either a computed number that is more than a literal, or any fitting value."""
        if kind in self.words.units and self.choices.chance(40):
            return self.number(kind, sight, 2, bare=False)
        return self.fitting(kind, sight) if is_optional(kind) else self.value(kind, sight)

    def fill(self, block: Block) -> None:
        """A write of every cell."""
        field = self.choices.one([field for field in block.sight.writable if field.keys])
        sight = attrs.evolve(block.sight, ghosts=block.sight.ghosts or field.ghost)
        if is_optional(field.kind) or self.reaches(field.kind, sight):
            value = self.strict(field.kind, sight, 1) if field.ghost else self.assigned(field.kind, sight)
            block.lines.append(f"self.{field.name}.fill({value})")
            block.ends = True
            block.write(field.name)

    def record(self, block: Block) -> None:
        """A branch with a ghost as its condition, in which only ghosts change."""
        sight = attrs.evolve(block.sight, ghosts=True)
        text, cond, _ = self.test(sight, 1)
        ghosts = tuple(field for field in sight.writable if field.ghost)
        inner = Block(attrs.evolve(sight.knowing(cond.held), in_ghost=True, writable=ghosts))
        self.statements(inner, 2)
        block.lines += [f"if {text}:", *indented(inner.lines or ["pass"])]
        block.take(inner)
        if self.choices.chance(30):
            other = Block(attrs.evolve(sight.knowing(cond.failed), in_ghost=True, writable=ghosts))
            self.statements(other, 1)
            block.lines += ["else:", *indented(other.lines or ["pass"])]
            block.take(other)

    def branch(self, block: Block, size: int) -> None:
        """``if``, perhaps ``elif`` and ``else``. If all branches but one return, that one's facts hold afterwards."""
        base = block.sight
        failed = base
        arms: list[tuple[Sight, Block]] = []
        for word in ("if", "elif") if self.choices.chance(25) else ("if",):
            text, cond, _ = self.test(failed)
            block.lines.append(f"{word} {text}:")
            entry = failed.knowing(cond.held)
            arms.append((entry, self.arm(block, entry, size)))
            failed = failed.knowing(cond.failed)
        if self.choices.chance(40):
            block.lines.append("else:")
            arms.append((failed, self.arm(block, failed, size)))
        else:
            arms.append((failed, Block(failed)))
        for _, inner in arms:
            block.take(inner)
        if any(inner.returns for _, inner in arms):
            for _, inner in arms:
                block.burn(inner)
        alive = [(entry, inner) for entry, inner in arms if not inner.ended]
        block.ended = not alive
        if len(alive) == 1:
            [(entry, inner)] = alive
            block.sight = block.sight.knowing({t: k for t, k in inner.sight.known.items() if t in entry.known})

    def arm(self, block: Block, sight: Sight, size: int) -> Block:
        """One branch, its lines added to the block."""
        inner = Block(sight)
        self.statements(inner, size)
        may_return = not sight.in_loop and not sight.in_ghost and not inner.ended
        if may_return and self.choices.chance(25):
            inner.lines.append("return")
            inner.ended = inner.ends = inner.returns = True
        block.lines += indented(inner.lines or ["pass"])
        return inner

    def loop(self, block: Block, size: int) -> None:
        """A loop, which touches the fields that it writes only at cells of the loop's variable."""
        sight = block.sight
        name = self.fresh(sight)
        domain = self.choices.one(self.words.keys)
        free = [
            (field, place)
            for field in sight.writable
            for place, key in enumerate(field.keys)
            if key == domain and place not in sight.held.get(field.name, {})
        ]
        if name is None or not free:
            return
        chosen: dict[str, tuple[Field, int]] = {}
        for _ in range(self.choices.between(1, 2)):
            field, place = self.choices.one(free)
            chosen.setdefault(field.name, (field, place))
        inside = attrs.evolve(
            sight.after(set(chosen)).bind(name, domain, ghost=sight.in_ghost),
            in_loop=True,
            writable=tuple(field for field, _ in chosen.values()),
            held={
                **sight.held,
                **{f.name: {**sight.held.get(f.name, {}), place: name} for f, place in chosen.values()},
            },
        )
        inner = Block(inside)
        if self.choices.chance(40):
            self.name(inner)
        self.statements(inner, max(size, 1))
        self.assign(inner)
        if not inner.lines:
            return
        block.lines += [f"for {name} in {domain}:", *indented(inner.lines)]
        block.take(inner)

    # Procedures -----------------------------------------------------------------------------------------------

    def may_call(self, helper: Helper, sight: Sight) -> bool:
        """Whether a procedure may be called here."""
        if helper.ends and (sight.in_loop or sight.in_ghost):
            return False
        return helper.writes <= {field.name for field in sight.writable} and self.callable(helper, sight)

    def procedure(self, block: Block, helper: Helper) -> None:
        """A call of a procedure."""
        block.lines.append(self.call("self", helper, block.sight, 1))
        block.ends |= helper.ends
        for field in sorted(helper.writes):
            block.write(field)

    # Initial conditions ---------------------------------------------------------------------------------------

    def covering(self, field: Field, sight: Sight) -> list[str]:
        """Lines that set every cell of a field and may read the fields set before."""
        sight = attrs.evolve(sight, ghosts=field.ghost)
        if not field.keys:
            return [f"self.{field.name} = {self.strict(field.kind, sight, 1)}"]
        if self.choices.chance(50) and (is_optional(field.kind) or self.reaches(field.kind, sight)):
            return [f"self.{field.name}.fill({self.strict(field.kind, sight, 1)})"]
        variables: list[str] = []
        for position, key in enumerate(field.keys):
            variables.append(f"{'xyz'[position]}")
            sight = sight.bind(variables[-1], key, ghost=field.ghost)
        target = f"self.{field.name}[{', '.join(variables)}]"
        lines = [f"{target} = {self.strict(field.kind, sight, 1)}"]
        if self.choices.chance(25):
            text, cond, _ = self.test(sight, 1)
            then = self.strict(field.kind, sight.knowing(cond.held), 1)
            orelse = self.strict(field.kind, sight.knowing(cond.failed), 1)
            lines = [f"if {text}:", f"    {target} = {then}", "else:", f"    {target} = {orelse}"]
        for variable, key in reversed(list(zip(variables, field.keys, strict=True))):
            lines = [f"for {variable} in {key}:", *indented(lines)]
        return lines


def needs(fields: Sequence[Field], sorts: Sequence[str]) -> list[str]:
    """The Sorts whose elements an initial condition needs, since a field holds an element and never None."""
    return [sort for sort in sorts if any(field.kind == sort for field in fields)]
