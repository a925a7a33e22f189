"""The explorer's screen, operated by keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.widgets import Footer, Static

from holdfast.cli.explore import open_session
from holdfast.cli.explorer.app import THEMES
from holdfast.cli.explorer.panes import ChoicePane, RunPane, StatePane
from holdfast.cli.explorer.prompt import Prompt, Sheet
from holdfast.runs.explorer.session import Session
from tests.explore.piloting import SMALL, Screen, pilot

FIRST = "open(p=p1, s=s1, e=1, heard=True)"

SECOND = "open(p=p3, s=s1, e=2, heard=True)"


@pytest.fixture
def foreign(counterexample: Path, tmp_path: Path) -> Session:
    """The same states in a file that names no model."""
    content = json.loads(counterexample.read_text())
    content["#meta"] = {"format": "ITF", "varTypes": content["#meta"]["varTypes"]}
    path = tmp_path / "foreign.itf.json"
    path.write_text(json.dumps(content))
    return open_session(str(path))[0]


def test_from_the_counterexample_to_another_run_and_back(session: Session, tmp_path: Path) -> None:
    """Step to the violation and back, branch, search, save and reopen: the saved run is the run on the screen."""
    saved = tmp_path / "mine.itf.json"

    async def drive(screen: Screen) -> None:
        assert screen.run == [" 0   init(up=True)", f" 1   {FIRST}", f" 2 ! {SECOND}"]
        await screen.press("right", "right", "right")
        assert screen.heading.endswith("step 2 of 2    violates one_owner ")
        assert " * handle[p3, s1]: 0 -> 2" in screen.text("#state-text")

        await screen.press("left")
        assert screen.heading == "Ownership, scope tiny, without ST-14   step 1 of 2"
        await screen.take("enabled", "append")
        assert screen.run == [" 0   init(up=True)", f" 1   {FIRST}", " 2   append(p=p1, s=s1)"]
        assert screen.status == "branched off, run 2; b changes runs, u undoes"

        await screen.answer("s", "not one_owner and end_offset[s1] > 0")
        assert screen.status.startswith("2 steps away, the nearest where not one_owner and end_offset[s1] > 0;")
        assert screen.run[3:] == [f" 3 ! {SECOND}", " 4   commit(p=p3, s=s1, a=0, b=1)"]

        await screen.answer("ctrl+s", str(saved))
        assert screen.status == f"4 steps saved to {saved}, as ITF"
        shown = screen.run
        await screen.answer("o", str(saved))
        assert screen.status == f"opened {saved}"
        assert (screen.run, screen.app.session.at) == (shown, 0)
        await screen.press("v")
        assert (screen.app.session.at, "violates one_owner" in screen.heading) == (3, True)

    pilot(session, drive)


def test_a_saved_line_is_opened_again(session: Session, tmp_path: Path) -> None:
    """A name without the suffix .json saves the run as its replay line; the sheet shows the same line."""
    saved = tmp_path / "mine.txt"

    async def drive(screen: Screen) -> None:
        await screen.answer("ctrl+s", str(saved))
        assert saved.read_text().startswith("holdfast replay 'ownership tiny -ST-14 #")
        await screen.press("y")
        assert isinstance(screen.app.screen, Sheet)
        assert f"{screen.app.screen.query_one('#paper Static', Static).content}\n" == saved.read_text()
        await screen.press("escape")
        await screen.answer("o", str(saved))
        assert screen.run == [" 0   init(up=True)", f" 1   {FIRST}", f" 2 ! {SECOND}"]

    pilot(session, drive)


def test_the_rules_on_the_screen_are_explained(session: Session) -> None:
    """The removed rule, the violated property and rules that refuse a step are explained, no others, in 80 columns."""

    async def drive(screen: Screen) -> None:
        await screen.press("v", "m")
        text = str(screen.app.screen.query_one("#paper Static", Static).content)
        assert "\n  ST-14" in text
        assert "\n  INV-01" in text
        assert "\n  ST-51" in text
        assert "AB-13" not in text
        assert max(map(len, text.splitlines())) <= SMALL[0] - 10

    pilot(session, drive)


def test_an_existing_file_is_replaced_only_if_asked_twice(session: Session, tmp_path: Path) -> None:
    """If a file exists, only a second Enter replaces it; a path that cannot be written is an error."""
    taken = tmp_path / "mine.txt"
    taken.write_text("precious")

    async def drive(screen: Screen) -> None:
        await screen.answer("ctrl+s", str(taken))
        assert screen.status == f"{taken} exists; Enter again replaces it"
        assert taken.read_text() == "precious"
        await screen.press("enter")
        assert taken.read_text() != "precious"
        await screen.answer("ctrl+s", str(tmp_path / "none" / "x.txt"))
        assert "cannot be written: No such file or directory" in screen.status
        await screen.press("escape")
        assert not screen.app.query_one(Prompt).display

    pilot(session, drive)


def test_highlighting_a_step_goes_there(session: Session) -> None:
    """In the list of the run, the arrow keys go to the next step, and other keys go to either end."""

    async def drive(screen: Screen) -> None:
        places = []
        for key in ("down", "down", "up", "G", "g", "end", "home", "j"):
            await screen.press(key)
            places.append(screen.app.session.at)
            assert screen.app.query_one(RunPane).highlighted == screen.app.session.at
        assert places == [1, 2, 1, 2, 0, 2, 0, 1]

    pilot(session, drive)


def test_runs_and_their_undoing(session: Session) -> None:
    """Keys undo, redo and change runs, and the footer offers them only where they have an effect."""

    async def drive(screen: Screen) -> None:
        assert offered(screen).isdisjoint({"undo", "branch"})
        await screen.press("right")
        await screen.take("enabled", "append")
        assert offered(screen) >= {"undo", "branch"}
        await screen.press("b")
        assert (screen.app.session.number, screen.app.session.at) == (0, 1)
        await screen.press("u", "u")
        assert (len(screen.app.session.runs), screen.app.session.at) == (1, 1)
        await screen.press("r")
        assert (len(screen.app.session.runs), screen.app.session.at) == (2, 2)

    pilot(session, drive)


def offered(screen: Screen) -> set[str]:
    """The actions that the footer offers."""
    return {binding.action for _, binding, enabled, _ in screen.app.screen.active_bindings.values() if enabled}


def test_what_may_happen_next(session: Session) -> None:
    """Enabled steps are grouped by action, refused ones by rule; unfolded groups stay unfolded in the next state."""

    async def drive(screen: Screen) -> None:
        assert screen.next == [
            *("enabled: 33", "  reserve: 4", "  register: 4", "  open: 12", "  delete(s=s1)", "  commit: 12"),
            *("initial states: 2", "refused, by rule"),
        ]
        await screen.take("enabled", "reserve")
        await screen.take("refused", "append")
        assert screen.next[1:6] == [
            "  reserve: 4",
            "    p=p1  (no change)",
            "    p=p2",
            "    p=p3  (no change)",
            "    p=p4",
        ]
        appended = screen.next.index("  append by CL-02: 4")
        assert screen.next[appended + 1 : appended + 5] == [f"    p=p{number}, s=s1" for number in (1, 2, 3, 4)]
        await screen.press("right")
        await screen.take("refused", "delete by ST-51")
        assert "    answer: STREAM_NOT_CLOSED" in screen.next
        assert "    p=p2" in screen.next
        assert "  append by CL-02: 3" in screen.next
        assert "  open: 9  ! 2 properties" in screen.next

    pilot(session, drive)


def test_a_line_without_room_is_said_at_the_bottom(session: Session) -> None:
    """The status line shows the whole line under the cursor if the pane cuts it off, and only then."""

    async def drive(screen: Screen) -> None:
        await screen.press("right")
        await screen.take("enabled", "open")
        assert screen.status == ""
        await screen.press("down")
        assert screen.status == "p=p1, s=s1, e=1, heard=False  (no change)"
        await screen.press("up")
        assert screen.status == ""

    pilot(session, drive)


def test_another_initial_state_is_begun(session: Session) -> None:
    """Taking another initial state begins a new run."""

    async def drive(screen: Screen) -> None:
        await screen.take("initial states", "up=False")
        assert screen.run == [" 0   init(up=False)"]
        assert screen.app.query_one(RunPane).border_title == "run 2 of 2"

    pilot(session, drive)


# Without a model --------------------------------------------------------------------------------------------------


def test_a_run_without_a_model(foreign: Session) -> None:
    """A run without a model can be read, watched and searched; taking a step and its replay line need a model."""

    async def drive(screen: Screen) -> None:
        assert screen.heading.startswith("foreign  (no model)")
        assert screen.next == ["no model: steps cannot be taken", "(open it with --model MODEL)"]
        await screen.press("right", "right")
        assert "handle[p3, s1]: 0 -> 2" in screen.text("#state-text")
        await screen.press("g")
        await screen.answer("slash", "owner[s1, n2]")
        assert screen.app.session.at == 2
        await screen.answer("s", "epoch[s1] > 2")
        assert screen.status == "this run has no model, so that it can be read only; open it with --model MODEL"
        await screen.press("escape", "y")
        assert screen.status == "a run without a model has no line"
        await screen.press("m")
        assert screen.status.startswith("this run has no model")

    pilot(foreign, drive)


# The screen -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", THEMES)
def test_everything_fits_eighty_columns(session: Session, theme: str) -> None:
    """At 80 by 24 no line of the run or the state is broken, the footer shows every key, and the whole help fits."""

    async def drive(screen: Screen) -> None:
        screen.app.theme = theme
        await screen.press("right")
        await screen.take("enabled", "append")
        await screen.press("b", "right")
        run, state = screen.app.query_one(RunPane), screen.app.query_one(StatePane)
        assert run.virtual_size.height <= len(screen.run)
        lines = screen.text("#state-text").splitlines()
        assert max(map(len, lines)) <= state.scrollable_content_region.width
        assert min(pane.size.height for pane in (run, state, screen.app.query_one(ChoicePane))) >= 8
        footer = screen.app.query_one(Footer)
        assert all(key.region.right <= SMALL[0] for key in footer.children)
        await screen.press("question_mark")
        paper = screen.app.screen.query_one("#paper")
        assert paper.virtual_size.height <= paper.size.height
        await screen.press("escape")
        assert not isinstance(screen.app.screen, Sheet)

    pilot(session, drive)


def test_what_changed_is_in_sight(session: Session) -> None:
    """If the state is longer than its pane, the pane scrolls to the cells that the step changed."""

    async def drive(screen: Screen) -> None:
        await screen.press("f", "right", "right")
        assert "whole" in str(screen.app.query_one(StatePane).border_title)
        lines = screen.text("#state-text").splitlines()
        first = next(number for number, line in enumerate(lines) if " * " in line)
        state = screen.app.query_one(StatePane)
        assert len(lines) > state.size.height
        assert state.scroll_y <= first < state.scroll_y + state.size.height

    pilot(session, drive)


def test_a_narrow_terminal_stacks_the_panes(session: Session) -> None:
    """With too few columns, the panes are stacked."""

    async def drive(screen: Screen) -> None:
        run, state = screen.app.query_one(RunPane).region, screen.app.query_one(StatePane).region
        assert run.x == state.x
        assert run.bottom <= state.y
        await screen.pilot.resize_terminal(120, 40)
        await screen.pilot.pause()
        assert screen.app.query_one(RunPane).region.right <= screen.app.query_one(StatePane).region.x

    pilot(session, drive, size=(48, 30))


def test_the_theme_key(session: Session) -> None:
    """The theme key changes between dark and light."""

    async def drive(screen: Screen) -> None:
        seen = [screen.app.theme]
        for _ in THEMES:
            await screen.press("t")
            seen.append(screen.app.theme)
        assert seen == [*THEMES, THEMES[0]]

    pilot(session, drive)


def test_a_changed_model_is_said_at_once(session: Session) -> None:
    """A notice about a file stands in the status line as soon as the file opens."""

    async def drive(screen: Screen) -> None:
        assert screen.status == "the model has changed"

    pilot(session, drive, note="the model has changed")


def test_quitting(session: Session) -> None:
    """The key q ends the explorer."""

    async def drive(screen: Screen) -> None:
        await screen.press("q")

    assert pilot(session, drive).return_code == 0
