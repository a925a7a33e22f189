"""A text in the language of kernels, compiled to machine code and run by CPython."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from holdfast.lower.kernel import build
from holdfast.lower.kernel.llvm.object_code import FULL
from tests.kernel import plain


def machine(text: str) -> Any:
    """The compiled functions of a text."""
    return build._module(build._content(text, FULL), FULL)


def python(text: str) -> Callable[[int, int], int]:
    """The function ``main`` of a text, run by CPython."""
    names: dict[str, Any] = {}
    # NumPy makes no unsigned word of a negative number; machine code takes its bits.
    for name in "xy":
        text = text.replace(f"np.uint64({name})", f"np.uint64({name} % 2**64)")
    with np.errstate(all="ignore"):
        exec(compile(plain.HEAD + text, "<text>", "exec"), names)  # noqa: S102 - the text that is under test

    def main(x: int, y: int) -> int:
        with np.errstate(all="ignore"):
            return int(names["main"](x, y))

    return main
