"""The proxy of the object store: what it lets through, what it keeps back, and what it writes down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from impl.real.clock import new_clock
from impl.real.http_message import HttpError, read_request, read_response
from impl.real.store_effects import StoreCall, call_of
from impl.real.store_proxy import StoreProxy, StoreWeather
from impl.store.interface import (
    Answer,
    Conflict,
    Delete,
    DeleteResult,
    Get,
    List,
    ObjectData,
    ObjectPage,
    Operation,
    Put,
    PutResult,
    Unsure,
)
from tests.impl.s3_place import NAME

pytest.importorskip("moto")
FOREVER = 1 << 60


@pytest.fixture
def bucket(s3: str, keys: tuple[str, str]) -> str:
    """The endpoint of moto's server, in which the bucket NAME is empty."""
    del keys
    boto3 = pytest.importorskip("boto3")
    made = boto3.resource("s3", endpoint_url=s3, region_name="us-east-1").create_bucket(Bucket=NAME)
    made.objects.delete()
    return s3


def talk(endpoint: str, kinds: str, operations: list[Operation]) -> tuple[list[Answer], StoreProxy]:
    """The answers to operations through a proxy. ``kinds``: the fault that all calls meet; "" for none."""
    from impl.store.s3_obstore import ObstoreStore  # noqa: PLC0415 - an extra

    async def run() -> tuple[list[Answer], StoreProxy]:
        proxy = StoreProxy(new_clock(), lambda: 0.0)
        proxy.endpoint = endpoint
        proxy.weather = StoreWeather(kinds, 1.0, FOREVER) if kinds else None
        store = ObstoreStore(NAME, await proxy.listen("b1.0"))
        found = [await asyncio.to_thread(store.execute, each) for each in operations]
        await proxy.settle()
        proxy.close()
        return found, proxy

    return asyncio.run(run())


def test_everything_passes(bucket: str) -> None:
    """Each operation gets the answer of the store, and is written down with its process and its order."""
    key = "wal/1/a"
    answers, proxy = talk(
        bucket,
        "",
        [
            Put(key, b"abc", new=True),
            Put(key, b"d", new=True),
            Get(key),
            Get(key, 1, 2),
            List("wal/1/"),
            Delete((key,)),
        ],
    )
    assert [type(each) for each in answers] == [PutResult, Conflict, ObjectData, ObjectData, ObjectPage, DeleteResult]
    kinds = [(each.process, each.call.kind, each.call.key) for each in proxy.outcomes]
    assert kinds == [
        *[("b1.0", "put", key)] * 2,
        *[("b1.0", "get", key)] * 2,
        ("b1.0", "list", "wal/1/"),
        ("b1.0", "delete", ""),
    ]
    assert [each.status for each in proxy.outcomes[:4]] == [200, 412, 200, 206]
    assert [each.at for each in proxy.outcomes] == sorted(each.at for each in proxy.outcomes)


@pytest.mark.parametrize(
    ("kind", "takes_effect"),
    [("throttle", False), ("error", False), ("timeout_before", False), ("timeout_after", True), ("late", True)],
)
def test_an_answer_that_says_nothing(bucket: str, kind: str, *, takes_effect: bool) -> None:
    """The caller does not know the outcome, is not asked again by its library, and the object is there or not."""
    answers, proxy = talk(bucket, kind, [Put("object/1", b"abc")])
    assert isinstance(answers[0], Unsure)
    assert proxy.happened == {f"store {kind}": 1}
    assert len(proxy.outcomes) == takes_effect
    found, _ = talk(bucket, "", [Get("object/1")])
    assert isinstance(found[0], ObjectData) == takes_effect


def test_a_late_read_does_not_exist(bucket: str) -> None:
    """A read has no effect that could come late."""
    answers, proxy = talk(bucket, "late", [List("")])
    assert isinstance(answers[0], ObjectPage)
    assert not proxy.happened


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("PUT /b/wal/1/00-1 HTTP/1.1", StoreCall("put", "wal/1/00-1")),
        ("GET /b/reservation/12 HTTP/1.1", StoreCall("get", "reservation/12")),
        ("GET /b?list-type=2&prefix=wal%2F1%2F HTTP/1.1", StoreCall("list", "wal/1/")),
        ("GET /b/?list-type=2 HTTP/1.1", StoreCall("list", "")),
        ("POST /b?delete HTTP/1.1", StoreCall("delete", "")),
        ("HEAD /b/a HTTP/1.1", StoreCall("other", "a")),
    ],
)
def test_the_calls_of_s3(line: str, call: StoreCall) -> None:
    """The request line tells the call."""
    assert call_of(line) == call


def test_a_call_belongs_to_a_node() -> None:
    """Calls about the WAL or the reservation of one node take turns; all others do not."""
    keys = ["wal/1/00-1", "reservation/12", "wal/3/", "object/7", "walnut/3"]
    assert [StoreCall("get", key).node for key in keys] == ["1", "12", "3", "", ""]


class Sink:
    """A writer that keeps what is written."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        """Keep bytes."""
        self.data += data


def parsed(data: bytes, read: Callable[[asyncio.StreamReader], object]) -> object:
    """What ``read`` makes of a connection with some bytes."""

    async def run() -> object:
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        return await read(reader)

    return asyncio.run(run())


def test_a_question_before_the_body_is_answered_here() -> None:
    """A client that asks whether to go on is told so, and the store is not asked."""
    data = b"PUT /b/a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi"
    sink = Sink()
    found = parsed(data, lambda reader: read_request(reader, sink))
    assert sink.data == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert getattr(found, "data", None) == b"PUT /b/a HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi"


@pytest.mark.parametrize(
    ("data", "body", "stays"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", b"hi", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"", True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", b"2\r\nhi\r\n0\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", b"until the end", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", b"hi", False),
    ],
)
def test_responses(data: bytes, body: bytes, *, stays: bool) -> None:
    """The body ends where the headers, the chunks or the connection say."""
    found = parsed(data, lambda reader: read_response(reader, "GET"))
    assert (getattr(found, "body", None), getattr(found, "stays", None)) == (body, stays)


@pytest.mark.parametrize("data", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi"])
def test_a_response_that_is_cut_off(data: bytes) -> None:
    """A connection that ends within a response gives no answer."""
    with pytest.raises(HttpError):
        parsed(data, lambda reader: read_response(reader, "GET"))
