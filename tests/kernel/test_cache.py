"""Compiled kernels on disk are found again, and a search's answer does not depend on the state of the cache."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from holdfast.cli.app import main
from holdfast.lower.kernel import build
from holdfast.lower.kernel.cache import CACHE_VARIABLE, cache_folder, cache_problem, make_cache_folder
from holdfast.lower.kernel.llvm.object_code import FULL, QUICK

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "tests" / "lower" / "models" / "streams.py"
SCRIPT = ROOT / "tests" / "kernel" / "compile_events.py"
ANSWER = ["exhausted", "7"]


def started(cache: Path) -> subprocess.Popen[str]:
    """A running process that searches and keeps its kernel in this cache."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(SCRIPT), str(MODEL), "tiny"],
        cwd=ROOT,
        env=os.environ | {"HOLDFAST_CACHE": str(cache), "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": f"{cache}.home"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def compiled_by(process: subprocess.Popen[str]) -> int:
    """The number of kernels that the process compiled. Its answer must be right, and it must print no error."""
    out, err = process.communicate(timeout=300)
    *answer, _, compiled = out.split()
    assert (process.returncode, answer, err) == (0, ANSWER, "")
    return int(compiled)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that holds the kernel, filled by two processes that started at once."""
    cache = tmp_path_factory.mktemp("cache")
    both = [started(cache), started(cache)]
    # On a busy machine one of them may end before the other looks into the cache.
    assert sum([compiled_by(process) for process in both]) > 0
    return cache


@pytest.fixture
def cache(filled: Path, tmp_path: Path) -> Path:
    """A copy of the filled cache for a test to damage."""
    return Path(shutil.copytree(filled, tmp_path / "cache"))


def files(cache: Path) -> list[Path]:
    """The files with machine code; there must be some."""
    found = sorted(cache.rglob(f"*{build.CODE_SUFFIX}"))
    assert found
    return found


def cut_to(part: float) -> Callable[[Path], None]:
    """Truncate the machine code to this part of its length."""

    def cut(cache: Path) -> None:
        for path in files(cache):
            os.truncate(path, int(path.stat().st_size * part))

    return cut


def flipped(part: float) -> Callable[[Path], None]:
    """Change one byte of the machine code, at this part of its length."""

    def flip(cache: Path) -> None:
        for path in files(cache):
            content = bytearray(path.read_bytes())
            content[int((len(content) - 1) * part)] ^= 1
            path.write_bytes(content)

    return flip


def without_code(cache: Path) -> None:
    """Delete the machine code."""
    for path in files(cache):
        path.unlink()


def folder_as_file(cache: Path) -> None:
    """Put a file in place of the folder of compiled code, so that nothing can be written."""
    for path in [path.parent for path in files(cache)]:
        shutil.rmtree(path)
        path.write_text("in the way")


def cache_as_file(cache: Path) -> None:
    """Put a file in place of the cache, so that no folder can be created."""
    shutil.rmtree(cache)
    cache.write_text("in the way")


SPOILT: dict[str, Callable[[Path], None]] = {
    "deleted": shutil.rmtree,
    "without machine code": without_code,
    "machine code cut short": cut_to(0.5),
    "the first byte changed": flipped(0),
    "a byte of machine code changed": flipped(0.5),
    "the last byte of machine code changed": flipped(1),
    "everything empty": cut_to(0),
    "no folder for machine code": folder_as_file,
    "no cache at all": cache_as_file,
}


def test_a_second_start_compiles_nothing(cache: Path) -> None:
    """A second process loads the functions that the first one compiled, and compiles none."""
    assert compiled_by(started(cache)) == 0


@pytest.mark.parametrize("what", SPOILT)
def test_a_broken_cache_changes_no_answer(what: str, cache: Path) -> None:
    """If any part of the cache is missing, damaged or in the way, the kernel is compiled again without a message."""
    SPOILT[what](cache)

    assert compiled_by(started(cache)) > 0


TINY = "WORDS = 1\n\n\n@entry\ndef twice(x):\n    return x + x\n"
"""The text of a kernel with one function."""


def test_it_is_known_what_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text counts as compiled once it was built, also for another process that finds it in the cache."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setattr(build, "_built", {})
    functions = (
        "@jit\ndef load(states_at, i):\n    return (peek(states_at, i),)\n\n\n"
        "@jit\ndef differs(s, wanted, whole, mutant):\n    return s[0] == wanted\n"
    )
    assert build.is_compiled(functions, "compare_driver.py") is False
    build.build(functions, "compare_driver.py")
    assert build.is_compiled(functions, "compare_driver.py") is True
    monkeypatch.setattr(build, "_built", {})
    assert build.is_compiled(functions, "compare_driver.py") is True
    assert build.is_compiled(functions.replace("==", "!="), "compare_driver.py") is False


def test_full_code_serves_for_quick_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quick code is compiled only where there is no code at all, and never serves for full code."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setattr(build, "_built", {})
    monkeypatch.setattr(build, "kernel_text", lambda functions, _: functions)
    monkeypatch.setattr(build, "compiled_here", compiled := [])

    def level(*, quick: bool) -> int:
        module = build.build(TINY, quick=quick)
        assert module.twice(21) == 42
        return int(module.LEVEL)

    assert [level(quick=True), level(quick=True)] == [QUICK, QUICK]
    assert build.is_compiled(TINY, quick=True)
    assert not build.is_compiled(TINY)
    assert [level(quick=False), level(quick=True)] == [FULL, FULL]
    monkeypatch.setattr(build, "_built", {})
    assert [level(quick=True), len(compiled)] == [FULL, 2]


def test_a_changed_byte_is_never_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with one byte changed, at 1,000 places drawn by a seed, counts as missing; the true file is read."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    content, name = build._content(TINY, FULL), build._name(TINY, FULL)
    path = tmp_path / "holdfast" / "kernels" / f"{name}{build.CODE_SUFFIX}"
    draws = random.Random(1)
    for _ in range(1000):
        changed = bytearray(content)
        changed[draws.randrange(len(content))] ^= 1 << draws.randrange(8)
        build._write(path, bytes(changed))
        assert build._kept(name) is None

    build._write(path, content)
    assert build._kept(name) == content
    assert build._module(content, FULL).twice(21) == 42


def test_code_under_another_name_is_never_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The digest covers the name, so the code of one kernel does not stand in for another."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    path = make_cache_folder() / f"{build._name(TINY, QUICK)}{build.CODE_SUFFIX}"
    build._write(path, build._content(TINY, FULL))
    assert build._kept(build._name(TINY, QUICK)) is None


# Whose folder it is ---------------------------------------------------------------------------------------------------


def outer_and_inner(root: Path) -> list[Path]:
    """The two folders of the cache."""
    return [root / "holdfast", root / "holdfast" / "kernels"]


def test_nobody_else_may_enter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folders are made with mode 0700, under any umask; those of an older version get it when a file is written."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    before = os.umask(0)
    try:
        folder = make_cache_folder()
        assert [each.stat().st_mode & 0o777 for each in outer_and_inner(tmp_path)] == [0o700, 0o700]
        for each in outer_and_inner(tmp_path):
            each.chmod(0o755)
        build._write(folder / "a.kernel", b"code")
        assert [each.stat().st_mode & 0o777 for each in outer_and_inner(tmp_path)] == [0o700, 0o700]
    finally:
        os.umask(before)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: int, mode: int
) -> None:
    """Good code in a folder that others may write to is neither loaded nor added to, and the reason is one line."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    name, content = build._name(TINY, FULL), build._content(TINY, FULL)
    build._write(cache_folder() / f"{name}{build.CODE_SUFFIX}", content)
    assert build._kept(name) == content
    folder = outer_and_inner(tmp_path)[which]
    folder.chmod(mode)

    assert build._kept(name) is None
    with pytest.raises(PermissionError):
        build._write(cache_folder() / "b.kernel", b"code")
    assert cache_problem() == (
        f"the cache of compiled kernels is not used, because others may write to {folder} (mode {mode:o}); remove that "
        "folder, or name one of your own with HOLDFAST_CACHE"
    )


def test_a_folder_of_somebody_else_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same holds for a folder of another user, whatever its mode is."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    name, content = build._name(TINY, FULL), build._content(TINY, FULL)
    build._write(cache_folder() / f"{name}{build.CODE_SUFFIX}", content)
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert build._kept(name) is None
    assert f"because {tmp_path / 'holdfast'} belongs to user {me}; " in (cache_problem() or "")


def test_a_command_says_that_its_cache_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command gives its answer without the cache, and says on standard error why it was not used."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    make_cache_folder().chmod(0o777)
    assert main(["check", str(MODEL), "--scope", "tiny", "--engine", "kernel"]) == 0
    captured = capsys.readouterr()
    assert "exhausted" in captured.out
    [said] = [line for line in captured.err.splitlines() if "cache" in line]
    assert said == f"holdfast: {cache_problem()}"
    assert list(cache_folder().iterdir()) == []


def test_a_mended_cache_serves_again(cache: Path) -> None:
    """Machine code that was compiled again replaces the unreadable code."""
    cut_to(0.5)(cache)

    assert compiled_by(started(cache)) > 0
    assert compiled_by(started(cache)) == 0


@pytest.mark.parametrize("what", ["compiler", "_translator"])
def test_machine_code_of_another_compiler_has_another_name(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another processor, LLVM or translator gives machine code another name, so a shared folder does no harm."""
    here = build._name("text", FULL)
    monkeypatch.setattr(build, what, lambda: "another")
    assert build._name("text", FULL) != here
    assert build._name("another text", FULL) != build._name("text", FULL)


def test_what_was_built_counts_as_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel need not be compiled again if this process has built it, or if its code lies in the cache."""
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path))
    text = "# A text of which there is no code."
    assert not build.is_compiled(text)
    monkeypatch.setitem(build._built, build._name(build.kernel_text(text, "driver.py"), FULL), (b"", SimpleNamespace()))
    assert build.is_compiled(text)
