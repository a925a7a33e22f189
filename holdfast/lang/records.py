"""Records as CPython executes them: values with named parts, such as the messages of a protocol."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any, Self, dataclass_transform, get_type_hints

from holdfast.ir.marks import MARK
from holdfast.lang.sorts import _Domain

OWN = ("__init__", "__new__", "__post_init__", "__eq__", "__hash__", "__getattribute__")
"""Methods that would give a record another meaning than that of its parts."""


@dataclass_transform(frozen_default=True)
class Record(metaclass=_Domain):
    """Values with named parts: ``class Vote(Record): ...`` with an annotation for each part, as in ``term: Term``.

    A part is a Sort, a Nat, an Int, an Enum or a bool; a record with an Int is no key. Equal parts make equal records.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = next((name for name in OWN if name in vars(cls)), None)
        if own is not None:  # the compiler compares parts, so Python has to do the same
            raise TypeError(f"the record {cls.__name__} defines {own}, and a record has parts only; delete the method")
        dataclasses.dataclass(frozen=True)(cls)

    @classmethod
    def elements(cls) -> list[Self]:
        """All records in the universe in force, the last part changing fastest."""
        kinds = ((False, True) if kind is bool else kind for kind in parts_of(cls).values())
        return [cls(*parts) for parts in itertools.product(*kinds)]


def parts_of(cls: type[Record]) -> dict[str, Any]:
    """The type of each part, in the order of the class."""
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}  # type: ignore[arg-type]


setattr(Record, MARK, "record")
