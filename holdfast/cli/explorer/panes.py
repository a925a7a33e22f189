"""The panes of the explorer: the run, the state, the choices of the next step, and the watched expressions.

Each pane shows one part of a session and never changes the session. When the user chooses something in a pane, the
pane posts a message to the app.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import ClassVar

import attrs
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static, Tree
from textual.widgets.option_list import Option
from textual.widgets.tree import TreeNode

from holdfast.cli.explorer import wording
from holdfast.runs.explorer.choices import Choice, Refusal, UntriedAction
from holdfast.runs.explorer.session import Run, Session
from holdfast.trace.trace import Step


class RunPane(OptionList):
    """The steps of the run; the highlighted step is the current one."""

    class Moved(Message):
        """The user has highlighted another step."""

        def __init__(self, at: int) -> None:
            super().__init__()
            self.at = at

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
    ]

    _shown: Run | None = None
    _at: int | None = None

    def show(self, session: Session) -> None:
        """Show the run of a session, at its step."""
        self.border_title = "run" if len(session.runs) == 1 else f"run {session.number + 1} of {len(session.runs)}"
        # Setting `highlighted` below posts an event, as a key press does. Storing the step first lets the handler tell
        # the two apart: only a step that differs from `_at` was highlighted by the user.
        self._at = session.at
        if session.run is not self._shown:
            self._shown = session.run
            self.clear_options()
            self.add_options(self._entries(session))
        self.highlighted = session.at

    def _entries(self, session: Session) -> Iterable[Option]:
        last: str | None = None
        for number, step in enumerate(session.run):
            broken = session.violated(number)
            # Mark only the first of several consecutive steps that violate the same property.
            marked = broken is not None and broken != last
            text = wording.entry(number, step, violates=marked)
            yield Option(Content.styled(text, "$text-error bold") if marked else Content(text))
            last = broken
        if session.is_original and session.opened.loop is not None:
            yield Option(Content(f"     {wording.loop(session.opened)}"), disabled=True)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Post a message if the user, and not ``show``, has highlighted another step."""
        event.stop()
        if event.option_index != self._at:
            self._at = event.option_index
            self.post_message(self.Moved(event.option_index))


