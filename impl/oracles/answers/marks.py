"""The marks of objects that are to be destroyed (OB-03)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from impl.metadata.image import Image, StoredObject
from impl.oracles.answers.checks import differs
from impl.records import ObjectState

DEEP = 1 << 18
"""The attribute of an object whose links are deleted too. The facts name no bit; this one is of the metadata."""


def marks_fail(image: Image, objects: Iterable[int]) -> bool:
    """Whether a request that marks these objects fails: any of them is missing, or marked already."""
    rows = [image.objects.get(each) for each in objects]
    return any(row is None or row.state is ObjectState.MARK_DESTROYED for row in rows)


def wrong_marks(after: Image, before: Mapping[int, StoredObject], how: Mapping[int, str]) -> Iterator[str]:
    """The objects that are not as they have to be after their mark. ``how``: DELETE, DEEP_DELETE or KEEP_DATA."""
    for number, row in before.items():
        found = after.objects.get(number)
        if how[number] == "KEEP_DATA":
            yield from differs(f"the metadata of object {number}, whose data is kept", found, None)
            continue
        attributes = row.attributes | DEEP if how[number] == "DEEP_DELETE" else row.attributes
        wanted = ObjectState.MARK_DESTROYED.name, attributes
        yield from differs(f"object {number}", None if found is None else (found.state.name, found.attributes), wanted)
