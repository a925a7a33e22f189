"""Expressions typed on the explorer's screen: their errors, their values along the run, and searches for a state."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

import pytest

from holdfast.cli.explorer.prompt import Prompt
from holdfast.cli.explorer.wording import along
from holdfast.runs.explorer.expression import Expression
from holdfast.runs.explorer.nearest import Search
from holdfast.runs.explorer.session import Session
from tests.explore.piloting import Screen, pilot


def test_expressions_are_corrected_in_place(session: Session) -> None:
    """A wrong expression keeps the question open and shows the error; keys with another meaning elsewhere type text."""

    async def drive(screen: Screen) -> None:
        await screen.answer("slash", "epock[s1] > 1")
        assert screen.status == "column 1: Ownership has no 'epock' in this scope; did you mean epoch?"
        prompt = screen.app.query_one(Prompt)
        assert prompt.display
        prompt.value = ""
        await screen.press(*"q/u", "left", "question_mark")
        assert (prompt.value, screen.app.session.at) == ("q/?u", 0)
        prompt.value = "epoch[s1] > 1"
        await screen.press("enter")
        assert (prompt.display, screen.app.session.at) == (False, 2)
        assert screen.status == "step 2 is the next where epoch[s1] > 1"
        await screen.answer("slash", "epoch[s1] > 1")
        assert screen.status == "no later state of this run where epoch[s1] > 1; s searches beyond the run"

    pilot(session, drive)


def test_watches_stand_below_the_run(session: Session) -> None:
    """A watched expression shows its value here and along the run, until the user removes it."""

    async def drive(screen: Screen) -> None:
        assert not screen.app.query_one("#watches").display
        await screen.answer("w", "epoch[s1]")
        await screen.answer("w", "owner[s1] is not None")
        await screen.press("right")
        assert screen.text("#watches") == (
            "epoch[s1] = 1\n   0, from step 1: 1, from step 2: 2\n"
            "owner[s1] is not None = True\n   False, from step 1: True"
        )
        await screen.press("W")
        assert screen.text("#watches").startswith("epoch[s1] = 1\n")
        await screen.press("W")
        assert not screen.app.query_one("#watches").display

    pilot(session, drive)


def test_many_changes_are_those_around_the_step() -> None:
    """For a value that changes often, the changes near the step are shown, with their total number."""
    values = tuple(range(20))
    assert along(values[:3], 0) == "0, from step 1: 1, from step 2: 2"
    near = [f"from step {step}: {step}" for step in range(1, 20)]
    assert along(values, 0) == f"19 changes: 0, {', '.join(near[:6])}, ..."
    assert along(values, 10) == f"19 changes: ..., {', '.join(near[7:13])}, ..."
    assert along(values, 19) == f"19 changes: ..., {', '.join(near[16:])}"


def test_searches_that_find_nothing(session: Session) -> None:
    """A search without a result says how far it looked, and changes nothing on the screen."""

    async def drive(screen: Screen) -> None:
        screen.app.budget = 500
        await screen.answer("s", "epoch[s1] > 2")
        assert re.fullmatch(r"nothing within 5\d\d states, up to 3 steps away", screen.status)
        assert (screen.app.session.at, len(screen.app.session.runs)) == (0, 1)

    pilot(session, drive)


def test_a_search_can_be_stopped(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a search runs the explorer accepts no other command; Esc stops the search."""
    pressed = threading.Event()

    def endless(_: Expression, *, most: int, stop: Callable[[], bool]) -> Search:
        pressed.wait()
        assert stop(), "Esc was pressed"
        return Search(None, most, 0, "stopped")

    monkeypatch.setattr(session, "search", endless)

    async def drive(screen: Screen) -> None:
        try:
            await screen.press("s")
            screen.app.query_one(Prompt).value = "epoch[s1] > 1"
            await screen.press("enter")
            assert screen.status == "searching up to 100,000 states from here; Esc stops"
            await screen.press("right")
            assert screen.app.session.at == 0
            await screen.press("escape")
        finally:
            pressed.set()
        await screen.pilot.pause()
        assert screen.status == "the search was stopped"
        await screen.press("right")
        assert screen.app.session.at == 1

    pilot(session, drive)
