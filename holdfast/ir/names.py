"""Names that the compiler makes, and the names of the source that they stand for."""

from __future__ import annotations


class UniqueName(str):
    """A name that the compiler gave to a bound variable or local, because the body has another one of its name.

    It is a text such as ``i_2`` for the engines; ``source`` is the name in the model, such as ``i``. The variable that
    is the length of a sequence has such a name too.
    """

    __slots__ = ("source",)

    source: str

    def __new__(cls, text: str, source: str) -> UniqueName:
        made = super().__new__(cls, text)
        made.source = source
        return made

    def __reduce__(self) -> tuple[type[UniqueName], tuple[str, str]]:
        return UniqueName, (str(self), self.source)


def source_name(name: str) -> str:
    """A name as the model's author wrote it. Messages show this one: the author knows no other."""
    return name.source if isinstance(name, UniqueName) else name


def length_name(sequence: str) -> str:
    """The name of the variable that is the length of a sequence."""
    return UniqueName(f"{sequence}_length", sequence)
