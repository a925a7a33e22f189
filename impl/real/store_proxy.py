"""A proxy between the processes of a cluster and their object store: it can refuse, delay, and keep answers back.

Each process has a port of its own, so the proxy knows who asks. It writes down when each call took effect. For that,
it lets calls about the WAL of one node through one after the other; the store would order them, too, but would not
tell how.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import msgspec

from impl.real.clock import Clock
from impl.real.http_message import HttpError, HttpMessage, read_request, read_response
from impl.real.listening import HOST, LIMIT, Listener, listen
from impl.real.store_effects import StoreCall, StoreOutcome, call_of

KINDS = ("throttle", "error", "slow", "timeout_before", "timeout_after", "late")
"""Refusals: "slow down" and "internal error", without effect. An answer that comes late. Calls without an answer: they
have no effect, or have it, or have it only after the caller has given up.
"""
SLOW_S, LATE_S = 1.0, 3.0
"""The longest times of ``slow`` and ``late``."""
IDLE = 32
"""The most connections to the store that are kept for later calls."""
_REFUSAL = {"throttle": (503, "Slow Down", "SlowDown"), "error": (500, "Internal Server Error", "InternalError")}


class StoreWeather(msgspec.Struct, frozen=True):
    """A share of the calls meets faults of one of KINDS, until a time in microseconds."""

    kind: str
    share: float
    until: int


class StoreProxy:
    """``endpoint``: the URL of the store, set before the first call. ``draw``: decides which calls meet a fault.

    ``outcomes``: the calls that took effect, in their order. ``happened``: the number of faults of each kind.
    """

    def __init__(self, clock: Clock, draw: Callable[[], float]) -> None:
        self.outcomes: list[StoreOutcome] = []
        self.happened: Counter[str] = Counter()
        self.weather: StoreWeather | None = None
        self.endpoint = ""
        self._clock, self._draw = clock, draw
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """By node: the turn of the calls about its WAL."""
        self._listeners: list[Listener] = []
        self._late: set[asyncio.Task[Any]] = set()

    async def listen(self, process: str) -> str:
        """The URL of the store for a process."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(HttpError):  # The process has ended, or the store has.
                await self._serve(process, reader, writer)

        self._listeners.append(await listen(serve))
        return f"http://{HOST}:{self._listeners[-1].port}"

    def mend(self) -> None:
        """No fault happens any more. Calls that are late already stay late."""
        self.weather = None

    async def settle(self) -> None:
        """Wait until all late calls have taken effect."""
        while self._late:
            await asyncio.gather(*self._late, return_exceptions=True)

    def close(self) -> None:
        """Close all ports, and the connections to the store."""
        for listener in self._listeners:
            listener.close()
        for _, writer in self._idle:
            writer.close()

    # One call -----------------------------------------------------------------------------------------------------

    async def _serve(self, process: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader, writer)) is not None:
            response = await self._answer(process, request)
            if response is None:
                return
            writer.write(response.data)
            await writer.drain()
            if not (request.stays and response.stays):
                return

    async def _answer(self, process: str, request: HttpMessage) -> HttpMessage | None:
        """The response to a request; None if the caller gets none."""
        call = call_of(request.first)
        match self._fault(call):
            case "throttle" | "error" as kind:
                return _refusal(*_REFUSAL[kind])
            case "timeout_before":
                return None
            case "timeout_after":
                await self._take_effect(process, call, request)
                return None
            case "late":
                task = asyncio.get_running_loop().create_task(self._later(process, call, request))
                self._late.add(task)
                task.add_done_callback(self._late.discard)
                return _refusal(*_REFUSAL["error"])
            case "slow":
                await asyncio.sleep(self._draw() * SLOW_S)
        return await self._take_effect(process, call, request)

    def _fault(self, call: StoreCall) -> str:
        """The fault that a call meets; "" for none. A read has no effect that could come late."""
        weather = self.weather
        if weather is None or self._clock.micros() >= weather.until or self._draw() >= weather.share:
            return ""
        if weather.kind == "late" and call.kind not in ("put", "delete"):
            return ""
        self.happened[f"store {weather.kind}"] += 1
        return weather.kind

    async def _later(self, process: str, call: StoreCall, request: HttpMessage) -> None:
        await asyncio.sleep(self._draw() * LATE_S)
        await self._take_effect(process, call, request)

    async def _take_effect(self, process: str, call: StoreCall, request: HttpMessage) -> HttpMessage:
        if not call.node:
            return await self._note(process, call, request)
        async with self._turns[call.node]:
            return await self._note(process, call, request)

    async def _note(self, process: str, call: StoreCall, request: HttpMessage) -> HttpMessage:
        response = await self._exchange(request)
        if response.status < 500:
            etag = response.headers.get("etag", "")
            self.outcomes.append(StoreOutcome(self._clock.micros(), process, call, response.status, etag))
        return response

    async def _exchange(self, request: HttpMessage) -> HttpMessage:
        """The store's response to a request, which is sent once. Raises HttpError and OSError."""
        if self._idle:
            reader, writer = self._idle.pop()
        else:
            parts = urlsplit(self.endpoint)
            context = ssl.create_default_context() if parts.scheme == "https" else None
            port = parts.port or (80 if context is None else 443)
            reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=context, limit=LIMIT)
        try:
            writer.write(request.data)
            await writer.drain()
            response = await read_response(reader, request.first.split(" ")[0])
        except (HttpError, OSError):
            writer.close()
            raise
        if response.stays and len(self._idle) < IDLE:
            self._idle.append((reader, writer))
        else:
            writer.close()
        return response


def _refusal(status: int, words: str, code: str) -> HttpMessage:
    body = f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code><Message>{words}</Message></Error>"
    head = f"HTTP/1.1 {status} {words}"
    lines = f"{head}\r\nContent-Type: application/xml\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    return HttpMessage(head, {}, lines.encode(), stays=True)
