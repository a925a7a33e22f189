"""The kinds of values in a kernel's text, and how LLVM holds them.

A number is a signed word of 64 bits. An ``Unsigned`` is a word whose arithmetic is modulo 2^64; it never mixes with
numbers. A truth is one bit, and counts as a number wherever a number is needed. A tuple is held as its parts, each in a
register of its own. An array is the address of its first item and its extents.
"""

from __future__ import annotations

import attrs


class KernelTextError(Exception):
    """The text is outside the language of kernels. Generated text never is, so this is an internal error."""


@attrs.frozen
class Scalar:
    """A value in one register. ``llvm`` is LLVM's name of its type."""

    name: str
    llvm: str


NUMBER = Scalar("number", "i64")
UNSIGNED = Scalar("unsigned", "i64")
TRUTH = Scalar("truth", "i1")


@attrs.frozen
class Tuple:
    """Several values."""

    parts: tuple[Kind, ...]


@attrs.frozen
class Array:
    """An array whose rows follow one another. Its items have ``bits`` bits, with a sign or without one."""

    bits: int
    signed: bool
    extents: int
    """The number of dimensions."""


@attrs.frozen
class Nothing:
    """The kind of a call that returns nothing."""


Kind = Scalar | Tuple | Array | Nothing

ANNOTATIONS: dict[str, Kind] = {
    "Unsigned": UNSIGNED,
    "Line": Array(64, signed=True, extents=1),
    "Rows": Array(64, signed=True, extents=2),
    "Blocks": Array(64, signed=True, extents=3),
    "Line32": Array(32, signed=True, extents=1),
    "Line16": Array(16, signed=False, extents=1),
    "Line8": Array(8, signed=False, extents=1),
}
"""The kinds of parameters by annotation. ``State`` is a tuple of words; a parameter without annotation is a number."""


def registers(kind: Kind) -> list[str]:
    """LLVM's types of the registers that hold a value of this kind."""
    match kind:
        case Scalar(_, llvm):
            return [llvm]
        case Tuple(parts):
            return [each for part in parts for each in registers(part)]
        case Array(extents=extents):
            return ["ptr", *["i64"] * extents]
        case Nothing():
            return []


def joined(one: Kind, two: Kind) -> Kind:
    """The kind that holds values of both kinds; raises KernelTextError if there is none."""
    if one == two:
        return one
    if {one, two} == {NUMBER, TRUTH}:
        return NUMBER
    if isinstance(one, Tuple) and isinstance(two, Tuple) and len(one.parts) == len(two.parts):
        return Tuple(tuple(map(joined, one.parts, two.parts)))
    raise KernelTextError(f"one name or result stands for {said(one)} and for {said(two)}")


def said(kind: Kind) -> str:
    """A kind in words, for messages."""
    match kind:
        case Scalar(name):
            return name
        case Tuple(parts):
            return f"a tuple of {len(parts)}"
        case Array():
            return "an array"
        case Nothing():
            return "nothing"


def returned(kind: Kind) -> str:
    """LLVM's type of the result of a function: one register, a structure of several, or ``void``."""
    types = registers(kind)
    if len(types) <= 1:
        return types[0] if types else "void"
    return f"{{ {', '.join(types)} }}"


def kind_to_json(kind: Kind) -> object:
    """A kind as JSON: a scalar is its name, a tuple a list of its parts."""
    match kind:
        case Scalar(name):
            return name
        case Tuple(parts):
            return [kind_to_json(part) for part in parts]
        case Array(bits, signed, extents):
            return {"bits": bits, "signed": signed, "extents": extents}
        case Nothing():
            return None


def kind_of_json(value: object) -> Kind:
    """The kind that ``kind_to_json`` wrote."""
    match value:
        case str():
            return {kind.name: kind for kind in (NUMBER, UNSIGNED, TRUTH)}[value]
        case list():
            return Tuple(tuple(map(kind_of_json, value)))
        case dict():
            return Array(**value)
        case _:
            return Nothing()
