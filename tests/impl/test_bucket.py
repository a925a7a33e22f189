"""A node's view of an object store that loses answers: its statements are true, whatever was lost."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.store.bucket import ATTEMPTS, Bucket, StoreError, TakenError
from impl.store.interface import Answer, Conflict, Get, List, ListedObject, Missing, ObjectData, Operation, Put, Unsure
from impl.store.memory import MemoryStore
from impl.tasks import FailedError, Gate, Tasks

FAULTS = st.lists(st.sampled_from(["fine", "lost before", "lost after", "late"]), max_size=12)
"""The fault of each operation in turn: none; it is lost; its answer is lost; it takes effect two operations later."""


class Flaky:
    """A store behind a faulty network. Without faults it is a store in memory."""

    def __init__(self, faults: Iterable[str] = (), store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        self.seen: list[Operation] = []
        self._faults = iter(faults)
        self._late: list[Operation] = []

    def execute(self, operation: Operation) -> Answer:
        """Execute an operation, or not."""
        self.seen.append(operation)
        late, self._late = self._late, []
        fault = next(self._faults, "fine")
        answer = self.store.execute(operation) if fault in ("fine", "lost after") else Unsure(fault)
        for each in late:
            self.store.execute(each)
        if fault == "late":
            self._late.append(operation)
        return answer if fault == "fine" else Unsure(fault)


def run(job: Callable[[Bucket], Coroutine[Any, Any, Any]], store: Flaky) -> Any:
    """Run one job of a node to its end. Raises the job's errors."""
    tasks = Tasks()
    gate: Gate[Any] = tasks.start(job(Bucket(tasks, lambda number, operation: (number, operation))))
    while not gate.happened:
        outputs = tasks.run(tasks.due or 0)
        for number, operation in outputs:
            tasks.answer(number, store.execute(operation))
    return gate.result()


@given(FAULTS)
def test_a_new_object_is_put_once(faults: list[str]) -> None:
    """A put succeeds once its object is there. No other node has put it, so the key never counts as taken."""
    store = Flaky(faults)
    try:
        etag = run(lambda bucket: bucket.put("a", b"mine", new=True), store)
    except StoreError:
        assert len(store.seen) >= ATTEMPTS
    else:
        assert store.store.execute(Get("a")) == ObjectData(b"mine", etag)
    assert {operation for operation in store.seen if isinstance(operation, Put)} == {Put("a", b"mine", new=True)}


@given(FAULTS)
def test_an_object_of_another_one_is_left_alone(faults: list[str]) -> None:
    """Another node's object counts as taken, or the outcome is uncertain."""
    store = Flaky(faults)
    store.store.execute(Put("a", b"theirs"))
    with pytest.raises((TakenError, StoreError)):
        run(lambda bucket: bucket.put("a", b"mine", new=True), store)
    assert store.store.objects == {"a": b"theirs"}


@given(FAULTS)
def test_an_object_is_replaced_once(faults: list[str]) -> None:
    """A replacing put, too, never mistakes the node's own object for another one's."""
    store = Flaky(faults)
    old = store.store.execute(Put("a", b"old"))
    try:
        etag = run(lambda bucket: bucket.put("a", b"mine", replaces=old.etag), store)
    except StoreError:
        assert len(store.seen) >= ATTEMPTS
    else:
        assert store.store.execute(Get("a")) == ObjectData(b"mine", etag)


def test_a_conflict_of_the_first_attempt_is_not_asked_about() -> None:
    """A conflict of the first attempt means another node, even if the bytes are equal: no own attempt came before."""
    store = Flaky()
    store.store.execute(Put("a", b"mine"))
    with pytest.raises(TakenError, match="a is another object"):
        run(lambda bucket: bucket.put("a", b"mine", new=True), store)
    assert len(store.seen) == 1


def test_a_put_that_was_replaced_since_is_taken() -> None:
    """If the first attempt's object was replaced since, the key counts as taken."""

    class Overtaken(Flaky):
        def execute(self, operation: Operation) -> Answer:
            answer = super().execute(operation)
            if len(self.seen) == 1:
                self.store.execute(Put("a", b"theirs"))
            return answer

    with pytest.raises(TakenError):
        run(lambda bucket: bucket.put("a", b"mine", new=True), Overtaken(["lost after"]))


@given(FAULTS)
def test_reads_are_tried_again(faults: list[str]) -> None:
    """A read is repeated. Then it has a result, or says that it does not know."""
    store = Flaky(faults)
    for key in ("a/1", "a/2", "b/1"):
        store.store.execute(Put(key, key.encode()))

    async def reads(bucket: Bucket) -> tuple[ObjectData | None, ObjectData | None, list[ListedObject]]:
        return await bucket.find("a/1", 1, 2), await bucket.find("a/3"), await bucket.list("a/")

    try:
        found, none, listed = run(reads, store)
    except StoreError:
        assert len(store.seen) >= ATTEMPTS
    else:
        assert (found.data, none, listed) == (b"/", None, [ListedObject("a/1", 3), ListedObject("a/2", 3)])


def test_all_pages_of_a_list_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page of a list begins after the last key of the previous one."""
    monkeypatch.setattr("impl.store.memory.PAGE", 3)
    store = Flaky()
    keys = [f"a/{number}" for number in range(7)]
    for key in keys:
        store.store.execute(Put(key, b""))
    listed = run(lambda bucket: bucket.list("a/"), store)
    assert [entry.key for entry in listed] == keys
    assert store.seen == [List("a/"), List("a/", "a/2"), List("a/", "a/5")]


def test_delays_grow_and_end() -> None:
    """After all attempts without a certain outcome the error has the last reason."""
    tasks, times = Tasks(), []
    bucket = Bucket(tasks, lambda number, operation: (number, operation))
    gate = tasks.start(bucket.delete("a", "b"))
    while not gate.happened:
        for number, _ in tasks.run(tasks.due or 0):
            times.append(tasks.now)
            tasks.answer(number, Unsure("timed out"))
    assert times == [0, 100, 300, 700, 1500]
    with pytest.raises(FailedError, match="Delete had no certain outcome in 5 attempts: timed out"):
        gate.result()


def test_nothing_is_deleted_by_no_request() -> None:
    """Deleting no keys sends no request."""
    store = Flaky()
    run(lambda bucket: bucket.delete(), store)
    assert store.seen == []
    assert store.execute(Get("a")) == Missing()
    assert store.execute(Put("a", b"", replaces="x")) == Conflict()
