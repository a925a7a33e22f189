"""The proxy of a link: a cut direction carries nothing, and loses nothing."""

from __future__ import annotations

import asyncio

from impl.real.frames import Greeting, pack
from impl.real.links import LinkTable
from impl.real.listening import HOST, listen

ONE, TWO, BESIDE = (pack(Greeting(name)) for name in ("one", "two", "beside"))


async def received(reader: asyncio.StreamReader) -> bytes:
    """The bytes of the next frame; nothing at the end."""
    try:
        length = await reader.readexactly(4)
        return length + await reader.readexactly(int.from_bytes(length))
    except asyncio.IncompleteReadError:
        return b""


def test_one_direction_is_cut_and_mended() -> None:
    """While the way back is cut, the request still arrives. After the mending the answer comes, and nothing is lost."""

    async def talk() -> list[bytes]:
        arrived = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while frame := await received(reader):
                arrived.set()
                writer.write(frame)

        server = await listen(serve)
        links = LinkTable()
        port = await links.listen(1, ">controller", "<controller", lambda: server.port)
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(ONE)
        found = [await received(reader)]
        links.direction(1, "<controller").cut()
        arrived.clear()
        writer.write(TWO)
        await arrived.wait()
        answer = asyncio.ensure_future(received(reader))
        # The answer is held back: it is not there when a whole talk on another link has ended.
        other = await links.listen(2, ">controller", "<controller", lambda: server.port)
        beside, beyond = await asyncio.open_connection(HOST, other)
        beyond.write(BESIDE)
        found.append(await received(beside))
        assert not answer.done()
        links.mend()
        found.append(await answer)
        for each in (writer, beyond):
            each.close()
            await each.wait_closed()
        assert await reader.read() == b""
        links.close()
        server.close()
        return found

    assert asyncio.run(talk()) == [ONE, BESIDE, TWO]


def test_a_link_to_nobody_ends_at_once() -> None:
    """If nobody listens behind the link, the connection ends without a byte."""

    async def talk() -> bytes:
        links = LinkTable()
        port = await links.listen(1, ">controller", "<controller", lambda: None)
        reader, writer = await asyncio.open_connection(HOST, port)
        found = await reader.read()
        writer.close()
        await writer.wait_closed()
        links.close()
        return found

    assert asyncio.run(talk()) == b""
