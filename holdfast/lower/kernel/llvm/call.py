"""Functions of machine code as functions of Python: NumPy arrays and numbers go in, numbers and tuples come out."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from holdfast.lower.kernel.llvm.kinds import TRUTH, UNSIGNED, Array, Kind, Nothing, Scalar, Tuple, registers
from holdfast.lower.kernel.llvm.module import EntryPoint
from holdfast.lower.kernel.llvm.object_code import LoadedCode
from holdfast.lower.kernel.llvm.values import GREATEST, LEAST

MODULUS = 1 << 64


def callable_entry(loaded: LoadedCode, name: str, entry: EntryPoint) -> Callable[..., Any]:
    """The Python function of an entry.

    It asserts that its arguments are of the kinds that the entry takes: machine code would read beyond an array that
    has another type, or whose rows do not follow one another.
    """
    types = [ctypes.c_void_p if llvm == "ptr" else ctypes.c_int64 for kind in entry.params for llvm in registers(kind)]
    function = loaded.function(name, [*types, ctypes.c_void_p])
    words = len(registers(entry.result))

    def call(*args: Any) -> Any:
        assert len(args) == len(entry.params), f"{name} takes {len(entry.params)} arguments"
        given: list[int] = []
        for kind, arg in zip(entry.params, args, strict=True):
            given += _words(kind, arg)
        # Memory of its own for each call, since several threads may call at once.
        out = (ctypes.c_int64 * words)()
        function(*given, ctypes.addressof(out))
        return _value(entry.result, list(out))

    # The machine code must live as long as the function that calls it.
    call.__dict__["loaded"] = loaded
    return call


def _words(kind: Kind, arg: Any) -> Sequence[int]:
    """The words of an argument."""
    match kind:
        case Array(bits, signed, extents):
            assert isinstance(arg, np.ndarray)
            assert arg.dtype == np.dtype(f"{'i' if signed else 'u'}{bits // 8}"), f"an array of {arg.dtype}"
            assert arg.ndim == extents
            assert arg.flags.c_contiguous
            return [arg.ctypes.data, *arg.shape]
        case Tuple(parts):
            return [each for part, value in zip(parts, arg, strict=True) for each in _words(part, value)]
        case _:
            word = int(arg)
            # ctypes would drop the bits that do not fit.
            assert (0 <= word < MODULUS) if kind == UNSIGNED else (LEAST <= word <= GREATEST), f"{word} is no {kind}"
            return [word]


def _value(kind: Kind, words: list[int]) -> Any:
    """The result that these words stand for; takes them off the list."""
    match kind:
        case Nothing():
            return None
        case Tuple(parts):
            return tuple(_value(part, words) for part in parts)
        case Scalar():
            word = words.pop(0)
            return bool(word) if kind == TRUTH else word % MODULUS if kind == UNSIGNED else word
    raise AssertionError(kind)
