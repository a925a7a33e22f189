"""Generates small whole models of a few hundred states, so that every engine searches them completely.

A model is made of *pieces*, each a small protocol with a feature that some engine once got wrong, and of random lines
(``tests/differential``), which may read and write the pieces' fields.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence

from tests.differential.bodies import Bodies, indented
from tests.differential.generate import GIVEN, Action, Method, Part, Writer
from tests.differential.vocabulary import (
    BOOL,
    ERA,
    GAP,
    GAP_BOUNDS,
    HEADER,
    ITEM,
    MODE,
    NODE,
    ROLE,
    TICK,
    Choices,
    Field,
    Helper,
    Words,
    is_optional,
    optional,
    some,
)
from tests.generated.names import colliding
from tests.generated.pieces import PIECES
from tests.generated.pieces_answers import ANSWERS
from tests.generated.pieces_keys import KEYED
from tests.generated.pieces_maps import MAPS
from tests.generated.pieces_pools import POOLS
from tests.generated.pieces_sequences import SEQUENCES
from tests.generated.setting import Piece, SequenceField, Setting

HEAD = HEADER + f"class {ROLE}(Sort): ...\nclass {ERA}(Nat): ...\n"

ROOM = 300
"""The approximate limit on the number of values of all cells together."""

CHOICES = 12
"""The most combinations of arguments of an action."""


class Small(Writer):
    """Writes one small model. ``pieces``: those to choose from."""

    def __init__(self, choices: Choices, pieces: Sequence[Piece] = PIECES) -> None:
        self.pieces = pieces
        sorts = (NODE, ITEM, ROLE)[: choices.weighted([(4, 1), (4, 2), (3, 3)])]
        nats = (TICK, ERA)[: choices.weighted([(3, 1), (2, 2)])]
        sizes = {sort: choices.weighted([(3, 1), (4, 2), (1, 3)]) for sort in sorts}
        bounds = {nat: choices.weighted([(2, 1), (3, 2), (1, 3)]) for nat in nats}
        Bodies.__init__(self, choices, bounds, Words(sorts, nats))
        self.sizes = {**sizes, **bounds}
        self.fields: list[Field] = []
        self.helpers: list[Helper] = []
        self.actions: list[Action] = []
        self.flags: tuple[str, ...] = ()
        self.budgets: dict[str, int] = {}
        self.given: dict[str, str] = {}
        self.room = ROOM
        self.records: list[str] = []
        self.parts: dict[str, tuple[str, ...]] = {}

    def source(self) -> str:
        """The text of the model's file."""
        parts = self.family()
        whole = parts[-1][2]
        wild = self.choices.weighted([(4, 0), (3, 1), (3, 2)])
        for number in range(self.choices.between(1, 2) if wild != 2 else 0):
            self.piece(self.choices.one(self.pieces), self.choices.one(parts)[2], number + 1)
        if wild:
            self.wild(self.choices.one(parts)[2], whole)
        self.override([part for _, _, part in parts])
        whole.scopes = [self.scope_of(mentioned([part for _, _, part in parts]) + "".join(self.records))]
        lines = [line for name, bases, part in parts for line in part.lines(name, bases)]
        text = HEAD + "".join(self.records) + "\n".join(lines) + "\n"
        return colliding(text, self.choices) if self.choices.chance(50) else text

    def family(self) -> list[tuple[str, str, Part]]:
        """The classes: one, one that extends another, or a diamond."""
        form = self.choices.weighted([(5, "one"), (3, "two"), (2, "diamond")])
        if form == "one":
            return [("Whole", "Model", Part())]
        if form == "two":
            return [("Root", "Model", Part()), ("Whole", "Root", Part())]
        bases = [("Root", "Model"), ("Left", "Root"), ("Right", "Root"), ("Whole", "Left, Right")]
        return [(name, base, Part()) for name, base in bases]

    # Pieces ---------------------------------------------------------------------------------------------------

    def piece(self, piece: Piece, part: Part, number: int) -> None:
        """Add a piece to a class."""
        setting = Setting(self.choices, self.words, self.sizes, number, self.label)
        piece(setting)
        self.records += setting.records
        self.parts |= setting.parts
        self.room = max(1, self.room // math.prod(self.cells(field) for field in (*setting.fields, *setting.sequences)))
        part.fields += [*setting.fields, *setting.sequences]
        lines = setting.start or ["pass"]
        part.methods[f"begin{number}"] = ["@init", f"def begin{number}(self) -> None:", *indented(lines)]
        part.methods |= setting.methods
        self.fields += setting.fields
        self.budgets |= setting.budgets
        self.given |= setting.given
        for name, params in setting.actions.items():
            self.actions.append(Action(name, params, setting.methods[name][0]))

    def cells(self, field: Field) -> int:
        """The number of values that all cells of a field together may take."""
        if isinstance(field, SequenceField):
            entries = self.codes(field.entry)
            return int(sum(entries**length for length in range(self.sizes[field.index] + 1)) ** self.keys(field))
        codes = self.codes(some(field.kind))
        return 1 if field.given else int((codes + is_optional(field.kind)) ** self.keys(field))

    def keys(self, field: Field) -> int:
        """The number of cells of a field."""
        return math.prod(map(self.codes, field.keys))

    def codes(self, kind: str) -> int:
        """The number of a type's values, without None."""
        if kind in self.parts:
            return math.prod(map(self.codes, self.parts[kind]))
        known = {BOOL: 2, MODE: 3, GAP: GAP_BOUNDS[1] - GAP_BOUNDS[0] + 1}.get(kind)
        return known or self.sizes[kind] + (kind in self.words.nats)

    # Written by chance ----------------------------------------------------------------------------------------

    def wild(self, part: Part, whole: Part) -> None:
        """Random fields, helpers, actions and properties."""
        own = Part()
        self.declare(own, first=False)
        self.flags = ("swift",) if self.choices.chance(15) else ()
        whole.flags = list(self.flags)
        if self.choices.chance(50):
            self.value_helper(own, f"value{len(self.helpers) + 1}", None)
        if self.choices.chance(30):
            self.procedure_helper(own, f"change{len(self.helpers) + 1}")
        for number in range(self.choices.between(1, 2)):
            self.write_action(own, f"act{number + 1}")
        if self.choices.chance(15):
            replaced = self.choices.one(self.actions)
            mark = f'@variant("{self.choices.one(("swift", "slow"))}", replaces="{replaced.name}")'
            whole.methods["instead"] = self.action("instead", replaced.params, mark)
        self.write_start(own, first=True)
        for number in range(self.choices.between(1, 3)):
            self.write_property(own, f"claim{number + 1}")
        part.fields += own.fields
        part.methods |= own.methods

    def declare(self, part: Part, *, first: bool) -> None:  # noqa: ARG002 - as the writer of larger models asks
        """A few fields, as far as there is room."""
        mine = [given for given in GIVEN if self.choices.chance(10) and self.knows(given)]
        for _ in range(self.choices.between(1, 3)):
            keys = tuple(
                self.choices.one(self.words.keys)
                for _ in range(self.choices.weighted([(4, 0), (5, 1), (2, 2), (1, 3)]))
            )
            kind = self.choices.one((*self.words.plain, *self.words.units))
            kind = optional(kind) if self.choices.chance(35) else kind
            form = self.choices.below(8)
            field = Field(f"f{len(mine)}", keys, kind, ghost=form > 6, constant=form == 5)
            if self.cells(field) <= self.room:
                self.room //= self.cells(field)
                mine.append(field)
        part.fields += mine
        self.fields += mine
        for field in mine:
            if field.given:
                self.given[field.name] = self.constant(field)

    def knows(self, field: Field) -> bool:
        """Whether the field's types are those of this model."""
        return {*field.keys, some(field.kind)} <= {*self.words.keys, *self.words.plain}

    def some_params(self, most: int) -> tuple[tuple[str, str], ...]:
        """Some parameters with few combinations; each name fixes a type."""
        known = {NODE: "nm", ITEM: "ij", ROLE: "r", TICK: "t", ERA: "e", GAP: "g", MODE: "k", BOOL: "p"}
        named = [(name, kind) for kind, names in known.items() for name in names if kind in self.words.plain]
        room, found = CHOICES, []
        for _ in range(self.choices.weighted([(1, 0), (3, 1), (4, 2), (1, most)])):
            name, kind = self.choices.one(named)
            codes = self.codes(kind)
            if codes <= room and (name, kind) not in found:
                room //= codes
                found.append((name, kind))
        return tuple(found)

    def write_action(self, part: Part, name: str) -> None:
        """An action, perhaps a fair one."""
        params = self.some_params(2)
        mark = self.choices.weighted([(5, "@action"), (1, '@action(idempotent="INV-15")'), (4, "")])
        if not mark:
            per = [f'"{param}"' for param, _ in params if self.choices.chance(60)]
            ending = f", per=({', '.join(per)},)" if per else ""
            mark = f'@action(fair="{self.choices.one(("weak", "strong"))}"{ending})'
        part.methods[name] = self.action(name, params, mark)
        self.actions.append(Action(name, params, mark))
        if self.choices.chance(15) and name in part.methods:
            self.budgets[name] = self.choices.below(3)

    def action(self, name: str, params: tuple[tuple[str, str], ...], mark: str) -> Method:
        """The lines of an action: a few."""
        block = self.body(self.within(self.sight(), params), 2)
        return self.method(self.signature(name, params, "None"), block.lines, mark, "An action.")

    # The whole ------------------------------------------------------------------------------------------------

    def override(self, parts: list[Part]) -> None:
        """A class may override a base's method, with or without a change; without its decorator it must be refused."""
        if len(parts) == 1 or not self.choices.chance(25):
            return
        base, child = parts[0], parts[-1]
        names = [
            name for name, lines in base.methods.items() if re.match(r"@(invariant|step|action|witness)", lines[0])
        ]
        if not names:
            return
        lines = list(base.methods[self.choices.one(names)])
        name = re.findall(r"def (\w+)", "\n".join(lines))[0]
        child.methods[name] = lines[1:] if self.choices.chance(25) else lines

    def scope_of(self, text: str) -> str:
        """The only scope, with sizes for the types that the model mentions."""
        sizes = ", ".join(f"{name}: {size}" for name, size in self.sizes.items() if re.search(rf"\b{name}\b", text))
        parts = [f"{{{sizes}}}"]
        budgets = ", ".join(f'"{name}": {number}' for name, number in self.budgets.items())
        given = ", ".join(f'"{name}": {value}' for name, value in self.given.items())
        parts += [f"budgets={{{budgets}}}"] if budgets else []
        parts += [f"given={{{given}}}"] if given else []
        return f"tiny = Scope({', '.join(parts)})"


def mentioned(parts: list[Part]) -> str:
    """The text of the fields, of all decorated methods, and of the helpers that they call."""
    methods = {
        name: "\n".join(lines[1:] if lines[0][0] == "@" else lines)
        for part in parts
        for name, lines in part.methods.items()
    }
    waiting = [name for part in parts for name, lines in part.methods.items() if lines[0][0] == "@"]
    fields = [field.declaration for part in parts for field in part.fields]
    for name in waiting:
        waiting += [
            called for called in re.findall(r"\.(\w+)\(", methods[name]) if called in methods and called not in waiting
        ]
    return re.sub(r'"""(?s:.*?)"""', "", "\n".join([*fields, *(methods[name] for name in waiting)]))


FROM = 1_000_000
"""The first seed whose model has computed keys."""

FROM_SEQUENCES = 2_000_000
"""The first seed whose model has sequences."""

FROM_MAPS = 3_000_000
"""The first seed whose model has parameters that are whole maps."""

FROM_POOLS = 4_000_000
"""The first seed whose model has pools."""

FROM_ANSWERS = 5_000_000
"""The first seed whose model has records with truth values."""


def model_of(seed: int) -> str:
    """The source of the model that a seed stands for; it has one scope, ``tiny``."""
    firsts = (
        (FROM_ANSWERS, ANSWERS),
        (FROM_POOLS, POOLS),
        (FROM_MAPS, MAPS),
        (FROM_SEQUENCES, SEQUENCES),
        (FROM, KEYED),
        (0, PIECES),
    )
    pieces = next(pieces for first, pieces in firsts if seed >= first)
    return Small(Choices(random.Random(seed)), pieces).source()