class StatePane(VerticalScroll, inherit_bindings=False):
    """The state after the current step: the beliefs of each element. A star marks the cells that the step changed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", show=False),
        Binding("down,j", "scroll_down", show=False),
        Binding("pageup", "page_up", show=False),
        Binding("pagedown", "page_down", show=False),
        Binding("home", "scroll_home", show=False),
        Binding("end", "scroll_end", show=False),
    ]

    def compose(self) -> Iterable[Static]:
        yield Static(id="state-text")

    def show(self, session: Session, *, full: bool) -> None:
        """Show the state of a session. ``full``: also show cells that are False, None or 0."""
        after = f"state after step {session.at}" if session.at else "state at the start"
        self.border_title = f"{after}, whole" if full else after
        lines, changed = self._lines(session, full)
        self.query_one(Static).update(Content("\n").join(lines))
        self._show_lines(lines, changed)

    def _lines(self, session: Session, full: bool) -> tuple[list[Content], list[int]]:
        """The lines of the pane, and the indices of the lines with changed cells."""
        groups = session.beliefs(full=full)
        width = max((len(home) for home in groups), default=0)
        lines: list[Content] = []
        changed: list[int] = []
        for home, found in groups.items():
            for position, belief in enumerate(found):
                name = Content.styled(f"{home if position == 0 else '':<{width}}", "bold")
                said = wording.stands(belief)
                if belief.changed:
                    changed.append(len(lines))
                    lines.append(name + Content.styled(f" * {said}", "$text-warning bold"))
                else:
                    lines.append(name + f"   {said}")
        if session.at and not changed:
            lines.insert(0, Content.styled("the step changed nothing", "italic"))
        return lines or [Content("every cell is False, None or 0; f shows them")], changed

    def _show_lines(self, lines: list[Content], changed: list[int]) -> None:
        """Scroll to the changes, unless all of them are visible from the top."""
        # Long lines wrap: a line of the text takes `ceil(length / width)` rows of the pane.
        width, height = max(self.size.width, 1), self.size.height
        heights = [-(-max(line.cell_length, 1) // width) for line in lines]
        hidden = bool(changed) and sum(heights[: changed[-1] + 1]) > height
        self.scroll_to(y=sum(heights[: changed[0]]) if hidden else 0, animate=False)


class WatchPane(Static):
    """The watched expressions: their values at the current step, and along the run."""

    def show(self, session: Session) -> None:
        """Show the watched expressions of a session; without any, the pane is hidden."""
        self.display = bool(session.watches)
        self.border_title = "watched"
        lines: list[Content] = []
        for expression in session.watches:
            here, along = wording.watched(session, expression)
            lines += [Content.styled(here, "bold"), Content.styled(f"   {along}", "$text-muted")]
        self.update(Content("\n").join(lines))


Key = tuple[Hashable, ...]
"""Identifies a node of the tree, so that the node is found again when the tree is rebuilt."""

Data = tuple[Key, Step | None]
"""The data of a node: its key, and the step that the node takes, or None."""


class ChoicePane(Tree[Data]):
    """The choices of the next step: enabled steps by action, and refused instances by the rule that refuses them."""

    class Taken(Message):
        """The user wants to take a step, or to begin in another initial state."""

        def __init__(self, step: Step) -> None:
            super().__init__()
            self.step = step

    class TooLong(Message):
        """The line under the cursor if it is too long for the pane; otherwise the empty text."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
    ]

    ENABLED: ClassVar[Key] = ("enabled",)
    STARTS: ClassVar[Key] = ("starts",)
    REFUSED: ClassVar[Key] = ("refused",)

    def __init__(self, *, id: str) -> None:  # noqa: A002 - textual's name
        super().__init__("next", id=id)
        self.show_root = False
        self.guide_depth = 2
        self._open: set[Key] = {self.ENABLED}
        """The keys of the unfolded nodes, also of nodes that the current state does not have."""

    def show(self, session: Session) -> None:
        """Show the choices in the current state of a session."""
        self.border_title = "next"
        cursor = None if self.cursor_node is None or self.cursor_node.data is None else self.cursor_node.data[0]
        self.clear()
        if session.replayer is None:
            self.root.add_leaf("no model: steps cannot be taken")
            self.root.add_leaf("(open it with --model MODEL)")
            return
        self._add_choices(session.choices(), session.violated())
        starts = session.starts() if session.at == 0 else ()
        if len(starts) > 1:
            self._add_starts(starts)
        self._add_refusals(session.refusals())
        self.root.expand()
        self._restore(cursor)

    def _add_choices(self, choices: tuple[Choice, ...], violated: str | None) -> None:
        if violated is not None:
            # A choice is not marked for a property that the current state already violates.
            choices = tuple(
                attrs.evolve(choice, violates=None) if choice.violates == violated else choice for choice in choices
            )
        top = self._folder(self.root, self.ENABLED, f"enabled: {len(choices)}" if choices else "no step is possible")
        by_action: dict[str, list[Choice]] = {}
        for choice in choices:
            by_action.setdefault(choice.step.action, []).append(choice)
        for name, found in by_action.items():
            if len(found) == 1:
                self._leaf(top, (*self.ENABLED, name), f"{name}({wording.arguments(found[0].step.args)})", found[0])
                continue
            folder = self._folder(top, (*self.ENABLED, name), _marked(f"{name}: {len(found)}", *found))
            for choice in found:
                self._leaf(folder, (*self.ENABLED, name, choice.step.args), wording.arguments(choice.step.args), choice)

    def _add_starts(self, starts: tuple[Choice, ...]) -> None:
        top = self._folder(self.root, self.STARTS, f"initial states: {len(starts)}")
        for number, choice in enumerate(starts, start=1):
            said = wording.arguments(choice.step.args) or f"number {number}"
            self._leaf(top, (*self.STARTS, number), said, choice)

    def _add_refusals(self, refusals: tuple[Refusal | UntriedAction, ...]) -> None:
        top = self._folder(self.root, self.REFUSED, "refused, by rule" if refusals else "nothing is refused")
        for refusal in refusals:
            if isinstance(refusal, UntriedAction):
                top.add_leaf(f"{refusal.action}: {refusal.instances:,} choices, too many to try")
                continue
            by = "cut by" if refusal.by_bound else "by"
            key = (*self.REFUSED, refusal.action, refusal.label)
            folder = self._folder(top, key, f"{refusal.action} {by} {refusal.label}: {len(refusal.args)}")
            if refusal.error is not None:
                folder.add_leaf(Text(f"answer: {refusal.error}", "italic"), ((*key, "answer"), None))
            for args in refusal.args:
                folder.add_leaf(Text(wording.arguments(args) or "no arguments"), ((*key, args), None))

    def _folder(self, parent: TreeNode[Data], key: Key, label: str | Text) -> TreeNode[Data]:
        return parent.add(Text(label) if isinstance(label, str) else label, (key, None), expand=key in self._open)

    def _leaf(self, parent: TreeNode[Data], key: Key, label: str, choice: Choice) -> None:
        parent.add_leaf(_marked(label, choice), (key, choice.step))

    def _restore(self, key: Key | None) -> None:
        """Move the cursor to the node with this key, or to the top if there is none."""
        found = next((node for node in self._below(self.root) if node.data is not None and node.data[0] == key), None)
        self.move_cursor(found or (self.root.children[0] if self.root.children else None))

    def _below(self, node: TreeNode[Data]) -> Iterable[TreeNode[Data]]:
        for child in node.children:
            yield child
            yield from self._below(child)

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[Data]) -> None:
        """Remember that the node is unfolded."""
        if event.node.data is not None:
            self._open.add(event.node.data[0])

    def on_tree_node_collapsed(self, event: Tree.NodeCollapsed[Data]) -> None:
        """Remember that the node is folded."""
        if event.node.data is not None:
            self._open.discard(event.node.data[0])

    def on_tree_node_highlighted(self, event: Tree.NodeHighlighted[Data]) -> None:
        """Post the line under the cursor if the pane cuts it off, and the empty text otherwise."""
        label = event.node.label
        cut = self.get_label_width(event.node) + self.guide_depth * _depth(event.node) > self.size.width
        if self.has_focus:
            self.post_message(self.TooLong((label.plain if isinstance(label, Text) else label) if cut else ""))

    def on_tree_node_selected(self, event: Tree.NodeSelected[Data]) -> None:
        """Ask the app to take the node's step, if it has one."""
        event.stop()
        if event.node.data is not None and event.node.data[1] is not None:
            self.post_message(self.Taken(event.node.data[1]))


def _depth(node: TreeNode[Data]) -> int:
    """The depth of a node: 0 for the outermost visible nodes."""
    return 0 if node.parent is None or node.parent.is_root else 1 + _depth(node.parent)


def _marked(label: str, *choices: Choice) -> Text:
    """The label of one or several steps, with the property that they violate, or the number of properties."""
    text = Text(label)
    if len(choices) == 1 and not choices[0].changes:
        text.append("  (no change)", "italic")
    broken = list(dict.fromkeys(choice.violates for choice in choices if choice.violates is not None))
    if broken:
        text.append(f"  ! {broken[0]}" if len(broken) == 1 else f"  ! {len(broken)} properties", "bold")
    return text
