"""The bucket at the end of a run, for the storage oracle: read from the store itself, not from any node."""

from __future__ import annotations

from impl.metadata.image import Image
from impl.oracles.storage import BucketContents
from impl.real.problems import ClusterError
from impl.sim.storage import contents, sends_of
from impl.store.interface import Get, List, ObjectData, ObjectPage, ObjectStore


def read_objects(store: ObjectStore) -> dict[str, bytes]:
    """All objects of a bucket, by key. Raises ClusterError if the store refuses."""
    found: dict[str, bytes] = {}
    last, more = "", True
    while more:
        page = store.execute(List("", last))
        if not isinstance(page, ObjectPage):
            raise ClusterError(f"the bucket cannot be listed: {page}; look at the object store")
        for entry in page.entries:
            answer = store.execute(Get(entry.key))
            if isinstance(answer, ObjectData):
                found[entry.key] = answer.data
            last = entry.key
        more = page.more
    return found


def contents_of(objects: dict[str, bytes], image: Image, keys: dict[int, int]) -> BucketContents:
    """The batches of a bucket by the keys of the history. ``keys``: the partition of each stream."""
    found = contents(objects, image)
    batches: dict[int, set[tuple[int, int, int]]] = {}
    for record in (*found.objects, *found.wal):
        if record.stream in keys:
            sends = {(base, base + count, value) for base, count, value in sends_of(record)}
            batches.setdefault(keys[record.stream], set()).update(sends)
    return BucketContents({key: frozenset(each) for key, each in batches.items()}, found.orphans, found.missing)
