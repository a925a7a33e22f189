"""The filter of the explorer's screen: names of a file reach the terminal only as printable text."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from textual.app import App
from textual.color import Color
from textual.filter import LineFilter

from holdfast.ir.printable import printable


class PrintableText(LineFilter):
    """Makes the texts of a line printable. A longer text shifts the rest of its line, which no honest name does."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - textual's signature
        """The segments of a line with printable texts."""
        return [Segment(printable(text), style, control) for text, style, control in segments]


class PrintableApp(App[None]):
    """An app all of whose lines are printable."""

    def __init__(self) -> None:
        super().__init__()
        self._printable = PrintableText()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The filters of textual, and that of printable text."""
        return [*super().get_line_filters(), self._printable]
