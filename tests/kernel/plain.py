"""The kernel without its compiler: the same text, run by Python, which is slow and ready at once.

What the compiler makes of the text, the tests that compile it see; what the text says, Python says as well. Numbers in
arrays are as wide here as there, so a word that overflows is an error once it is stored.
"""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.lower.kernel import build, kernel

HEAD = """
import numpy as np
from tests.kernel.plain import address, peek, poke, prefetch


def jit(function):
    if function.__name__ == "hashed":  # It overflows on purpose.
        return np.errstate(over="ignore")(function)
    return function


entry = jit


"""


@attrs.frozen
class Address:
    """A place in an array: so many words after its first."""

    words: NDArray[np.int64]
    start: int = 0

    def __add__(self, count: int) -> Address:
        """So many bytes on."""
        return Address(self.words, self.start + count // 8)


def address(array: NDArray[np.int64]) -> Address:
    """Where an array begins."""
    flat = array.view()
    flat.shape = (-1,)  # An error unless the words follow one another.
    return Address(flat)


def peek(at: Address | int, index: int) -> int:
    """The word there: a number of Python, for NumPy's calculate in ways that neither Python nor Numba does."""
    if not isinstance(at, Address):
        return _word(at, index).value
    assert at.start + index >= 0
    return int(at.words[at.start + index])


def poke(at: Address | int, index: int, value: int) -> None:
    """Put a word there."""
    if not isinstance(at, Address):
        _word(at, index).value = int(value)
        return
    assert at.start + index >= 0
    at.words[at.start + index] = value


def _word(at: int, index: int) -> ctypes.c_int64:
    """A word in memory that a directory names by a number."""
    return ctypes.c_int64.from_address(int(at) + 8 * int(index))


def prefetch(at: Address | int, index: int) -> None:
    """Nothing that could be seen."""


def plain_build(functions: str, driver: str = "driver.py") -> SimpleNamespace:
    """What ``build`` gives, of functions that Python runs."""
    text = HEAD + build.kernel_text(functions, driver).removeprefix(build.HEAD)
    names: dict[str, object] = {}
    exec(compile(text, "<kernel>", "exec"), names)  # noqa: S102 - the text that is under test
    return SimpleNamespace(**names)


def use_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, kernels are not compiled."""
    monkeypatch.setattr(kernel, "build", plain_build)
