"""The guard around the whole command: signals at any moment, closed and full streams, odd surroundings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.cli.samples import COUNTER

ROOT = Path(__file__).parents[2]

LIMIT = 60
"""Seconds after which a command hangs."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the model counter.py."""
    (tmp_path / "counter.py").write_text(COUNTER)
    return tmp_path


def command(
    folder: Path,
    *argv: str,
    begin: Callable[[], object] = lambda: None,
    variables: Mapping[str, str] | None = None,
    stdout: int | None = subprocess.PIPE,
    stderr: int | None = subprocess.PIPE,
) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, as a process of its own. ``begin`` is called in it first."""
    return subprocess.run(
        [sys.executable, "-m", "holdfast", *argv],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | dict(variables or {}),
        preexec_fn=begin,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        text=True,
        timeout=LIMIT,
        check=False,
    )


# Signals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_the_imports_is_one_line(folder: Path, number: signal.Signals) -> None:
    """A signal in the first second, while the command imports its libraries, ends it in order."""
    # Python looks for a library in the working directory first.
    (folder / "cyclopts.py").write_text(f"import os\nos.kill(os.getpid(), {int(number)})\n")
    ran = command(folder, "models")
    assert (ran.returncode, ran.stdout) == (20, "")
    assert ran.stderr == "holdfast: interrupted before there was anything to report\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_a_destructor_is_not_lost(folder: Path, number: signal.Signals) -> None:
    """Python swallows an exception in a destructor, and prints it. The interrupt comes again, and ends the command."""
    swallows = f"""
import os
class Held:
    def __del__(self):
        os.kill(os.getpid(), {int(number)})
        for _ in range(1000): pass
Held()
while True: pass
"""
    (folder / "held.py").write_text(swallows)
    ran = command(folder, "check", "held.py")
    assert (ran.returncode, ran.stdout) == (20, "")
    assert ran.stderr == "holdfast: interrupted before there was anything to report\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("file", ["made.py", "z3.py"])
def test_a_signal_while_a_class_is_made_is_no_error(folder: Path, file: str, number: signal.Signals) -> None:
    """Python 3.11 raises a RuntimeError instead of the interrupt that comes there: in a model, and in a library."""
    made = f"""
import os
class Told:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), {int(number)})
        for _ in range(1000): pass
class Made:
    told = Told()
"""
    (folder / file).write_text(made)
    ran = command(folder, *(("check", file) if file == "made.py" else ("prove", "counter.py")))
    assert (ran.returncode, ran.stdout) == (20, "")
    assert ran.stderr == "holdfast: interrupted before there was anything to report\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_a_text_that_is_executed_does_not_kill(folder: Path, number: signal.Signals) -> None:
    """Python remembers an interrupt that left ``exec`` of a text, and kills itself at its end, though it was caught."""
    text = f"import os; os.kill(os.getpid(), {int(number)}); [None for _ in range(1000)]"
    (folder / "text.py").write_text(f"exec({text!r})\n")
    ran = command(folder, "check", "text.py")
    assert (ran.returncode, ran.stdout) == (20, "")
    assert ran.stderr == "holdfast: interrupted before there was anything to report\n"


def test_what_is_written_at_the_very_end_is_not_lost(folder: Path) -> None:
    """The command ends the process itself, after the callbacks that libraries registered for the end."""
    source = (folder / "counter.py").read_text()
    at_the_end = "import atexit\natexit.register(print, 'written at the end', end='')\n"
    (folder / "ending.py").write_text(source.replace("from holdfast", f"{at_the_end}from holdfast", 1))
    ran = command(folder, "check", "ending.py", "--scope", "tiny")
    assert ran.returncode == 0
    assert ran.stdout.endswith("written at the end")


CALLING = """
import hashlib, sys
from holdfast.cli import guard
from holdfast.ir.long_call import long_call

def main(argv):
    with long_call("a sum of numbers"):
        print("begun", flush=True)
        hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)
    return 0

# The signal may come just before the call.
guard.interrupt = lambda number, frame: None
sys.exit(guard.guarded(main, []))
"""


def test_a_long_call_is_named_and_a_second_signal_ends_it() -> None:
    """During a call that no signal interrupts the command says what it waits for. The next signal ends it at once."""
    with subprocess.Popen(
        [sys.executable, "-c", CALLING],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            assert process.stdout.readline() == "begun\n"
            process.send_signal(signal.SIGINT)
            said = process.stderr.readline()
            process.send_signal(signal.SIGTERM)
            process.wait(LIMIT)
        finally:
            process.kill()
        assert said == "holdfast: interrupted; stopping after a sum of numbers, or at once with another Ctrl-C\n"
        assert process.stderr.read() == "holdfast: interrupted during a sum of numbers; nothing is reported\n"
    assert process.returncode == 20


STOPPING = """
import sys, threading
from holdfast.cli import guard
from holdfast.ir.long_call import long_call

def main(argv):
    lock = threading.Lock()
    lock.acquire()
    with long_call("a lock", lock.release):
        print("begun", flush=True)
        while not lock.acquire(timeout=1):
            pass
    print("stopped", flush=True)
    return 0

