"""Runs a hostile case: in a copy of this process, which has imported the command, or in a new interpreter.

A copy takes some milliseconds to begin where an interpreter takes a second. It starts where the interpreter would: with
the handlers, streams, variables and folder of a new process.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, TextIO

from holdfast.check.budget import Budget, Meter
from tests.hostile.case import CaseResult, HostileCase

ROOT = Path(__file__).parents[2]

MARK = "HOSTILE_CASE"
"""The variable by which processes of a case are found, whoever started them."""

MOST_OUTPUT = 1 << 20
"""Bytes of an output stream that are judged."""

GONE = 12.0
"""Seconds within which all processes of a killed command must end by themselves."""

PR_SET_PDEATHSIG = 1
"""The number of this request to ``prctl``; see prctl(2)."""

# Only such a command looks for folders that are left.
NEXT = "from holdfast.check.temporary_folder import TemporaryFolder; TemporaryFolder('next').remove()"

IMPORTED = (
    *(
        "holdfast.check.search.kernel_search",
        "holdfast.check.live.engine",
        "holdfast.cli.proofs",
        "holdfast.cli.ablation",
    ),
    *("holdfast.cli.walk", "holdfast.cli.tlc", "holdfast.cli.conform", "holdfast.cli.verify", "holdfast.cli.mutate"),
    *("impl.cli.simulate", "impl.cli.scenario_run", "impl.cli.scenario_from", "impl.cli.scenario_write"),
    *("spark.cli.run", "spark.cli.look", "holdfast.check.conform.mappings.mapping_file", "holdfast.cli.guard"),
)
"""Modules that the commands import. A copy has them already."""


def import_command() -> None:
    """Import the command into this process, of which the cases run in copies."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from holdfast.cli.app import VERBS, app  # noqa: PLC0415 - not before the variable is set

    for verb in VERBS:
        app[verb]
    for module in IMPORTED:
        importlib.import_module(module)


def run(case: HostileCase, good: Path, folder: Path, limit: float) -> CaseResult:
    """Run a case in ``folder``, a new folder with the files of ``good`` in it. It is removed at the end."""
    shutil.copytree(good, folder, symlinks=True)
    work, kept = folder / "work", folder / "kept"
    try:
        kept.mkdir()
        for name, content in case.files.items():
            _place(work / name, content)
        for name in case.pipes:
            with suppress(OSError):
                (work / name).unlink(missing_ok=True)
                os.mkfifo(work / name)
        (kept / "stdin").write_bytes(case.stdin)
        environment = _environment(case, folder)
        start = _started if case.fresh else _copied
        meter = Meter(Budget())
        process = start(case, environment, work, kept)
        try:
            code, sent = _ended(process, case, limit)
        except BaseException:
            # The harness itself is to end.
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            raise
        seconds = meter.seconds
        left = list(_left(folder, environment[MARK], case)) if case.signal is not None and code is not None else []
        kill_all(f"{environment[MARK]}\0")
        out, err = ((kept / name).read_bytes()[:MOST_OUTPUT] for name in ("stdout", "stderr"))
        return CaseResult(code=code, out=out, err=err, seconds=seconds, left=tuple(left), sent=sent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _place(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _environment(case: HostileCase, folder: Path) -> dict[str, str]:
    usual = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "HOLDFAST_CACHE": str(folder.parent / "cache"),
        "OPENBLAS_NUM_THREADS": "1",
        MARK: str(folder),
    }
    return usual | dict(case.environment)


# Starting -----------------------------------------------------------------------------------------------------------


def _started(case: HostileCase, environment: Mapping[str, str], work: Path, kept: Path) -> int:
    """Start a new interpreter. Returns its process id."""

    def prepare() -> None:
        os.setsid()
        _end_with_parent()
        _streams(case, kept)
        _enter(case, work)

    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast", *map(os.fsencode, case.argv)],
        env=environment,
        cwd=work,
        preexec_fn=prepare,  # noqa: PLW1509 - this process has no other threads
    )
    process.returncode = 0  # ``_ended`` waits for it
    return process.pid


def _copied(case: HostileCase, environment: Mapping[str, str], work: Path, kept: Path) -> int:
    """Run the command in a copy of this process. Returns the copy's process id."""
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process:
        return process
    try:
        _be_command(case, environment, work, kept)
    except BaseException:  # noqa: BLE001 - it must not go on as the process that it is a copy of
        os._exit(99)


