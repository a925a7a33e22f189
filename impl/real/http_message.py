"""Messages of HTTP/1.1 as a proxy needs them: the first line, the headers, and the whole body as it was sent."""

from __future__ import annotations

import asyncio

import msgspec

MOST_HEADERS = 200


class HttpError(Exception):
    """The bytes are no message of HTTP, or the connection ended within one."""


class HttpMessage(msgspec.Struct, frozen=True):
    """``first``: the request line or the status line. ``headers``: by name in lower case. ``data``: all bytes.

    ``stays``: whether the connection stays open after the message.
    """

    first: str
    headers: dict[str, str]
    data: bytes
    stays: bool

    @property
    def body(self) -> bytes:
        """The bytes after the headers, chunked if the message is."""
        return self.data.partition(b"\r\n\r\n")[2]

    @property
    def status(self) -> int:
        """The status code of a response."""
        return int(self.first.split(" ")[1])


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> HttpMessage | None:
    """The next request of a connection; None at its end. Raises HttpError.

    A client that asks before it sends the body is told to go on, and the question is left out of the message.
    """
    head = await _head(reader)
    if not head:
        return None
    first, headers = _parsed(head)
    if "expect" in headers:
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        head = b"".join(line for line in head.splitlines(keepends=True) if not line.lower().startswith(b"expect:"))
        del headers["expect"]
    body = await _body(reader, headers, ends_with_connection=False)
    return HttpMessage(first, headers, head + body, headers.get("connection", "").lower() != "close")


async def read_response(reader: asyncio.StreamReader, method: str) -> HttpMessage:
    """The response to a request with a method. Raises HttpError."""
    while True:
        head = await _head(reader)
        if not head:
            raise HttpError("the connection ended before a response")
        first, headers = _parsed(head)
        status = int(first.split(" ")[1])
        if status >= 200:
            break
    has_body = method != "HEAD" and status not in (204, 304)
    ends = has_body and "content-length" not in headers and "transfer-encoding" not in headers
    body = await _body(reader, headers, ends_with_connection=ends) if has_body else b""
    stays = not ends and headers.get("connection", "").lower() != "close" and first.startswith("HTTP/1.1")
    return HttpMessage(first, headers, head + body, stays)


async def _head(reader: asyncio.StreamReader) -> bytes:
    """The first line and the headers; nothing if the connection ends before them."""
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise HttpError("the connection ended within the headers") from None
        return b""
    except (asyncio.LimitOverrunError, ConnectionError) as error:
        raise HttpError(str(error)) from None


def _parsed(head: bytes) -> tuple[str, dict[str, str]]:
    lines = head.decode("latin-1").split("\r\n")[:-2]
    if len(lines) > MOST_HEADERS or len(lines[0].split(" ")) < 2:
        raise HttpError(f"{lines[0][:40]!r} begins no message")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return lines[0], headers


async def _body(reader: asyncio.StreamReader, headers: dict[str, str], *, ends_with_connection: bool) -> bytes:
    try:
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return await _chunks(reader)
        if ends_with_connection:
            return await reader.read(-1)
        return await reader.readexactly(int(headers.get("content-length", "0")))
    except (asyncio.IncompleteReadError, ConnectionError, ValueError) as error:
        raise HttpError(f"the body is cut off: {error}") from None


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    found: list[bytes] = []
    while True:
        size = await reader.readuntil(b"\r\n")
        length = int(size.split(b";")[0], 16)
        found += (size, await reader.readexactly(length + 2))
        if not length:
            return b"".join(found)
