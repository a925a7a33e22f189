"""Generates whole models of the language as source text."""

from __future__ import annotations

import random

import attrs
from hypothesis import strategies as st

from holdfast.ir.system import LIVENESS
from tests.differential.bodies import Bodies, indented, needs
from tests.differential.vocabulary import (
    BOOL,
    GAP,
    HEADER,
    ITEM,
    MODE,
    NODE,
    ROLE,
    TICK,
    Choices,
    Field,
    Helper,
    Local,
    Sight,
    Words,
    annotation,
    computed,
    is_optional,
    optional,
    some,
)

PARAMS = {"n": NODE, "m": NODE, "i": ITEM, "j": ITEM, "t": TICK, "g": GAP, "k": MODE, "p": BOOL}
"""The names of parameters. Locals have other names, and comprehensions may hide either."""

START = {"n": NODE, "i": ITEM, "r": ROLE}
"""The names of an initial condition's choices."""

GIVEN = (
    Field("home", (ITEM,), NODE, given=True),
    Field("limit", (), TICK, given=True),
    Field("fond", (MODE,), optional(NODE), given=True),
    Field("odd", (ITEM,), BOOL, given=True),
)

FIRST = Field("last", (NODE, ITEM), optional(TICK))
"""Every model has this field, so that it uses all types of its scope."""

Method = list[str]


@attrs.define
class Part:
    """A class of a model: its fields and methods."""

    fields: list[Field] = attrs.field(factory=list)
    flags: list[str] = attrs.field(factory=list)
    scopes: list[str] = attrs.field(factory=list)
    methods: dict[str, Method] = attrs.field(factory=dict)

    def lines(self, name: str, bases: str) -> list[str]:
        """The class."""
        found = [f'"""{name}."""', *(field.declaration for field in self.fields)]
        found += [f"{flag}: Flag" for flag in self.flags]
        found += self.scopes
        for method in self.methods.values():
            found += method
        return [f"class {name}({bases}):", *indented(found)]


@attrs.frozen
class Action:
    """An action with the facts that properties and other actions need."""

    name: str
    params: tuple[tuple[str, str], ...]
    mark: str
    """Its decorator, which an overriding action repeats."""