def _be_command(case: HostileCase, environment: Mapping[str, str], work: Path, kept: Path) -> NoReturn:
    os.setsid()
    _end_with_parent()
    os.chdir(work)
    _streams(case, kept)
    _enter(case, work)
    os.environ.clear()
    os.environ.update(environment)
    atexit._clear()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    sys.stdin, sys.stdout, sys.stderr = (_stream(number) for number in range(3))
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    sys.argv = ["holdfast", *case.argv]
    code = 0
    try:
        importlib.import_module("holdfast.__main__").run()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    # As the interpreter does at its end.
    threading._shutdown()  # type: ignore[attr-defined]  # It has no public name.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError:
            code = 120
    os._exit(code)


def _stream(number: int) -> TextIO | None:
    """The standard stream as an interpreter opens it; None if it is closed."""
    try:
        os.fstat(number)
    except OSError:
        return None
    if number == 0:
        return open(0, encoding="utf-8", closefd=False)
    return open(number, "w", encoding="utf-8", closefd=False)


def _streams(case: HostileCase, kept: Path) -> None:
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        path = kept / name
        file = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT, 0o600)
        match case.streams.get(number):
            case "full":
                os.close(file)
                file = os.open("/dev/full", os.O_RDWR)
            case "broken":
                os.close(file)
                reader, file = os.pipe()
                os.close(reader)
        os.dup2(file, number)
        if file > 2:
            os.close(file)
    for number, how in case.streams.items():
        if how == "closed":
            os.close(number)


def _enter(case: HostileCase, work: Path) -> None:
    if case.folder_gone:
        os.chdir(work)
        shutil.rmtree(work)


# Ending -------------------------------------------------------------------------------------------------------------


def _end_with_parent() -> None:
    """Let the system kill this process as soon as the one that started it has ended."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _ended(process: int, case: HostileCase, limit: float) -> tuple[int | None, bool]:
    """Wait for a process, and send it the signal of its case.

    Returns its exit code, None after the limit; and whether it was still there for the signal.
    """
    handle = os.pidfd_open(process)
    sent = False
    try:
        if case.signal is not None and not _is_over(handle, case.delay) and _handles_signals(process, handle):
            os.kill(process, case.signal)
            sent = True
        if not _is_over(handle, limit):
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return None, sent
    finally:
        os.close(handle)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), sent


def _handles_signals(process: int, handle: int) -> bool:
    """Wait until the command handles SIGTERM. Until then Python itself starts, and ends as any of its programs would.

    Returns False if the process ends before.
    """
    while not _is_over(handle, 0.005):
        with suppress(OSError):
            caught = re.search(r"^SigCgt:\s*([0-9a-f]+)$", Path(f"/proc/{process}/status").read_text(), re.MULTILINE)
            if caught is not None and int(caught[1], 16) >> (signal.SIGTERM - 1) & 1:
                return True
    return False


def _is_over(handle: int, seconds: float) -> bool:
    """Whether a process ends within this time."""
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    return bool(waiting.poll(seconds * 1000))


def _left(folder: Path, mark: str, case: HostileCase) -> Iterator[str]:
    """The processes and temporary folders that are left of a case. A killed command leaves folders to the next one."""
    for process in list(processes(f"{mark}\0")):
        with suppress(OSError):
            handle = os.pidfd_open(process)
            name = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            # A worker of a killed process notices that by itself, and needs a moment for it.
            if not _is_over(handle, GONE):
                yield f"process {name}"
            os.close(handle)
    if case.signal == signal.SIGKILL:
        _run_next(folder / "tmp")
    for path in (folder / "tmp").iterdir():
        yield f"folder {path.name}"


def _run_next(folder: Path) -> None:
    """Make a temporary folder as the next command does that needs one: it removes those of killed commands."""
    if any(folder.iterdir()):
        subprocess.run([sys.executable, "-c", NEXT], env=os.environ | {"TMPDIR": str(folder)}, cwd=ROOT, check=True)


def processes(mark: str) -> Iterator[int]:
    """The processes of all cases whose mark begins so, whoever started them; not copies that started no program."""
    sign = f"{MARK}={mark}".encode()
    for path in Path("/proc").iterdir():
        if path.name.isdecimal() and int(path.name) != os.getpid():
            with suppress(OSError):
                if sign in (path / "environ").read_bytes() + b"\0":
                    yield int(path.name)


def kill_all(mark: str) -> None:
    """Kill the processes of all cases whose mark begins so, whoever started them."""
    for process in list(processes(mark)):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
