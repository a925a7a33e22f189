"""The proxy of a link: a cut direction carries nothing, and loses nothing."""

from __future__ import annotations

import asyncio

from impl.real.links import LinkTable
from impl.real.listening import HOST, listen


def test_one_direction_is_cut_and_mended() -> None:
    """While the way back is cut, the request still arrives. After the mending the answer comes, and nothing is lost."""

    async def talk() -> list[bytes]:
        arrived = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while line := await reader.readline():
                arrived.set()
                writer.write(line)

        server = await listen(serve)
        links = LinkTable()
        port = await links.listen(1, ">controller", "<controller", lambda: server.port)
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(b"one\n")
        found = [await reader.readline()]
        links.direction(1, "<controller").cut()
        arrived.clear()
        writer.write(b"two\n")
        await arrived.wait()
        answer = asyncio.ensure_future(reader.readline())
        # The answer is held back: it is not there when a whole talk on another link has ended.
        other = await links.listen(2, ">controller", "<controller", lambda: server.port)
        beside, beyond = await asyncio.open_connection(HOST, other)
        beyond.write(b"beside\n")
        found.append(await beside.readline())
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

    assert asyncio.run(talk()) == [b"one\n", b"beside\n", b"two\n"]


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