class Writer(Bodies):
    """Writes one model, from the fields down to the properties."""

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices, {TICK: choices.between(1, 2)}, Words())
        self.sizes = {NODE: 3 - choices.below(3), ITEM: 2 - choices.below(2), **self.bounds}
        self.fields: list[Field] = []
        self.helpers: list[Helper] = []
        self.actions: list[Action] = []
        self.flags: tuple[str, ...] = ()

    def source(self) -> str:
        """The text of the model's file."""
        base, whole = Part(), Part()
        extends = self.choices.chance(40)
        self.declare(base if extends else whole, first=True)
        if extends:
            self.declare(whole, first=False)
        parts = [base, whole] if extends else [whole]
        self.flags = ("swift",) if self.choices.chance(40) else ()
        whole.flags = list(self.flags)
        every = self.fields
        self.fields = []
        for part in parts:
            self.fields += [field for field in every if field in part.fields]
            self.write_helpers(part, whole if part is base else None)
        self.fields = every
        # A part declares only its own fields, but CPython finds the child's too, so its actions may use them.
        for number in range(self.choices.between(2, 3)):
            self.write_action(self.choices.one(parts), f"act{number + 1}")
        if extends and self.choices.chance(40):
            overridden = self.choices.one(self.actions)
            whole.methods[overridden.name] = self.action(overridden.name, overridden.params, overridden.mark)
        if self.choices.chance(40):
            replaced = self.choices.one(self.actions)
            mark = f'@variant("{self.choices.one(("swift", "slow"))}", replaces="{replaced.name}")'
            whole.methods["instead"] = self.action("instead", replaced.params, mark)
        for part in parts:
            self.write_start(part, first=part is parts[0])
        for number in range(self.choices.between(2, 4)):
            part = self.choices.one(parts)
            self.write_property(part, f"claim{number + 1}")
        whole.scopes = [self.scope()]
        lines = base.lines("Part", "Model") if extends else []
        return HEADER + "\n".join([*lines, *whole.lines("Whole", "Part" if extends else "Model")]) + "\n"

    # Fields and scope -----------------------------------------------------------------------------------------

    def declare(self, part: Part, *, first: bool) -> None:
        """The fields of a class."""
        if first:
            part.fields.append(FIRST)
            part.fields += [given for given in GIVEN if self.choices.chance(25)]
        for _ in range(self.choices.between(2, 5)):
            number = len(self.fields) + len(part.fields)
            number_of_keys = self.choices.weighted([(2, 0), (5, 1), (3, 2)])
            keys = tuple(self.choices.one(self.words.keys) for _ in range(number_of_keys))
            kind = self.choices.one((*self.words.plain, *self.words.units))
            kind = optional(kind) if self.choices.chance(35) else kind
            form = self.choices.below(8)
            part.fields.append(Field(f"f{number}", keys, kind, ghost=form > 5, constant=form == 5))
        self.fields += part.fields

    def scope(self) -> str:
        """The one scope, small enough to try every argument."""
        sizes = ", ".join(f"{name}: {size}" for name, size in self.sizes.items())
        budgets = [f'"{act.name}": {self.choices.below(3)}' for act in self.actions if self.choices.chance(20)]
        given = [f'"{field.name}": {self.constant(field)}' for field in self.fields if field.given]
        parts = [f"{{{sizes}}}"]
        parts += [f"budgets={{{', '.join(budgets)}}}"] if budgets else []
        parts += [f"given={{{', '.join(given)}}}"] if given else []
        return f"tiny = Scope({', '.join(parts)})"

    def constant(self, field: Field) -> str:
        """The values of a given constant, in the order of its keys."""

        def value() -> str:
            if is_optional(field.kind) and self.choices.chance(50):
                return "None"
            if field.kind == BOOL:
                return self.literal(BOOL)
            return str(self.choices.below(self.sizes[some(field.kind)] + (field.kind in self.words.nats)))

        cells = 1
        for key in field.keys:
            cells *= self.sizes.get(key, 3)
        return f"({', '.join(value() for _ in range(cells))},)" if field.keys else value()

    # Methods --------------------------------------------------------------------------------------------------

    def sight(self, *, ghosts: bool = False, ruled: bool = True) -> Sight:
        """The Sight of a method's body."""
        fields = tuple(self.fields)
        writable = tuple(field for field in fields if not field.given and not field.constant)
        return Sight(fields, tuple(self.helpers), self.flags, writable=writable, ghosts=ghosts, ruled=ruled)

    def some_params(self, most: int) -> tuple[tuple[str, str], ...]:
        """Up to N parameters, one for each name."""
        names = list(PARAMS)
        number = self.choices.weighted([(1, 0), (3, 1), (5, 2), (3, most)])
        chosen = {self.choices.one(names) for _ in range(number)}
        return tuple((name, PARAMS[name]) for name in names if name in chosen)

    def method(self, head: str, body: list[str], mark: str = "", doc: str = "") -> Method:
        """The lines of a method."""
        lines = [*([f'"""{doc}"""'] if doc else []), *body]
        return [*([mark] if mark else []), f"def {head}:", *indented(lines)]

    def signature(self, name: str, params: tuple[tuple[str, str], ...], returns: str, old: bool = False) -> str:
        """The head of a method."""
        words = ["self", *(["old: Self"] if old else []), *(f"{param}: {annotation(kind)}" for param, kind in params)]
        return f"{name}({', '.join(words)}) -> {returns}"

    def write_helpers(self, part: Part, child: Part | None) -> None:
        """Helpers that compute, some of which the child overrides, and helpers that write."""
        for _ in range(self.choices.between(1, 2)):
            self.value_helper(part, f"value{len(self.helpers) + 1}", child if self.choices.chance(40) else None)
        for _ in range(self.choices.between(1, 2)):
            self.procedure_helper(part, f"change{len(self.helpers) + 1}")

    def helper_params(self) -> tuple[tuple[str, str], ...]:
        """Parameters of a helper: Optionals and computed numbers are possible too."""
        params = []
        for name, kind in self.some_params(2):
            wider = computed(kind) if kind in self.words.units else optional(kind)
            params.append((name, wider if self.choices.chance(25) else kind))
        return tuple(params)

    def within(self, sight: Sight, params: tuple[tuple[str, str], ...], *, ghost: bool = False) -> Sight:
        """The Sight of a helper's body."""
        names = {name: Local(kind, ghost) for name, kind in params}
        return attrs.evolve(sight, names=names, params=frozenset(names))

    def value_helper(self, part: Part, name: str, child: Part | None) -> None:
        """A helper that computes a value; its callers must work with the child's version too."""
        params, ghost, ruled = self.helper_params(), self.choices.chance(25), self.choices.chance(40)
        sight = self.within(self.sight(ghosts=ghost, ruled=ruled), params)
        words = self.words
        kinds = [*words.plain, *map(optional, words.sorts)]
        kinds = [kind for kind in kinds if is_optional(kind) or self.reaches(kind, sight)]
        kinds += [*map(optional, words.nats), *map(computed, (*words.units, ""))]
        kind = self.choices.one([*4 * [BOOL], *kinds])
        before = len(self.touched)
        for owner in (part, child):
            if owner is not None:
                head = self.signature(name, params, annotation(kind))
                owner.methods[name] = self.method(head, self.value_body(kind, sight, 2))
        self.helpers.append(Helper(name, params, kind, self.touches_since(before), ghost=ghost, ruled=ruled))

    def procedure_helper(self, part: Part, name: str) -> None:
        """A helper that writes."""
        params = self.helper_params()
        before = len(self.touched)
        block = self.body(self.within(self.sight(), params), 2, require=30)
        for _ in range(2 if block.sight.writable and not block.ended else 0):
            # A late use of a parameter, perhaps after a write to the argument's cell.
            self.assign(block)
        part.methods[name] = self.method(self.signature(name, params, "None"), block.lines)
        written = frozenset(block.written)
        self.helpers.append(Helper(name, params, None, self.touches_since(before), written, ends=block.ends))

    def write_action(self, part: Part, name: str) -> None:
        """An action."""
        params = self.some_params(3)
        mark = self.choices.one(("@action", "@action", '@action(idempotent="INV-15")'))
        part.methods[name] = self.action(name, params, mark)
        self.actions.append(Action(name, params, mark))

    def action(self, name: str, params: tuple[tuple[str, str], ...], mark: str) -> Method:
        """The lines of an action."""
        block = self.body(self.within(self.sight(), params), 4)
        return self.method(self.signature(name, params, "None"), block.lines, mark, "An action.")

    def write_start(self, part: Part, *, first: bool) -> None:
        """The initial condition of a class: it sets its fields in their order, then does a little more."""
        mine = [field for field in part.fields if not field.given]
        words = {name: kind for name, kind in START.items() if kind in self.words.sorts}
        wanted = needs(mine, self.words.sorts)
        params = tuple((name, kind) for name, kind in words.items() if kind in wanted or self.choices.chance(15))
        covered = [field for field in self.fields if field.given or (not first and field not in mine)]
        lines: list[str] = []
        sight = self.within(self.sight(), params)
        for field in mine:
            lines += self.covering(field, attrs.evolve(sight, fields=tuple(covered), writable=()))
            covered.append(field)
        if self.choices.chance(30):
            known = tuple(field for field in self.fields if field in covered)
            writable = tuple(field for field in known if not field.given)
            lines += self.body(attrs.evolve(sight, fields=known, writable=writable), 2, require=20).lines
        name = "begin" if first else "begin_whole"
        part.methods[name] = self.method(self.signature(name, params, "None"), lines, "@init", "The start.")

    # Properties -----------------------------------------------------------------------------------------------

    def write_property(self, part: Part, name: str) -> None:
        """A property of any kind."""
        kind = self.choices.one(("invariant", "step", "step", "of", "live", "witness", "lemma", "assume", "final"))
        if kind == "live":
            kind = self.choices.one(LIVENESS)
        sight = self.sight(ghosts=True, ruled=False)
        params: tuple[tuple[str, str], ...] = ()
        mark, old = f"@{kind}", kind in ("step", "of")
        if kind == "of":
            act = self.choices.one(self.actions)
            mark = f'@step(of="{act.name}")'
            params = tuple(param for param in act.params if self.choices.chance(70))
        elif kind in LIVENESS:
            params = self.some_params(2)
        elif kind == "assume":
            sight = attrs.evolve(sight, fields=tuple(f for f in self.fields if f.given or f.constant))
        sight = self.within(attrs.evolve(sight, receivers=("self", "old") if old else ("self",)), params)
        if kind == "leads_to":
            premise, goal = self.condition(sight), self.condition(sight)
            body, returns = [f"return {premise.text}, {goal.text}"], "tuple[bool, bool]"
        else:
            body, returns = self.value_body(BOOL, sight, 2), "bool"
        part.methods[name] = self.method(self.signature(name, params, returns, old), body, mark, "GA-99. A claim.")


def model_of(seed: int) -> str:
    """The source of the model that a seed stands for; it has one scope, ``tiny``."""
    return Writer(Choices(random.Random(seed))).source()


def models() -> st.SearchStrategy[str]:
    """Sources of models.

    A model takes some thousand choices, and Hypothesis would vary only a few at a time, so one seed draws them all. A
    failing model is reduced as text: see ``running.reduced``.
    """
    return st.integers(0, 2**32 - 1).map(model_of)
