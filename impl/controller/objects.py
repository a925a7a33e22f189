"""Objects of the object store: preparation, commit, destruction, and the clock that ends their life (streams.md 4)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from itertools import islice, zip_longest

from impl.controller.view import OperationResult, View
from impl.errors import E
from impl.metadata.image import Image, StoredObject
from impl.records import AssignedS3ObjectId, MetadataRecord, ObjectState, RemoveS3Object, S3Object
from impl.rules import require, rule

NOOP = -1
"""The object id that stands for no object (streams.md 1)."""
DEEP_DELETE = 1 << 18
"""The attribute of a marked object whose linked objects are deleted too (OB-03). The bit is our choice."""
ROUND = 2000
"""The most objects that one check expires, and the most that it deletes (OB-04, OB-05)."""
CALL = 1000
"""The most objects that one delete call names (OB-05)."""


class InputTreatment(IntEnum):
    """The treatment of the input of a compaction (OB-03)."""

    DELETE = 0
    DEEP_DELETE = 1
    KEEP_DATA = 2


def prepare(view: View, count: int, ttl_ms: int) -> OperationResult:
    """OB-01. Prepare ``count`` objects, which expire after ``ttl_ms`` unless they are committed."""
    first = view.image.ids["object"] + 1
    ids = range(first, first + count)
    objects = (S3Object(each, 0, ObjectState.PREPARED, view.now + ttl_ms) for each in ids)
    return OperationResult((AssignedS3ObjectId(first + count - 1), *objects), values={"first": first})


def commit_object(view: View, object_id: int, size: int, attributes: int) -> list[MetadataRecord]:
    """OB-02. The record that commits a prepared object; no record for the id -1.

    A repeated commit is refused with REDUNDANT_OPERATION. A caller for which it is a success catches that.
    """
    if rule("OB-02.noop", object_id == NOOP):
        return []
    stored = view.image.objects.get(object_id, StoredObject(0, ObjectState.PREPARED, 0))
    require(object_id in view.image.objects, "OB-02.missing", E.OBJECT_NOT_EXIST)
    require(stored.state is not ObjectState.COMMITTED, "OB-02.redundant", E.REDUNDANT_OPERATION)
    alive = stored.state in (ObjectState.PREPARED, ObjectState.COMMITTED)
    require(alive, "OB-02.destroyed", E.OBJECT_NOT_EXIST)  # G-22
    return [S3Object(object_id, size, ObjectState.COMMITTED, view.now, attributes)]


def replace_attributes(view: View, object_id: int, size: int, attributes: int) -> OperationResult:
    """OB-06. Change only the attributes of a committed object.

    As built, the size of the request becomes the timestamp (AM-07).
    """
    stored = view.image.objects.get(object_id, StoredObject(0, ObjectState.UNINITIALIZED, 0))
    require(object_id in view.image.objects, "OB-06.missing", E.OBJECT_NOT_EXIST)
    require(stored.state is ObjectState.COMMITTED, "OB-06.state", E.OBJECT_NOT_COMMITED)
    timestamp = size if "AM-07" in view.profile.as_built else stored.timestamp
    return OperationResult((S3Object(object_id, stored.size, ObjectState.COMMITTED, timestamp, attributes),))


def mark_destroyed(
    view: View, ids: Sequence[int], operations: Sequence[InputTreatment] = ()
) -> list[MetadataRecord] | None:
    """OB-03. The records that mark objects as destroyed, one for each id; None if any id is missing or marked already.

    A prepared object may be marked. ``operations``: by the position of the id; ids without an operation get DELETE.
    """
    stored = [view.image.objects.get(each) for each in ids]
    if rule("OB-03.missing", None in stored):
        return None
    if rule("OB-03.marked", any(each and each.state is ObjectState.MARK_DESTROYED for each in stored)):  # G-54
        return None
    pairs = zip_longest(ids, operations[: len(ids)], fillvalue=InputTreatment.DELETE)
    return [_destruction(view, each, InputTreatment(operation)) for each, operation in pairs]


def _destruction(view: View, object_id: int, operation: InputTreatment) -> MetadataRecord:
    """The record that marks an object, or the one that forgets an object whose data another one keeps."""
    if rule("OB-03.keep", operation is InputTreatment.KEEP_DATA):
        return RemoveS3Object(object_id)
    stored = view.image.objects.get(object_id, StoredObject(0, ObjectState.UNINITIALIZED, 0))
    deep = rule("OB-03.deep", operation is InputTreatment.DEEP_DELETE)
    attributes = stored.attributes | DEEP_DELETE if deep else stored.attributes
    return S3Object(object_id, stored.size, ObjectState.MARK_DESTROYED, view.now, attributes)


class ObjectClock:
    """The lifecycle check of one controller (OB-04, OB-05). Its state is memory, which a successor does not have.

    Marked objects wait in two generations. After each retention period the check deletes the old generation, and the
    young one becomes the old one. The check finds marked objects in the image. So an object that was marked between two
    checks joins the young generation at the second check, before a swap. ``start``: when the controller started.
    """

    def __init__(self, start: int = 0) -> None:
        self.forget(start)

    def forget(self, now: int | None = None) -> None:
        """Begin anew, since another controller takes over at ``now``; None: at its first check."""
        self._old: dict[int, None] = {}
        self._young: dict[int, None] = {}
        self._in_flight: tuple[int, ...] = ()
        self._swapped = now

    def check(self, view: View, *, hold_deletes: bool = False) -> OperationResult:
        """Run one check: mark expired objects, and delete the old generation from the store.

        The answer holds ``deletes``, the number of objects in each delete call. The calls end within the check. With
        ``hold_deletes`` they stay in flight until ``end``, or until the next check without ``hold_deletes`` begins; in
        the meantime checks do nothing.
        """
        if hold_deletes and rule("OB-05.in_flight", bool(self._in_flight)):
            return OperationResult(values={"deletes": []})
        records = self._end_deletion(view.image)
        expired = self._expire(view)
        gone = {record.object_id for record in records}  # The image still has them: no record is applied yet.
        doomed = self._next_round(view, gone)
        self._young.update(dict.fromkeys(record.object_id for record in expired))
        self._in_flight = doomed
        ended = [] if hold_deletes else self._end_deletion(view.image)
        calls = [len(doomed[at : at + CALL]) for at in range(0, len(doomed), CALL)]
        return OperationResult((*records, *expired, *ended), values={"deletes": calls})

    def end(self, view: View, deleted: tuple[int, ...]) -> OperationResult:
        """Remove the ``deleted`` objects from the metadata. A round that another controller began is ignored."""
        done = deleted == self._in_flight
        return OperationResult(tuple(self._end_deletion(view.image)) if done else ())

    @property
    def in_flight(self) -> tuple[int, ...]:
        """The objects that are being deleted from the store."""
        return self._in_flight

    def _end_deletion(self, image: Image) -> list[RemoveS3Object]:
        """End the deletion in flight: the records that remove its objects from the metadata."""
        gone, self._in_flight = self._in_flight, ()
        return [RemoveS3Object(each) for each in gone if each in image.objects]

    def _expire(self, view: View) -> list[S3Object]:
        """OB-04. Mark prepared objects whose deadline has passed."""
        due = (
            S3Object(each, stored.size, ObjectState.MARK_DESTROYED, view.now, stored.attributes)
            for each, stored in view.image.objects.items()
            if stored.state is ObjectState.PREPARED and rule("OB-04", view.now > stored.timestamp)
        )
        return list(islice(due, ROUND))

    def _next_round(self, view: View, gone: set[int]) -> tuple[int, ...]:
        """OB-05. The marked objects to delete now; the generations swap unless the old one needs another round."""
        marked = {each for each, stored in view.image.objects.items() if stored.state is ObjectState.MARK_DESTROYED}
        marked -= gone
        self._old = dict.fromkeys(each for each in self._old if each in marked)
        self._young = dict.fromkeys(each for each in sorted(marked) if each not in self._old)
        if self._swapped is None:
            self._swapped = view.now
        if not rule("OB-05.retention", view.now - self._swapped > view.profile.object_retention_ms):
            return ()
        doomed = tuple(islice(self._old, ROUND))
        for each in doomed:
            del self._old[each]
        if not rule("OB-05.rest", bool(self._old)):
            self._old, self._young, self._swapped = self._young, {}, view.now
        return doomed
