"""Memory as the kernel sees it: words of 64 bits at an address, a number that fits one register.

Numba passes an array to a function as seven values or more, and checks each index for being negative. Code that runs
for each step of each state cannot afford that. An address is an integer in bytes, an index counts words. An address is
valid as long as some Python object holds the array; nothing checks that, or that an index lies within the array.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

# The arguments of LLVM's prefetch: for reading, to be kept in all levels of the cache, data and not instructions.
READ, LOCALITY, DATA = 0, 3, 1


def _pointer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """A pointer to the word at an address and an index."""
    # Callers pass integers of any width and sign, so both are cast to 64 bits.
    start, index = (context.cast(builder, args[at], signature.args[at], types.int64) for at in (0, 1))
    word = ir.IntType(64)
    return builder.gep(builder.inttoptr(start, word.as_pointer()), [index])


@intrinsic
def address(typing_context: Any, array: Any) -> Any:  # noqa: ARG001 - the shape that Numba calls
    """``address(array)``: the address of the array's first word. The array is contiguous, row by row."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.ptrtoint(data, ir.IntType(64))

    return types.int64(array), codegen


@intrinsic
def peek(typing_context: Any, start: Any, index: Any) -> Any:  # noqa: ARG001 - as above
    """``peek(start, index)``: the word that lies ``index`` words behind the address ``start``."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_pointer(context, builder, signature, args))

    return types.int64(start, index), codegen


@intrinsic
def poke(typing_context: Any, start: Any, index: Any, value: Any) -> Any:  # noqa: ARG001 - as above
    """``poke(start, index, value)``: write the word that lies ``index`` words behind the address ``start``."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = context.cast(builder, args[2], signature.args[2], types.int64)
        builder.store(word, _pointer(context, builder, signature, args))
        return context.get_dummy_value()

    return types.void(start, index, value), codegen


@intrinsic
def prefetch(typing_context: Any, start: Any, index: Any) -> Any:  # noqa: ARG001 - as above
    """``prefetch(start, index)``: begin to load the cache line of that word. It changes no result."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.bitcast(_pointer(context, builder, signature, args), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")  # type: ignore[no-untyped-call]
        builder.call(function, [pointer, number(READ), number(LOCALITY), number(DATA)])
        return context.get_dummy_value()

    return types.void(start, index), codegen
