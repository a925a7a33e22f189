"""Input that nobody means, such as pipes without an end and endless numbers. Each is one line, at once."""

from __future__ import annotations

import io
import json
import os
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.running import CommandRun, Run
from tests.cli.samples import COUNTER

MANY = "9" * 5000
"""More digits than Python reads."""

ITF = {"vars": ["x"], "states": [{"x": 1}]}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the model counter.py."""
    monkeypatch.chdir(tmp_path)
    Path("counter.py").write_text(COUNTER)
    return tmp_path


def refused(ran: CommandRun, *said: str, code: int = 2) -> None:
    """Check that a command ended with one line that says this, and printed nothing else."""
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1), ran
    assert ran.err.startswith("holdfast: ")
    for text in said:
        assert text in ran.err


# Pipes and devices --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argv",
    [
        ["check", "counter.py", "--itf", "pipe"],
        ["check", "counter.py", "--junit", "pipe"],
        ["check", "counter.py", "--scope", "tiny", "--checkpoint", "pipe"],
        ["check", "counter.py", "--graph", "pipe.dot"],
        ["mutate", "counter.py", "--resume", "pipe"],
        ["simulate", "--seed", "1", "--log", "pipe"],
    ],
)
def test_a_pipe_that_nobody_reads_is_refused(holdfast: Run, argv: list[str]) -> None:
    """An output that is a pipe without a reader is refused before the work, and not waited for."""
    os.mkfifo("pipe")
    os.mkfifo("pipe.dot")
    refused(
        holdfast(*argv), "pipe", "cannot be written: it is a pipe or a socket that nobody reads; choose another file"
    )


@pytest.mark.parametrize(
    "argv",
    [
        ["show", "pipe"],
        ["replay", "pipe"],
        ["conform", "counter.py", "pipe"],
        ["conform", "counter.py", "counter.py", "--map", "pipe"],
        ["check", "counter.py", "--scope", "tiny", "--resume", "pipe"],
        ["mutate", "counter.py", "--resume", "pipe"],
        ["simulate", "pipe"],
        ["scenario", "run", "pipe"],
    ],
)
def test_a_pipe_without_a_writer_is_refused(holdfast: Run, argv: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An input that is a pipe into which nothing writes is refused, and not waited for."""
    monkeypatch.setattr("holdfast.ir.input_file.PATIENCE", 0.0)
    os.mkfifo("pipe")
    refused(holdfast(*argv), "pipe")


@pytest.mark.parametrize(
    "argv",
    [
        ["show", "/dev/zero"],
        ["conform", "counter.py", "/dev/zero"],
        ["conform", "counter.py", "x", "--map", "/dev/zero"],
    ],
)
def test_a_device_without_an_end_is_refused(holdfast: Run, argv: list[str]) -> None:
    """A log on a device such as /dev/zero would be copied until the disk is full."""
    refused(holdfast(*argv), "/dev/zero: cannot be read: it is a device that may never end; ")


@pytest.mark.parametrize("argv", [["simulate", "/dev/zero"], ["scenario", "run", "/dev/zero"]])
def test_a_device_is_no_file_of_the_implementation(holdfast: Run, argv: list[str]) -> None:
    """A kept run, and a scenario, is read at once; a device without an end would fill the memory."""
    refused(holdfast(*argv), "/dev/zero", "is no plain file")


def test_a_run_may_come_through_a_pipe(holdfast: Run) -> None:
    """A pipe with a writer, such as a shell's `<(zcat run.gz)`, is read like a file."""
    os.mkfifo("pipe")
    writer = threading.Thread(target=Path("pipe").write_text, args=(json.dumps(ITF),))
    writer.start()
    ran = holdfast("show", "pipe")
    writer.join()
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize("option", ["--junit", "--sarif", "--itf"])
def test_a_full_device_is_noticed_before_the_work(holdfast: Run, option: str) -> None:
    """A report that has no room is refused before the search."""
    ran = holdfast("check", "counter.py", option, "/dev/full")
    refused(ran, "/dev/full: cannot be written: No space left on device; choose another file")


class Endless(io.RawIOBase):
    """Standard input of `yes | holdfast …`: lines without an end. ``given``: the bytes that were read."""

    given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        buffer[:] = (b"y\n" * len(buffer))[: len(buffer)]
        self.given += len(buffer)
        return len(buffer)


def test_a_standard_input_without_an_end_is_refused(holdfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log on standard input is copied up to a limit, which the line names; no more than that is read."""
    endless = Endless()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(endless)))
    refused(
        holdfast("conform", "counter.py", "-", "--copy-limit", "1MB"),
        "<stdin>: cannot be read twice, so it is copied to ",
        " first, and it has more than 1,000,000 bytes; save it to a file and name that, or raise --copy-limit",
    )
    assert 1_000_000 < endless.given < 1_200_000


def test_a_copy_leaves_half_of_the_free_space(holdfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy takes no more than half of what is free in the temporary folder, whatever the limit."""
    endless = Endless()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(endless)))
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=600_000))
    refused(
        holdfast("conform", "counter.py", "-"),
        "more than half of what is free there; save it to a file on another disk, and name that",
    )
    assert 300_000 < endless.given < 500_000


