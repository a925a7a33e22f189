"""Helpers that run the explorer for a test, press keys in it and read its screen as text."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import attrs
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import OptionList, Static, Tree
from textual.widgets.tree import TreeNode

from holdfast.cli.explore import open_session
from holdfast.cli.explorer.app import Explorer
from holdfast.cli.explorer.prompt import Prompt
from holdfast.runs.explorer.session import Session

SMALL = (80, 24)
"""The smallest terminal, in columns and rows, that the explorer has to fit."""


@attrs.frozen
class Screen:
    """The explorer as its user sees and operates it."""

    app: Explorer
    pilot: Pilot[None]

    async def press(self, *keys: str) -> None:
        """Press keys, and wait until the screen shows what they did."""
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def answer(self, key: str, text: str) -> None:
        """Press the key of a question, and type the answer."""
        await self.press(key)
        self.app.query_one(Prompt).value = text
        await self.press("enter")
        await self.app.workers.wait_for_complete()
        await self.pilot.pause()

    def text(self, selector: str) -> str:
        """The text that a line or a pane shows."""
        shown = self.app.query_one(selector, Static).content
        return shown.plain if isinstance(shown, Content) else str(shown)

    @property
    def heading(self) -> str:
        """The line at the top."""
        return self.text("#heading")

    @property
    def status(self) -> str:
        """The text of the status line at the bottom."""
        return self.text("#status")

    @property
    def run(self) -> list[str]:
        """The steps in the list of the run."""
        return [str(option.prompt) for option in self.app.query_one("#run", OptionList).options]

    @property
    def next(self) -> list[str]:
        """The unfolded nodes in the pane of possible next steps."""
        root = self.app.query_one("#choices", Tree).root
        return list(visible(root))

    async def take(self, *path: str) -> None:
        """In the pane of possible next steps, unfold each of these nodes, and take the last."""
        tree = self.app.query_one("#choices", Tree)
        tree.focus()
        node = tree.root
        for label in path:
            node = next(child for child in node.children if str(child.label).startswith(label))
            tree.move_cursor(node)
            if not node.is_expanded or not node.children:
                await self.press("enter")


def visible(node: TreeNode[object]) -> list[str]:
    """The labels of the unfolded nodes below a node, indented."""
    found = []
    for child in node.children:
        found.append(str(child.label))
        if child.is_expanded:
            found += [f"  {label}" for label in visible(child)]
    return found


def pilot(
    session: Session,
    drive: Callable[[Screen], Awaitable[None]],
    *,
    size: tuple[int, int] = SMALL,
    note: str | None = None,
) -> Explorer:
    """Show a session on a screen of that size, and run ``drive`` on it."""
    app = Explorer(session, open_session, note)

    async def run() -> None:
        async with app.run_test(size=size) as driver:
            await driver.pause()
            await drive(Screen(app, driver))

    asyncio.run(run())
    return app
