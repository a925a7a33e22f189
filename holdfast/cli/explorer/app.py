"""The explorer: shows a session on the screen, controlled by keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Footer, Static
from textual.worker import Worker, WorkerState, get_current_worker

from holdfast.cli.explorer import wording
from holdfast.cli.explorer.help import HELP
from holdfast.cli.explorer.panes import ChoicePane, RunPane, StatePane, WatchPane
from holdfast.cli.explorer.printable_text import PrintableApp
from holdfast.cli.explorer.prompt import Prompt, Question, Sheet
from holdfast.cli.legend import legend_for
from holdfast.cli.output import write
from holdfast.ir.errors import HoldfastError
from holdfast.runs.explorer.expression import Expression
from holdfast.runs.explorer.nearest import BUDGET, Search
from holdfast.runs.explorer.session import Session
from holdfast.runs.loading import is_file
from holdfast.trace.itf import itf_text
from holdfast.trace.line import replay_command
from holdfast.trace.text import count

THEMES = ("textual-dark", "textual-light")
"""The themes that the theme key switches between. Both paint their own background, whatever the terminal's colours."""

PAPER = 90
"""The largest width of a sheet, in columns; the same number as ``max-width`` in STYLE."""

Opener = Callable[[str], tuple[Session, str | None]]
"""Opens a file, a line or a model: returns the session, and a note about it or None."""

STYLE = """
#heading { height: auto; max-height: 2; padding: 0 1; background: $primary; color: $text; }
#columns { height: 1fr; }
#left, #right { width: 1fr; height: 1fr; }
.pane { border: none; border-top: solid $foreground 50%; border-title-color: $foreground; padding: 0 1;
        background: $background; scrollbar-size-vertical: 1; }
.pane:focus { border-top: heavy $accent; border-title-style: bold reverse; }
#run { height: 1fr; }
#state { height: 1fr; }
#choices { height: 1fr; overflow-x: hidden; }
#run > .option-list--option-highlighted { background: $foreground 15%; color: $foreground; }
#run:focus > .option-list--option-highlighted { background: $accent 30%; color: $foreground; text-style: bold; }
#right { border-left: solid $foreground 50%; }
#watches { height: auto; max-height: 50%; }
#status { height: auto; max-height: 4; padding: 0 1; }
#status.error { color: $text-error; text-style: bold; }
#prompt { display: none; border: none; border-top: heavy $accent; border-title-color: $foreground; height: 2;
          padding: 0 1; }
Sheet { align: center middle; }
#paper { width: 95%; max-width: 90; height: auto; max-height: 100%; border: heavy $accent; padding: 0 1;
         background: $background; }
.-narrow #columns { layout: vertical; }
.-narrow #right { border-left: none; }
.-narrow #left, .-narrow #right { width: 1fr; }
"""


