"""The prompt at the bottom that asks for an expression or a file, and the sheet that shows a text above the panes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static

Question = Literal["find", "search", "watch", "save", "open"]

QUESTIONS: dict[Question, str] = {
    "find": "go along this run to the next state where (expression)",
    "search": "go to the nearest state from here where (expression)",
    "watch": "watch (expression)",
    "save": "save this run to (a name ending in .json: ITF; otherwise the line)",
    "open": "open (file, line or model)",
}


class Prompt(Input):
    """Asks one question at a time; hidden while there is no question."""

    class Answered(Message):
        """The user has answered the question."""

        def __init__(self, question: Question, text: str) -> None:
            super().__init__()
            self.question = question
            self.text = text

    class Closed(Message):
        """The user has closed the prompt without an answer."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", show=False)]

    def __init__(self, *, id: str) -> None:  # noqa: A002 - textual's name
        super().__init__(id=id, compact=True)
        self.question: Question = "find"
        self._last: dict[Question, str] = {}
        """The last answer to each question, offered again because the next one is often similar."""

    def ask(self, question: Question) -> None:
        """Show the question, with the last answer to it."""
        self.question = question
        self.border_title = QUESTIONS[question]
        self.value = self._last.get(question, "")
        self.cursor_position = len(self.value)
        self.display = True
        self.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Post the answer. The app closes the prompt if it accepts the answer, and leaves it open otherwise."""
        event.stop()
        self._last[self.question] = self.value
        self.post_message(self.Answered(self.question, self.value.strip()))

    def action_close(self) -> None:
        """Tell the app that the user closed the prompt."""
        self.post_message(self.Closed())


class Sheet(ModalScreen[None]):
    """A text that stays until a key is pressed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark", "dismiss", "close"),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("down,j", "scroll(1)", show=False),
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> Iterable[VerticalScroll]:
        paper = VerticalScroll(Static(self._text, markup=False), id="paper")
        paper.border_title = self._title
        paper.border_subtitle = "Esc closes"
        yield paper

    def action_scroll(self, lines: int) -> None:
        """Scroll the text by N lines; a negative number scrolls up."""
        self.query_one("#paper").scroll_relative(y=lines, animate=False)
