"""The names that a piece of a generated model may use, and what it writes: fields, actions and properties."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import attrs

from tests.differential.bodies import indented
from tests.differential.vocabulary import Choices, Field, Words, annotation

Params = tuple[tuple[str, str], ...]


@attrs.frozen(kw_only=True)
class SequenceField(Field):
    """A sequence, or one for each key."""

    entry: str
    index: str


class BagField(Field):
    """A bag: a map from a key to the number of its copies."""

    @property
    def declaration(self) -> str:
        """The field as its class declares it."""
        return f"{self.name}: Bag[{self.keys[0]}, {self.kind}]"


class PoolField(Field):
    """A pool: a relation with one key and a bound on its members. ``kind`` is the Nat with the bound."""

    @property
    def declaration(self) -> str:
        """The field as its class declares it."""
        return f"{self.name}: Pool[{self.keys[0]}, {self.kind}]"


@attrs.define
class Setting:
    """The names that a piece may use, and its output. The piece's number is part of every name."""

    choices: Choices
    words: Words
    sizes: dict[str, int]
    number: int
    label: Callable[[], str]
    fields: list[Field] = attrs.field(factory=list)
    sequences: list[Field] = attrs.field(factory=list)
    """Fields that only the piece uses: random lines take no sequence for a value, and no record for a key."""
    records: list[str] = attrs.field(factory=list)
    """The text of the classes of records."""
    start: list[str] = attrs.field(factory=list)
    methods: dict[str, list[str]] = attrs.field(factory=dict)
    actions: dict[str, Params] = attrs.field(factory=dict)
    parts: dict[str, tuple[str, ...]] = attrs.field(factory=dict)
    """The types of the parts of each record."""
    budgets: dict[str, int] = attrs.field(factory=dict)
    given: dict[str, str] = attrs.field(factory=dict)

    def one(self, *options: str) -> str:
        """One of the options."""
        return self.choices.one(options)

    def sort(self) -> str:
        """Some Sort."""
        return self.choices.one(self.words.sorts)

    def nat(self) -> str:
        """Some Nat."""
        return self.choices.one(self.words.nats)

    def record(self, name: str, parts: Mapping[str, str]) -> str:
        """A class of records, whose parts have these types; returns its name."""
        mine = f"{name}{self.number}"
        self.records.append(
            f"class {mine}(Record):\n" + "".join(f"    {part}: {kind}\n" for part, kind in parts.items())
        )
        self.parts[mine] = tuple(parts.values())
        return mine

    def field(
        self, name: str, keys: Sequence[str], kind: str, start: str, *, ghost: bool = False, of_records: bool = False
    ) -> str:
        """A field with the same initial value in every cell; returns its name with ``self``."""
        mine = f"{name}{self.number}"
        (self.sequences if of_records else self.fields).append(Field(mine, tuple(keys), kind, ghost=ghost))
        self.start.append(f"self.{mine}.fill({start})" if keys else f"self.{mine} = {start}")
        return f"self.{mine}"

    def sequence(self, name: str, keys: Sequence[str], entry: str, index: str) -> str:
        """A field of empty sequences; returns its name with ``self``."""
        mine = f"{name}{self.number}"
        self.sequences.append(SequenceField(mine, tuple(keys), f"Seq[{entry}, {index}]", entry=entry, index=index))
        self.start.append(f"self.{mine}.clear()")
        return f"self.{mine}"

    def bag(self, name: str, key: str, copies: str) -> str:
        """A field that is an empty bag; returns its name with ``self``."""
        mine = f"{name}{self.number}"
        self.sequences.append(BagField(mine, (key,), copies))
        self.start.append(f"self.{mine}.clear()")
        return f"self.{mine}"

    def pool(self, name: str, key: str, most: str) -> str:
        """A field that is an empty pool; returns its name with ``self``."""
        mine = f"{name}{self.number}"
        self.sequences.append(PoolField(mine, (key,), most))
        self.start.append(f"self.{mine}.fill(False)")
        return f"self.{mine}"

    def helper(self, name: str, params: Params, returns: str, body: Sequence[str]) -> str:
        """A helper; returns its name with ``self``."""
        mine = f"{name}{self.number}"
        self.methods[mine] = [_head(mine, params, returns), *indented(body)]
        return f"self.{mine}"

    def action(
        self, name: str, params: Params, body: Sequence[str], mark: str = "@action", *, exact: bool = False
    ) -> str:
        """An action; returns its name, which ends with the piece's number unless ``exact``."""
        mine = name if exact else f"{name}{self.number}"
        self.methods[mine] = [mark, _head(mine, params, "None"), *indented(['"""An action."""', *body])]
        self.actions[mine] = params
        return mine

    def claim(
        self,
        kind: str,
        name: str,
        body: Sequence[str] | str,
        params: Params = (),
        returns: str = "bool",
        *,
        exact: bool = False,
    ) -> None:
        """A property."""
        mine = name if exact else f"{name}{self.number}"
        old = (("old", "Self"),) if kind.startswith("step") else ()
        lines = [f"return {body}"] if isinstance(body, str) else body
        doc = f'"""GB-{self.choices.between(10, 99)}. A claim."""'
        self.methods[mine] = [f"@{kind}", _head(mine, (*old, *params), returns), *indented([doc, *lines])]

    def require(self, cond: str) -> str:
        """A rule."""
        return f"require({cond}, {self.label()})"


Piece = Callable[[Setting], None]


def _head(name: str, params: Params, returns: str) -> str:
    words = ["self", *(f"{param}: {annotation(kind)}" for param, kind in params)]
    return f"def {name}({', '.join(words)}) -> {returns}:"
