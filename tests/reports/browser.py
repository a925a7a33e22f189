"""Pages in headless Chromium, driven over the DevTools protocol through a pipe.

Tests take screenshots of a page, and read its console, its requests and the values of its scripts.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
"""Options of a headless browser that makes no requests of its own and takes commands from descriptor 3."""

LAUNCH = """\
import fcntl, os, sys
# Either pipe may have the number that the other is to get, so both are copied out of the way first.
reads, writes = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(reads, 3)
os.dup2(writes, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
"""Start a command with two pipes as its descriptors 3 and 4."""

HEIGHT = 900
"""Of a window, in pixels."""

COMPARE = """async (...addresses) => {
  const [one, other] = await Promise.all(addresses.map(async (address) => {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.ceil(image.width / 5), Math.ceil(image.height / 5)];
    const context = canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    return { size: `${image.width} ${image.height}`, data };
  }));
  if (one.size !== other.size) return 1;
  let [differs, stands] = [0, 0];
  one.data.forEach((value, index) => {
    const [mine, yours] = [value - one.data[index % 4], other.data[index] - other.data[index % 4]];
    differs += Math.abs(value - other.data[index]);
    stands += Math.max(Math.abs(mine), Math.abs(yours), Math.abs(value - other.data[index]));
  });
  return stands ? differs / stands : 0;
}"""
"""The share of what two images show, above the colours of their first pixels, in which they differ."""

LIMIT = 60
"""Seconds to wait for an answer that takes milliseconds. A browser that hangs fails the test."""


def find_browser() -> str | None:
    """The command of a Chromium on this machine, if there is one."""
    return next((found for found in map(shutil.which, NAMES) if found is not None), None)


class BrowserError(Exception):
    """The browser does not answer, or a script in it failed."""


class Browser:
    """A Chromium with one page. ``said``: its console messages. ``asked``: the addresses that it requested."""

    def __init__(self, command: str) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="holdfast-browser-", ignore_cleanup_errors=True)
        reads, self._write = os.pipe()
        self._read, writes = os.pipe()
        browser = [command, *QUIET, f"--user-data-dir={self._profile.name}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(reads), str(writes), *browser],
            pass_fds=(reads, writes),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(reads)
        os.close(writes)
        self._numbers = itertools.count(1)
        self._rest = b""
        self._session: str | None = None
        self.said: list[str] = []
        self.asked: list[str] = []
        self._loaded = False
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session = None
        # A killed browser may leave processes behind that still write to its profile.
        with suppress(BrowserError, OSError):
            self._ask("Browser.close")
        try:
            self._process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        os.close(self._write)
        self._profile.cleanup()

    def open(self, page: Path, *, width: int = 1280, dark: bool = False, scripts: bool = True) -> None:
        """Show a page in a window of this width, with a light or dark colour scheme, with or without scripts."""
        self.said, self.asked, self._loaded = [], [], False
        self._ask("Emulation.setDeviceMetricsOverride", width=width, height=HEIGHT, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])
        self._ask("Emulation.setScriptExecutionDisabled", value=not scripts)
        self._go(page.as_uri())
        self.asked.remove(page.as_uri())

    def _go(self, address: str) -> None:
        self._loaded = False
        self._ask("Page.navigate", url=address)
        while not self._loaded:
            self._take()

    def evaluate(self, script: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self._ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def screenshot(self, *, whole: bool = False) -> bytes:
        """A screenshot of the window or of the whole page, as PNG."""
        answer = self._ask("Page.captureScreenshot", captureBeyondViewport=whole)
        return base64.b64decode(answer["data"])

    def small_screenshot(self, width: int) -> bytes:
        """A screenshot of the window in this width, a quarter as large, as PNG."""
        clip = {"x": 0, "y": 0, "width": width, "height": HEIGHT, "scale": 0.25}
        return base64.b64decode(self._ask("Page.captureScreenshot", clip=clip)["data"])

    def difference(self, one: bytes, other: bytes) -> float:
        """By how much two images differ, from 0 to 1: the share of what stands on their grounds. Leaves the page.

        Both are reduced to blocks of some pixels, so that letters of another font differ little.
        """
        self._go("about:blank")
        images = ", ".join(f"'data:image/png;base64,{base64.b64encode(each).decode()}'" for each in (one, other))
        found: float = self.evaluate(f"({COMPARE})({images})")
        return found

    # The protocol ------------------------------------------------------------------------------------------------

    def _ask(self, method: str, **params: object) -> dict[str, Any]:
        number = next(self._numbers)
        message: dict[str, object] = {"id": number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._take()
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']}")
                found: dict[str, Any] = answer["result"]
                return found

    def _take(self) -> dict[str, Any]:
        """The next message. An event is recorded."""
        while b"\0" not in self._rest:
            if not select.select([self._read], [], [], LIMIT)[0]:
                raise BrowserError(f"no answer within {LIMIT} s")
            more = os.read(self._read, 1 << 20)
            if not more:
                raise BrowserError(f"the browser ended with {self._process.wait()}")
            self._rest += more
        first, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, params: dict[str, Any]) -> None:
        match method:
            case "Page.loadEventFired":
                self._loaded = True
            case "Runtime.consoleAPICalled":
                self.said.append(" ".join(str(arg.get("value", arg.get("description"))) for arg in params["args"]))
            case "Runtime.exceptionThrown":
                self.said.append(str(params["exceptionDetails"]))
            case "Log.entryAdded":
                self.said.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.asked.append(params["request"]["url"])