@pytest.mark.parametrize("text", ["8", "8TB", "GB", "1.5GB", f"{MANY}GB"])
def test_a_limit_that_is_no_size_is_refused(holdfast: Run, text: str) -> None:
    """A limit without a unit, or with another one, is refused."""
    refused(holdfast("conform", "counter.py", "-", "--copy-limit", text), "--copy-limit ", "it is no size; write one")


# Numbers and names --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [10**60_000, {"#bigint": "7" * 1_000_000}, {"#set": [{"#bigint": "-" + "9" * 60_000}]}],
    ids=["plain", "million digits", "in a set"],
)
def test_a_number_without_an_end_is_refused(holdfast: Run, value: object) -> None:
    """A run with a number of very many digits is one line that names the file."""
    text = json.dumps(ITF | {"states": [{"x": "here"}]}).replace('"here"', _json(value))
    Path("run.itf.json").write_text(text)
    refused(holdfast("show", "run.itf.json"), "run.itf.json: ", "digits, and at most 50,000 are read")


def _json(value: object) -> str:
    """The JSON of a value, also of a number that Python does not print."""
    return "1" + "0" * 60_000 if isinstance(value, int) else json.dumps(value)


@pytest.mark.parametrize(
    "argv",
    [
        ["check", "counter.py", "--budget", "1e400states"],
        ["check", "counter.py", "--budget", f"{MANY}s"],
        ["conform", "counter.py", "log.ndjson", "--joint", MANY],
        ["conform", "counter.py", "log.ndjson", "--window", f"Count={MANY}"],
        ["walk", "counter.py", "--seed", MANY],
        ["walk", "counter.py", "--seed", f"0x{MANY}"],
        ["scenario", "run", "mine.yaml", "--failover-at", MANY],
        ["simulate", "--seed", MANY],
        ["tlc", "counter.py", "--limit", "inf"],
        ["tlc", "counter.py", "--limit", "nan"],
        ["campaign", "plan", "--target", "counter.py", "--runs", "1e9", "--cores", "-1"],
        ["campaign", "plan", "--target", "counter.py", "--runs", "1e9", "--cores", MANY],
    ],
)
def test_a_number_that_nobody_means_is_refused(holdfast: Run, argv: list[str]) -> None:
    """An option whose number is too large, or no number, is one short line, before any work."""
    Path("log.ndjson").write_text("{}\n")
    assert holdfast("scenario", "new", "mine").code == 0
    ran = holdfast(*argv)
    refused(ran)
    assert len(ran.err) < 1_000


@pytest.mark.parametrize(
    "argv",
    [
        ["check", f"{'x' * 300}.py"],
        ["check", f"{'x/' * 3000}x.py"],
        ["check", "x" * 300],
        ["show", "x" * 300],
        ["check", "counter.py", "--itf", "x" * 300],
        ["check", "counter.py", "--scope", "tiny", "--resume", "x" * 300],
        ["conform", "counter.py", "x" * 300],
        ["diff", f"{'x' * 300}.py", "counter.py"],
        ["explore", "x" * 300],
        ["mutate", "counter.py", "--resume", "x" * 300],
        ["new", "x" * 300],
        ["tla", "counter.py", "--out", "x" * 300],
        ["tlc", f"{'x' * 300}.py"],
        ["scenario", "run", "x" * 300],
        ["scenario", "new", "x" * 300],
        ["simulate", "x" * 300],
        ["campaign", "status", "x" * 300],
        ["campaign", "run", "--target", "counter.py", "--out", "x" * 300],
        ["rule", "x" * 3000],
    ],
)
def test_a_name_that_is_too_long_is_refused(holdfast: Run, argv: list[str]) -> None:
    """A name that no file system takes is one line with a remedy, and not an internal error."""
    ran = holdfast(*argv)
    refused(ran)
    assert "internal error" not in ran.err
    assert len(ran.err) < 1_000


@pytest.mark.parametrize(
    "text",
    [
        f'{{"vars": ["x"], "states": [{{"x": 1}}], "loop": {MANY}}}',
        f'{{"vars": ["x"], "states": [{{"x": {{"#set": {MANY}}}}}]}}',
    ],
    ids=["loop", "set"],
)
def test_a_number_that_python_does_not_print_is_one_line(holdfast: Run, text: str) -> None:
    """A number of thousands of digits in the wrong place of a run is refused, although no message can show it."""
    Path("run.itf.json").write_text(text)
    refused(holdfast("show", "run.itf.json"), "run.itf.json: ")


def test_a_number_of_a_model_that_python_does_not_print_is_one_line(holdfast: Run) -> None:
    """A model whose bound has thousands of digits is no internal error."""
    Path("many.py").write_text(COUNTER.replace("Count: 2", "Count: 10 ** 5000"))
    ran = holdfast("check", "many.py")
    assert ran.code in (2, 150)
    assert "internal error" not in ran.err
