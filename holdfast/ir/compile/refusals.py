"""Collects the errors of one model, so that one message tells all of them.

An error in one part must not hide those in the others. But what follows from an error is not told: a method that
mentions a refused field, method or scope is not judged, because its author may be right about the name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import attrs

from holdfast.ir.errors import ModelError, ModelErrors


class Refusals:
    """The errors of a model so far, and the names that they leave without a meaning."""

    def __init__(self) -> None:
        self._errors: dict[str, ModelError] = {}
        self.names: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._errors)

    @contextmanager
    def collect(self, *names: str) -> Iterator[None]:
        """A block that ends at its first ModelError, which is kept. ``names`` are then refused names."""
        try:
            yield
        except ModelError as error:
            # A helper with an error is expanded in each method that calls it: one error, met several times.
            for each in error.errors:
                self._errors.setdefault(str(each), each)
            self.names.update(names)

    def concern(self, node: ast.AST) -> bool:
        """Whether a method mentions a refused name, so that an error in it may only follow from another one."""
        return any(isinstance(part, ast.Attribute) and part.attr in self.names for part in ast.walk(node))

    def spread(self, helpers: Mapping[str, ast.AST]) -> None:
        """Refuse also each helper that mentions a refused name, directly or through other helpers."""
        before = -1
        while before < len(self.names):
            before = len(self.names)
            self.names.update(name for name, node in helpers.items() if self.concern(node))

    def raise_all(self) -> None:
        """Raise the only error, or all errors in the order of the source; return if there is none."""
        errors = sorted(self._errors.values(), key=lambda error: attrs.astuple(error.place))
        if len(errors) == 1:
            raise errors[0]
        if errors:
            raise ModelErrors(errors)
