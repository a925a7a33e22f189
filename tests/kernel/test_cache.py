"""Compiled kernels on disk are found again, and a search's answer does not depend on the state of the cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.lower.kernel import build

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "tests" / "lower" / "models" / "streams.py"
SCRIPT = ROOT / "tests" / "kernel" / "compile_events.py"
ANSWER = ["exhausted", "7"]


def started(cache: Path) -> subprocess.Popen[str]:
    """A running process that searches and keeps its kernel in this cache."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(SCRIPT), str(MODEL), "tiny"],
        cwd=ROOT,
        # Numba writes files into the home folder if it cannot write beside the source.
        env=os.environ | {"HOLDFAST_CACHE": str(cache), "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": f"{cache}.home"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def compiled_by(process: subprocess.Popen[str]) -> int:
    """The number of functions that the process compiled. Its answer must be right, and it must print no error."""
    out, err = process.communicate(timeout=300)
    *answer, _, compiled = out.split()
    assert (process.returncode, answer, err) == (0, ANSWER, "")
    return int(compiled)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that holds the kernel, filled by two processes that started at once."""
    cache = tmp_path_factory.mktemp("cache")
    both = [started(cache), started(cache)]
    assert all(compiled_by(process) > 0 for process in both)
    return cache


@pytest.fixture
def cache(filled: Path, tmp_path: Path) -> Path:
    """A copy of the filled cache for a test to damage. It keeps the file times, by which Numba knows the files."""
    return Path(shutil.copytree(filled, tmp_path / "cache"))


def files(cache: Path, suffix: str) -> list[Path]:
    """The files with this suffix; there must be some."""
    found = sorted(cache.rglob(f"*{suffix}"))
    assert found
    return found


def cut_to(part: float, *suffixes: str, of: str = "") -> Callable[[Path], None]:
    """Truncate every file of these kinds to this part of its length; ``of`` restricts this to one function."""

    def cut(cache: Path) -> None:
        for suffix in suffixes:
            for path in files(cache, suffix):
                if of in path.name:
                    os.truncate(path, int(path.stat().st_size * part))

    return cut


def without(suffix: str) -> Callable[[Path], None]:
    """Delete the files with this suffix."""

    def delete(cache: Path) -> None:
        for path in files(cache, suffix):
            path.unlink()

    return delete


def flipped(part: float) -> Callable[[Path], None]:
    """Change one byte in every file of machine code, at this part of its length."""

    def flip(cache: Path) -> None:
        for path in files(cache, ".nbc"):
            content = bytearray(path.read_bytes())
            content[int((len(content) - 1) * part)] ^= 1
            path.write_bytes(content)

    return flip


def exchanged(one: str, other: str) -> Callable[[Path], None]:
    """Replace one function's code by another function's."""

    def exchange(cache: Path) -> None:
        [source], [target] = ([path for path in files(cache, ".nbc") if of in path.name] for of in (one, other))
        target.write_bytes(source.read_bytes())

    return exchange


def folder_as_file(cache: Path) -> None:
    """Put a file in place of the folder of compiled code, so that nothing can be written."""
    for path in cache.rglob("__pycache__"):
        shutil.rmtree(path)
        path.write_text("in the way")


def cache_as_file(cache: Path) -> None:
    """Put a file in place of the cache, so that no folder can be created."""
    shutil.rmtree(cache)
    cache.write_text("in the way")


SPOILT: dict[str, Callable[[Path], None]] = {
    "deleted": shutil.rmtree,
    "without machine code": without(".nbc"),
    "machine code cut short": cut_to(0.5, ".nbc"),
    "machine code of one function cut short": cut_to(0.9, ".nbc", of=".expand."),
    "a byte of machine code changed": flipped(0.5),
    "the last byte of machine code changed": flipped(1),
    "the code of one function in the place of another": exchanged(".move.", ".check."),
    "everything empty": cut_to(0, ".nbc", ".py"),
    "no folder for machine code": folder_as_file,
    "no cache at all": cache_as_file,
}

USUAL = (
    "machine code cut short",
    "a byte of machine code changed",
    "the code of one function in the place of another",
)
"""The quick tier's damages. Each compiles a kernel anew, and they cover the others unless Numba changes."""

TEXT_ALONE: dict[str, Callable[[Path], None]] = {"missing": without(".py"), "cut short": cut_to(0.5, ".py")}


def test_a_second_start_compiles_nothing(cache: Path) -> None:
    """A second process loads the functions that the first one compiled, and compiles none."""
    assert compiled_by(started(cache)) == 0


@pytest.mark.parametrize(
    "what", [what if what in USUAL else pytest.param(what, marks=pytest.mark.slow) for what in SPOILT]
)
def test_a_broken_cache_changes_no_answer(what: str, cache: Path) -> None:
    """If any part of the cache is missing, damaged or in the way, the kernel is compiled again without a message."""
    SPOILT[what](cache)

    assert compiled_by(started(cache)) > 0


@pytest.mark.parametrize("what", [pytest.param("missing", marks=pytest.mark.slow), "cut short"])
def test_a_broken_text_is_written_again(what: str, cache: Path) -> None:
    """The kernel's text is generated from the model each time, so a damaged text in the cache does no harm."""
    [text] = files(cache, ".py")
    whole = text.read_text(encoding="utf-8")
    TEXT_ALONE[what](cache)

    compiled_by(started(cache))

    assert text.read_text(encoding="utf-8") == whole


def test_a_mended_cache_serves_again(cache: Path) -> None:
    """Machine code that was compiled again replaces the unreadable code."""
    cut_to(0.5, ".nbc")(cache)

    assert compiled_by(started(cache)) > 0
    assert compiled_by(started(cache)) == 0


@pytest.mark.parametrize("what", ["python_version", "machine"])
def test_machine_code_of_another_machine_has_another_name(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code of different machines has different names, so a shared or old folder does no harm."""
    here = build._digest("text")
    monkeypatch.setattr(build.platform, what, lambda: "another")
    assert build._digest("text") != here
    assert build._digest("another text") != build._digest("text")
