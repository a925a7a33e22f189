"""Object stores: the adapters answer alike, to whatever nodes ask."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from impl.store.interface import (
    Conflict,
    Delete,
    DeleteResult,
    Get,
    List,
    ListedObject,
    Missing,
    ObjectData,
    ObjectPage,
    ObjectStore,
    Put,
    PutResult,
    Unsure,
)
from impl.store.memory import MemoryStore

boto3 = pytest.importorskip("boto3")
botocore = pytest.importorskip("botocore")
moto = pytest.importorskip("moto")
pytest.importorskip("obstore")

from impl.store.s3_boto import BotoStore  # noqa: E402 - an extra
from impl.store.s3_obstore import ObstoreStore  # noqa: E402 - an extra

PAGE = 5
"""The objects of a page here. More would make the test slower and show no more."""
NOBODY = "http://127.0.0.1:1"
"""An address at which no server listens."""


@pytest.fixture(params=["memory", "boto", "boto in process", "obstore"])
def store(request: pytest.FixtureRequest) -> Iterator[ObjectStore]:
    """An empty store of each kind."""
    if request.param == "memory":
        yield MemoryStore()
        return
    request.getfixturevalue("keys")
    if request.param == "boto in process":
        with moto.mock_aws():
            boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="wal")
            yield BotoStore("wal")
        return
    endpoint = request.getfixturevalue("s3")
    bucket = boto3.resource("s3", endpoint_url=endpoint, region_name="us-east-1").create_bucket(Bucket="wal")
    yield (BotoStore if request.param == "boto" else ObstoreStore)("wal", endpoint)
    bucket.objects.delete()
    bucket.delete()


def test_a_new_store_has_the_credentials_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is made after the environment has changed signs with the new credentials."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    signed = []
    for key in ("first", "second"):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
        client = BotoStore("wal", NOBODY)._client
        client.meta.events.register(
            "before-send.s3", lambda request, **_: signed.append(request.headers["Authorization"].decode())
        )
        with pytest.raises(botocore.exceptions.EndpointConnectionError):
            client.head_bucket(Bucket="wal")
    assert ["first" in signed[0], "second" in signed[1]] == [True, True]


def put(store: ObjectStore, key: str, data: bytes, **conditions: object) -> str:
    """Put an object and return its etag."""
    answer = store.execute(Put(key, data, **conditions))
    assert isinstance(answer, PutResult)
    return answer.etag


def test_what_is_put_is_found(store: ObjectStore) -> None:
    """An object is read whole or in part, under the etag of its put, even if it is empty."""
    assert store.execute(Get("a/1")) == Missing()
    etag = put(store, "a/1", b"0123456789")
    assert store.execute(Get("a/1")) == ObjectData(b"0123456789", etag)
    assert store.execute(Get("a/1", 3, 5)) == ObjectData(b"34", etag)
    assert store.execute(Get("a/1", 8)) == ObjectData(b"89", etag)
    assert store.execute(Get("a/1", 8, 99)) == ObjectData(b"89", etag)
    assert isinstance(store.execute(Get("a/1", 10)), Unsure)
    assert isinstance(store.execute(Get("a/1", 12, 14)), Unsure)
    assert store.execute(Get("a/2")) == Missing()
    assert store.execute(Get("a/3", 1, 2)) == Missing()
    etag = put(store, "a/1", b"")
    assert store.execute(Get("a/1")) == ObjectData(b"", etag)


def test_a_put_of_a_new_object_replaces_none(store: ObjectStore) -> None:
    """A put of a new object never replaces one, not even one with the same bytes."""
    etag = put(store, "a/1", b"one", new=True)
    for data in (b"one", b"two"):
        assert store.execute(Put("a/1", data, new=True)) == Conflict()
    assert store.execute(Get("a/1")) == ObjectData(b"one", etag)
    store.execute(Delete(("a/1",)))
    put(store, "a/1", b"two", new=True)


def test_a_put_replaces_the_object_that_it_names(store: ObjectStore) -> None:
    """A conditional put replaces exactly the object with its etag. After a delete there is none."""
    first = put(store, "a/1", b"one")
    second = put(store, "a/1", b"two", replaces=first)
    assert store.execute(Put("a/1", b"three", replaces=first)) == Conflict()
    assert store.execute(Get("a/1")) == ObjectData(b"two", second)
    store.execute(Delete(("a/1",)))
    assert store.execute(Put("a/1", b"three", replaces=second)) == Conflict()
    assert store.execute(Get("a/1")) == Missing()


def test_a_list_is_sorted_and_of_one_folder(store: ObjectStore) -> None:
    """A list includes subfolders, and excludes folders with a longer name."""
    for key in ("a/9", "a/10", "a/b/1", "ab/1", "c"):
        put(store, key, key.encode())
    listed = store.execute(List("a/"))
    assert listed == ObjectPage((ListedObject("a/10", 4), ListedObject("a/9", 3), ListedObject("a/b/1", 5)), more=False)
    assert store.execute(List("a/", after="a/10")) == ObjectPage(
        (ListedObject("a/9", 3), ListedObject("a/b/1", 5)), more=False
    )
    assert store.execute(List("a/", after="a/99")) == ObjectPage((ListedObject("a/b/1", 5),), more=False)
    assert store.execute(List("none/")) == ObjectPage((), more=False)
    whole = store.execute(List(""))
    assert isinstance(whole, ObjectPage)
    assert [entry.key for entry in whole.entries] == ["a/10", "a/9", "a/b/1", "ab/1", "c"]


def test_a_deleted_object_is_gone(store: ObjectStore) -> None:
    """An object may be deleted again, and together with others."""
    for key in ("a/1", "a/2", "a/3"):
        put(store, key, b"x")
    assert store.execute(Delete(("a/1", "a/3", "a/9"))) == DeleteResult()
    assert store.execute(Delete(("a/1",))) == DeleteResult()
    assert store.execute(List("a/")) == ObjectPage((ListedObject("a/2", 1),), more=False)


def test_a_long_list_comes_in_pages(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """``more`` says that there are further pages, also if a page is exactly full."""
    for module in ("memory", "s3_boto", "s3_obstore"):
        monkeypatch.setattr(f"impl.store.{module}.PAGE", PAGE)
    for number in range(PAGE + 1):
        put(store, f"a/{number:04}", b"")
    first = store.execute(List("a/"))
    assert isinstance(first, ObjectPage)
    assert (len(first.entries), first.more) == (PAGE, True)
    assert store.execute(List("a/", first.entries[-1].key)) == ObjectPage(
        (ListedObject(f"a/{PAGE:04}", 0),), more=False
    )
    store.execute(Delete(("a/0000",)))
    second = store.execute(List("a/"))
    assert isinstance(second, ObjectPage)
    assert (len(second.entries), second.more) == (PAGE, False)
    assert store.execute(Delete(tuple(f"a/{number:04}" for number in range(PAGE + 1)))) == DeleteResult()
    assert store.execute(List("a/")) == ObjectPage((), more=False)


@pytest.mark.parametrize("make", [BotoStore, ObstoreStore])
def test_a_store_that_cannot_be_reached_is_an_answer(make: type[ObjectStore], keys: tuple[str, str]) -> None:
    """The answer to each operation is one line. The adapter raises no exception."""
    del keys
    store = make("wal", NOBODY)  # type: ignore[call-arg]
    for operation in (Put("a", b""), Put("a", b"", new=True), Get("a"), List(""), Delete(("a",))):
        answer = store.execute(operation)
        assert isinstance(answer, Unsure)
        assert answer.reason
        assert "\n" not in answer.reason


@pytest.fixture
def failing() -> Iterator[tuple[str, list[str]]]:
    """A server that answers 503 to every request: its address, and the methods of its requests so far."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            asked.append(self.command)
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(503)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any  # noqa: N815 - names of the library

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("make", [BotoStore, ObstoreStore])
def test_nobody_tries_again_by_himself(
    make: type[ObjectStore], failing: tuple[str, list[str]], keys: tuple[str, str]
) -> None:
    """An operation is one request. A hidden second one would find the first one's object."""
    del keys
    address, asked = failing
    store = make("wal", address)  # type: ignore[call-arg]
    for operation in (Put("a", b"1", new=True), Put("a", b"1"), Get("a"), List(""), Delete(("a",))):
        assert isinstance(store.execute(operation), Unsure)
    assert asked == ["PUT", "PUT", "GET", "GET", "POST"]


@pytest.mark.parametrize("make", [BotoStore, ObstoreStore])
def test_no_bucket_is_no_missing_object(make: type[ObjectStore], s3: str, keys: tuple[str, str]) -> None:
    """A missing bucket differs from an empty store, so that a wrong name is noticed."""
    del keys
    store = make("nowhere", s3)  # type: ignore[call-arg]
    for operation in (Put("a", b""), Get("a"), List(""), Delete(("a",))):
        assert isinstance(store.execute(operation), Unsure)


def test_a_range_has_bytes_and_a_folder_a_slash() -> None:
    """A range has bytes and a folder ends with a slash; anything else is an error of the node."""
    for begin, end in ((-1, None), (3, 3), (3, 2)):
        with pytest.raises(ValueError, match="has no byte"):
            Get("a", begin, end)
    with pytest.raises(ValueError, match="ends with a slash"):
        List("a")


def test_the_event_log_keeps_its_names_of_answers() -> None:
    """The tags of the answers are names in event logs, whatever the classes are called."""
    tags = [each.__struct_config__.tag for each in (PutResult, ObjectData, ObjectPage, DeleteResult, Missing, Conflict)]
    assert tags == ["Stored", "ObjectData", "Listed", "Deleted", "Missing", "Conflict"]
