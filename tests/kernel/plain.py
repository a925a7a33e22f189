"""The kernel without its compiler: Python runs the same text, which is slow but needs no compile time.

Tests of the compiled kernel check the compiler's part; Python checks the text's meaning. Array elements have the same
width in both, so storing a number beyond 64 bits is an error here.
"""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.lower.kernel import build, kernel
from holdfast.lower.kernel.llvm.object_code import FULL, QUICK

HEAD = """
from __future__ import annotations

from tests.kernel.plain import address, machine_words as np, peek, poke, prefetch, reserve


def jit(function):
    if function.__name__ in ("hashed", "mixed"):  # They overflow on purpose.
        return np.errstate(over="ignore")(function)
    return function


entry = inlined = jit


"""


class MachineWords:
    """The part of NumPy that a kernel's text uses. A conversion keeps the bits, where NumPy refuses a number."""

    errstate = np.errstate

    @staticmethod
    def uint64(number: int) -> np.uint64:
        """The unsigned word with the bits of a number."""
        return np.uint64(int(number) & (1 << 64) - 1)

    @staticmethod
    def int64(number: int) -> np.int64:
        """The number with the bits of a word."""
        return np.uint64(number).astype(np.int64) if isinstance(number, np.uint64) else np.int64(number)


machine_words = MachineWords()


@attrs.frozen
class Address:
    """An address: an array, and an offset of N words in it."""

    words: NDArray[np.int64]
    start: int = 0

    def __add__(self, count: int) -> Address:
        """The address N bytes further on."""
        return Address(self.words, self.start + count // 8)


def address(array: NDArray[np.int64]) -> Address:
    """The address of an array's first word."""
    flat = array.view()
    flat.shape = (-1,)  # An error unless the words follow one another.
    return Address(flat)


def peek(at: Address | int, index: int) -> int:
    """The word at an address, as a Python int, since NumPy's arithmetic differs from Python's."""
    if not isinstance(at, Address):
        return _word(at, index).value
    assert at.start + index >= 0
    return int(at.words[at.start + index])


def poke(at: Address | int, index: int, value: int) -> None:
    """Store a word at an address."""
    if not isinstance(at, Address):
        _word(at, index).value = int(value)
        return
    assert at.start + index >= 0
    at.words[at.start + index] = MachineWords.int64(value)


def poke_bits(at: Address | int, index: int, value: int) -> None:
    """Store the lowest 64 bits of a word: a stream of random numbers adds words until they wrap."""
    poke(at, index, MachineWords.int64(MachineWords.uint64(value)))


def _word(at: int, index: int) -> ctypes.c_int64:
    """The word in memory whose address a directory holds as a number."""
    return ctypes.c_int64.from_address(int(at) + 8 * int(index))


def prefetch(at: Address | int, index: int) -> None:
    """Do nothing: prefetching has no visible effect."""


def reserve(words: int) -> Address:
    """The address of words that hold no number that a kernel may rely on."""
    return Address(np.full(words, -(1 << 62), np.int64))


def plain_build(functions: str, driver: str = "driver.py", *, quick: bool = False) -> SimpleNamespace:
    """Return what ``build`` returns, with functions that Python runs."""
    head = HEAD.replace("poke", "poke_bits as poke") if driver == "walk_driver.py" else HEAD
    text = head + build.kernel_text(functions, driver).removeprefix(build.HEAD)
    names: dict[str, object] = {}
    exec(compile(text, "<kernel>", "exec"), names)  # noqa: S102 - the text that is under test
    return SimpleNamespace(**names, LEVEL=QUICK if quick else FULL)


def use_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, kernels are not compiled."""
    monkeypatch.setattr(kernel, "build", plain_build)