guard.interrupt = lambda number, frame: None
sys.exit(guard.guarded(main, []))
"""


def test_a_long_call_that_can_be_stopped_is_stopped() -> None:
    """A call that has a way to be stopped, as a question to Z3 has, is stopped after a signal."""
    with subprocess.Popen(
        [sys.executable, "-c", STOPPING], env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "begun\n"
            process.send_signal(signal.SIGTERM)
            process.wait(LIMIT)
        finally:
            process.kill()
        assert process.stdout.read() == "stopped\n"
    assert process.returncode == 0


# Streams ------------------------------------------------------------------------------------------------------------


def test_a_closed_output_is_one_line(folder: Path) -> None:
    """With standard output closed, the command says that it cannot be written."""
    ran = command(folder, "check", "counter.py", "--scope", "tiny", begin=lambda: os.close(1), stdout=None)
    assert ran.returncode == 2
    assert ran.stderr.startswith("holdfast: standard output cannot be written: ")
    assert ran.stderr.count("\n") == 1


def test_no_file_takes_the_place_of_a_closed_stream(folder: Path) -> None:
    """A file that is opened later does not get the descriptor of a closed stream, and with it the lines for it."""

    def close() -> None:
        for number in range(3):
            os.close(number)

    ran = command(folder, "check", "counter.py", "--json", "--junit", "a.xml", begin=close, stdout=None, stderr=None)
    assert ran.returncode == 2
    ran = command(folder, "check", "counter.py", "--json", "--junit", "a.xml", begin=lambda: os.close(2), stderr=None)
    assert ran.returncode == 0
    assert (folder / "a.xml").read_text().startswith("<?xml")


def test_an_output_that_a_model_closes_is_one_line(folder: Path) -> None:
    """A model's file that closes standard output gets the line for it."""
    (folder / "closing.py").write_text(f"{COUNTER}\n\nimport sys\nsys.stdout.close()\n")
    ran = command(folder, "check", "closing.py", "--scope", "tiny")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("holdfast: standard output cannot be written: it is closed; ")


def test_a_full_output_is_one_line(folder: Path) -> None:
    """With a full device as standard output, the line says so; as standard error, the answer stays the same."""
    full = os.open("/dev/full", os.O_WRONLY)
    for argv in (["check", "counter.py", "--scope", "tiny"], ["--help"], ["check", "--help"], ["--version"]):
        ran = command(folder, *argv, stdout=full)
        assert ran.returncode == 2, argv
        assert ran.stderr == (
            "holdfast: standard output cannot be written: No space left on device; "
            "give it a file, a pipe or a terminal\n"
        )
    ran = command(folder, "check", "counter.py", "--scope", "tiny", stderr=full)
    assert ran.returncode == 0
    assert "exhausted" in ran.stdout
    os.close(full)


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["check", "--help"], ["scenario", "--help"], ["models"]])
def test_a_reader_that_goes_away_is_no_error(folder: Path, argv: list[str]) -> None:
    """A broken pipe, as after `| head -1`, changes no exit code, also of help."""
    reader, writer = os.pipe()
    os.close(reader)
    ran = command(folder, *argv, stdout=writer)
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("columns", ["99999999", "9" * 5000, "0", "x", "-1"])
def test_help_has_a_width_that_can_be_printed(folder: Path, columns: str) -> None:
    """A width that no terminal has is ignored."""
    plain = command(folder, "--help", variables={"COLUMNS": "80"})
    ran = command(folder, "--help", variables={"COLUMNS": columns})
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, plain.stdout, "")


def test_a_pipe_with_a_reader_takes_a_report(folder: Path) -> None:
    """A pipe that somebody reads, such as a shell's `>(cat)`, gets the whole report, although it is tried first."""
    line = f"{sys.executable} -m holdfast check counter.py --json --junit >(cat > copy.xml) > out.json && wait $!"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run(["bash", "-c", line], cwd=folder, env=environment, timeout=LIMIT, check=True)  # noqa: S607
    assert (folder / "copy.xml").read_text().rstrip().endswith("</testsuites>")


# The folder ---------------------------------------------------------------------------------------------------------


def test_a_working_directory_that_is_gone_is_one_line(folder: Path) -> None:
    """A command whose working directory was removed says so."""
    gone = folder / "gone"
    gone.mkdir()
    ran = command(gone, "models", begin=gone.rmdir)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("holdfast: the working directory cannot be used: ")


# Input ---------------------------------------------------------------------------------------------------------------


def test_bytes_that_are_no_text_on_standard_input_are_one_line(folder: Path) -> None:
    """A replay line from standard input that is not UTF-8 is refused, wherever the wrong byte is."""
    ran = subprocess.run(
        [sys.executable, "-m", "holdfast", "replay", "-"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8:strict"},
        input=b"counter.py \xff tiny",
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr == b"holdfast: standard input is no text in UTF-8 (byte 11); give a line as text\n"


def test_a_model_that_removes_its_file_is_one_line(folder: Path) -> None:
    """A model's file that is gone after its import is named."""
    (folder / "gone.py").write_text(f"{COUNTER}\n\nimport os\nos.unlink(__file__)\n")
    ran = command(folder, "check", "gone.py")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "gone.py: No such file or directory; mend that, or name another file" in ran.stderr
