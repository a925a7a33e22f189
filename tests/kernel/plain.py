"""The kernel without its compiler: the same text, run by Python, which is slow and ready at once.

What the compiler makes of the text, the tests that compile it see; what the text says, Python says as well. Numbers in
arrays are as wide here as there, so a word that overflows is an error once it is stored.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from holdfast.lower.kernel import build, kernel

HEAD = """
import numpy as np


def jit(function):
    if function.__name__ == "load":  # NumPy's own numbers calculate in ways that neither Python nor Numba does.
        return lambda rows, i: tuple(map(int, function(rows, i)))
    if function.__name__ == "hashed":  # It overflows on purpose.
        return np.errstate(over="ignore")(function)
    return function


entry = jit


def prefetch(array, index):
    pass


"""


def plain_build(functions: str, driver: str = "driver.py") -> SimpleNamespace:
    """What ``build`` gives, of functions that Python runs."""
    text = HEAD + build.kernel_text(functions, driver).removeprefix(build.HEAD)
    names: dict[str, object] = {}
    exec(compile(text, "<kernel>", "exec"), names)  # noqa: S102 - the text that is under test
    return SimpleNamespace(**names)


def use_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, kernels are not compiled."""
    monkeypatch.setattr(kernel, "build", plain_build)
