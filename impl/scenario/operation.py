"""The operations of the language, and the types of arguments and results that many operations share."""

from __future__ import annotations

import msgspec

from impl.records import KINDS
from impl.scenario.types import (
    Bool,
    Integer,
    ListOf,
    MapOf,
    OneOf,
    String,
    Struct,
    StructField,
    Type,
    UnorderedList,
    may,
    need,
)


class ScenarioOperation(msgspec.Struct, frozen=True):
    """An operation of the language.

    ``about``: a sentence for the reference page. ``variants`` and ``variant_results``: by value of the argument
    ``selector``, further arguments and results.
    """

    name: str
    about: str
    arguments: dict[str, StructField]
    results: dict[str, Type]
    variants: dict[str, dict[str, StructField]] = {}
    variant_results: dict[str, dict[str, Type]] = {}
    selector: str = "record"

    @property
    def all_arguments(self) -> dict[str, StructField]:
        """The arguments, including those of all variants."""
        extra = {name: field for each in self.variants.values() for name, field in each.items()}
        return extra | self.arguments


INT = Integer()
BOOL = Bool()
TEXT = String()
COUNT = Integer(low=0)
EPOCH = Integer()
BROKERS = UnorderedList(INT)
STATES = ("OPENED", "CLOSED")
STATE = OneOf(STATES, "state")
OBJECT_STATES = ("PREPARED", "COMMITTED", "MARK_DESTROYED")
BROKER_STATES = ("active", "fenced", "shutting_down", "gone")
RUNTIME_STATES = ("UNKNOWN", "CONTROLLED_SHUTDOWN", "FENCED", "ACTIVE")
CHANGED = ("leader", "isr", "replicas", "adding", "removing", "recovery")
RECOVERY = OneOf(("RECOVERED", "RECOVERING"), "recovery state")

RECORD_KINDS = tuple(
    dict.fromkeys([*(kind.KIND for kind in KINDS if isinstance(kind.KIND, str)), "PREP", "OBJ+", "OBJX", "EPOCHS"])
)
RECORDS = ListOf(OneOf(RECORD_KINDS, "kind of record"))
CHANGES = MapOf(UnorderedList(OneOf(CHANGED, "field")), whole=True)

MUTATES: dict[str, Type] = {"error": TEXT, "records": RECORDS}
"""The results of every operation that writes stream metadata."""

ASSIGNS: dict[str, Type] = {"error": TEXT, "records": RECORDS, "changes": CHANGES}
"""The results of every operation that writes partitions."""

NODE = {"node": need(INT), "node_epoch": need(EPOCH)}


def struct(**fields: Type) -> Struct:
    """A map of results. Every field may be left out."""
    return Struct({name: may(each) for name, each in fields.items()})


def given(required: dict[str, Type], **optional: Type) -> Struct:
    """A map of arguments. An optional argument is 0 by default."""
    return Struct(
        {name: need(each) for name, each in required.items()} | {name: may(each, 0) for name, each in optional.items()}
    )