class Explorer(PrintableApp):
    """Shows a session. ``note`` is the first message at the bottom; ``opener`` opens what the user names later."""

    CSS = STYLE
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - textual declares it as an attribute of each app
        (0, "-narrow"),
        (64, "-wide"),
    ]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "help", key_display="?"),
        Binding("left,h", "step(-1)", "step", key_display="← →"),
        Binding("right,l", "step(1)", show=False),
        Binding("v", "violation", "violated"),
        Binding("u", "undo", "undo"),
        Binding("r", "redo", show=False),
        Binding("slash", "ask('find')", "find", key_display="/"),
        Binding("s", "ask('search')", "search"),
        Binding("w", "ask('watch')", "watch"),
        Binding("W", "unwatch", show=False),
        Binding("b", "branch", "runs"),
        Binding("g", "first", show=False),
        Binding("G", "last", show=False),
        Binding("f", "full", show=False),
        Binding("y", "line", show=False),
        Binding("m", "rules", show=False),
        Binding("t", "theme", show=False),
        Binding("o", "ask('open')", show=False),
        Binding("ctrl+s", "ask('save')", "save", key_display="^s"),
        Binding("escape", "cancel", show=False),
        Binding("q", "quit", "quit"),
    ]
    OWN: ClassVar[frozenset[str]] = frozenset(
        binding.action.partition("(")[0] for binding in BINDINGS if isinstance(binding, Binding)
    ) - {"quit"}
    """The actions that ``check_action`` may disable; textual's own actions, such as quit, are always possible."""

    def __init__(self, session: Session, opener: Opener, note: str | None = None) -> None:
        super().__init__()
        self.session = session
        self.opener = opener
        self.full = False
        self.budget = BUDGET
        """The most states that a search visits."""
        self.searching: Worker[Search] | None = None
        self._note = note
        self._overflow = ""
        """The cut-off line that the status line shows, or the empty text."""
        self._asked_from: Widget | None = None
        self._replace: Path | None = None
        """The existing file that the user named last; naming it a second time confirms that it is replaced."""

    def compose(self) -> Iterable[Widget]:
        yield Static(id="heading", markup=False)
        with Horizontal(id="columns"):
            with Vertical(id="left"):
                yield RunPane(id="run", classes="pane")
                yield WatchPane(id="watches", classes="pane")
            with Vertical(id="right"):
                yield StatePane(id="state", classes="pane")
                choices = ChoicePane(id="choices")
                choices.add_class("pane")
                yield choices
        yield Static(id="status", markup=False)
        yield Prompt(id="prompt")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Show the session and the first note."""
        self.query_one(RunPane).focus()
        self.refresh_panes()
        self.tell(self._note or "")

    # Showing ----------------------------------------------------------------------------------------------------

    def refresh_panes(self) -> None:
        """Show the current state of the session in all panes."""
        session = self.session
        broken = session.violated()
        heading = Content(f"{wording.heading(session)}   {wording.place(session)}")
        if broken is not None:
            heading += Content("   ") + Content.styled(f" violates {broken} ", "bold reverse")
        self.query_one("#heading", Static).update(heading)
        self.query_one(RunPane).show(session)
        self.query_one(StatePane).show(session, full=self.full)
        self.query_one(ChoicePane).show(session)
        self.query_one(WatchPane).show(session)
        self.refresh_bindings()

    def tell(self, text: str, *, error: bool = False) -> None:
        """Show a message in the status line, until the next message."""
        self._overflow = ""
        status = self.query_one("#status", Static)
        status.set_class(error, "error")
        status.display = bool(text)
        status.update(text)

    def _changed(self, said: str = "") -> None:
        self.refresh_panes()
        self.tell(said)

    # Moving -----------------------------------------------------------------------------------------------------

    def action_step(self, by: int) -> None:
        """Move along the run by N steps; a negative number moves back."""
        self.session.go(self.session.at + by)
        self._changed()

    def action_first(self) -> None:
        """Go to the start of the run."""
        self.session.go(0)
        self._changed()

    def action_last(self) -> None:
        """Go to the end of the run."""
        self.session.go(len(self.session.run) - 1)
        self._changed()

    def on_run_pane_moved(self, event: RunPane.Moved) -> None:
        """Go to the highlighted step."""
        if event.at != self.session.at:
            self.session.go(event.at)
            self._changed()

    def action_violation(self) -> None:
        """Go to the first violation of the run."""
        if self.session.seek_violation():
            self._changed(f"this step, or the state after it, violates {self.session.violated()}")
        else:
            self.tell("this run violates nothing")

    # Branching --------------------------------------------------------------------------------------------------

    def on_choice_pane_taken(self, event: ChoicePane.Taken) -> None:
        """Take a step, or begin in another initial state."""
        before = len(self.session.runs)
        if event.step.action == "init":
            self.session.begin(event.step)
        else:
            self.session.take(event.step)
        branched = len(self.session.runs) > before
        self._changed(f"branched off, run {self.session.number + 1}; b changes runs, u undoes" if branched else "")

    def on_choice_pane_too_long(self, event: ChoicePane.TooLong) -> None:
        """Show a cut-off line in the status line, as long as the cursor is on it."""
        if event.text or self._overflow:
            self.tell(event.text)
        self._overflow = event.text

    def action_undo(self) -> None:
        """Take back the last change."""
        self.session.undo()
        self._changed()

    def action_redo(self) -> None:
        """Take back the last undo."""
        self.session.redo()
        self._changed()

    def action_branch(self) -> None:
        """Switch to the next run."""
        self.session.switch((self.session.number + 1) % len(self.session.runs))
        self._changed()

    # Asking -----------------------------------------------------------------------------------------------------

    def action_ask(self, question: Question) -> None:
        """Ask for an expression or a file."""
        self._replace = None
        self._asked_from = self.focused
        self.query_one(Prompt).ask(question)
        self.refresh_bindings()

    def on_prompt_closed(self) -> None:
        """Close the prompt, and return the focus to the pane that had it."""
        self._close_prompt()
        self.tell("")

    def _close_prompt(self) -> None:
        self.query_one(Prompt).display = False
        (self._asked_from or self.query_one(RunPane)).focus()
        self.refresh_bindings()

    def on_prompt_answered(self, event: Prompt.Answered) -> None:
        """Act on the answer. After an error, the status line shows it and the prompt stays open for another try."""
        answer = {
            "find": self._find,
            "search": self._search,
            "watch": self._watch,
            "save": self._save,
            "open": self._open,
        }[event.question]
        try:
            answer(event.text)
        except HoldfastError as error:
            self.tell(str(error), error=True)

    def _find(self, text: str) -> None:
        condition = self.session.condition(text)
        found = self.session.seek(condition)
        self._close_prompt()
        if found:
            self._changed(f"step {self.session.at} is the next where {condition.text}")
        else:
            self.tell(f"no later state of this run where {condition.text}; s searches beyond the run")

    def _watch(self, text: str) -> None:
        self.session.watch(text)
        self._close_prompt()
        self._changed()

    def action_unwatch(self) -> None:
        """Stop watching the expression that was added last."""
        if self.session.watches:
            self.session.unwatch(len(self.session.watches) - 1)
            self._changed()

    # Searching --------------------------------------------------------------------------------------------------

    def _search(self, text: str) -> None:
        self.session.require_model()
        condition = self.session.condition(text)
        self._close_prompt()
        self.tell(f"searching up to {self.budget:,} states from here; Esc stops")
        self.searching = self.run_worker(
            partial(self._look, condition), thread=True, exclusive=True, exit_on_error=False, name=condition.text
        )

    def _look(self, condition: Expression) -> Search:
        worker = get_current_worker()
        return self.session.search(condition, most=self.budget, stop=lambda: worker.is_cancelled)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Go to the state that a search has found, or say why there is none."""
        # An event may also come from a search that a newer one replaced: ignore it.
        if event.worker is not self.searching or event.state in (WorkerState.PENDING, WorkerState.RUNNING):
            return
        self.searching = None
        found, wanted = event.worker.result, event.worker.name
        if found is None:
            self.tell("the search was stopped" if event.state == WorkerState.CANCELLED else str(event.worker.error))
            return
        if found.path is not None:
            self.session.follow(found.path)
            away = count(len(found.path), "step")
            self._changed(f"{away} away, the nearest where {wanted}; {found.states:,} states looked at; u undoes")
        elif found.ended == "exhausted":
            self.tell(f"no state that can be reached from here has {wanted}: all {found.states:,} were looked at")
        else:
            self.tell(f"nothing within {found.states:,} states, up to {count(found.depth, 'step')} away")

    def action_cancel(self) -> None:
        """Stop the search; if none runs, clear the status line."""
        if self.searching is not None:
            self.searching.cancel()
        else:
            self.tell("")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - textual's
        """Whether an action is possible now; the footer lists only possible actions.

        While a search runs or a question is open, the only possible action is to cancel it.
        """
        if action not in self.OWN:
            return True
        if self.searching is not None or self.query_one(Prompt).display:
            return action == "cancel"
        session = self.session
        possible = {"undo": session.can_undo, "redo": session.can_redo, "branch": len(session.runs) > 1}
        return possible.get(action, True)

    # Files ------------------------------------------------------------------------------------------------------

    def _save(self, text: str) -> None:
        path = Path(text)
        if not text:
            self.tell("give the file a name, such as run.itf.json", error=True)
            return
        if is_file(text) and self._replace != path:
            self._replace = path
            self.tell(f"{path} exists; Enter again replaces it", error=True)
            return
        trace = self.session.trace()
        as_itf = path.suffix == ".json"
        if as_itf:
            write(path, itf_text(trace))
        else:
            write(path, f"{self._command()}\n")
        self._close_prompt()
        self.tell(f"{count(trace.length, 'step')} saved to {path}, {'as ITF' if as_itf else 'as a line'}")

    def _open(self, text: str) -> None:
        self.session, note = self.opener(text)
        self._close_prompt()
        self._changed(note or f"opened {text}")

    def _command(self) -> str:
        return replay_command(self.session.trace()) or ""

    def action_line(self) -> None:
        """Show the replay line of the run, and copy it to the clipboard."""
        command = self._command()
        if not command:
            self.tell("a run without a model has no line", error=True)
            return
        self.copy_to_clipboard(command)
        self.push_screen(Sheet("the line that repeats this run", command))

    # The screen -------------------------------------------------------------------------------------------------

    def action_full(self) -> None:
        """Switch between all cells and only those that are not False, None or 0."""
        self.full = not self.full
        self._changed()

    def action_theme(self) -> None:
        """Switch to the other theme."""
        self.theme = THEMES[self.theme == THEMES[0]]

    def action_rules(self) -> None:
        """Explain the rules on the screen."""
        try:
            texts, system = wording.rules(self.session), self.session.require_model().system
        except HoldfastError as error:
            self.tell(str(error), error=True)
            return
        self.push_screen(Sheet("what these rules mean", legend_for(texts, system, min(PAPER, self.size.width) - 10)))

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(Sheet("keys", HELP))
