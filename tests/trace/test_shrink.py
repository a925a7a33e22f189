"""The shrinker without a model: what it drops and lowers, which runs it rejects, and when it ends."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from holdfast.ir.types import BoolType, NatType, SortType
from holdfast.trace.shrink import Call, Run, Shrinker, Tries, size

NODE, EPOCH = SortType("Node"), NatType("Epoch")
PARAMS = {"init": (EPOCH,), "open": (NODE, EPOCH), "close": (NODE,), "say": (BoolType(),), "tick": ()}

START: Call = ("init", (0,))


def opened(node: int, epoch: int) -> Call:
    """An open."""
    return ("open", (node, epoch))


def closed(node: int) -> Call:
    """A close."""
    return ("close", (node,))


def shrunk(run: Run, shows: Callable[[Run], bool], budget: int = 10_000) -> Run:
    """The shrinker's result for a run."""
    assert shows(run)
    return Shrinker(shows, PARAMS, Tries(budget)).shrink(run)


def actions(run: Run) -> list[str]:
    """The actions of a run, in order."""
    return [action for action, _ in run]


# Steps and arguments --------------------------------------------------------------------------------------------------


def test_steps_that_are_not_needed_go() -> None:
    """Of many steps only the needed ones remain, in their order. The start always remains."""
    run = (START, *[("tick", ())] * 13, closed(0), *[("tick", ())] * 9, opened(0, 0), *[("tick", ())] * 3)

    def shows(run: Run) -> bool:
        names = actions(run)
        return "close" in names and "open" in names and names.index("close") < names.index("open")

    assert shrunk(run, shows) == (START, closed(0), opened(0, 0))


def test_a_start_alone_can_show_it() -> None:
    """All steps may be dropped, and the arguments of the start are lowered."""
    assert shrunk((("init", (3,)), ("tick", ())), lambda run: run[0][1] >= (1,)) == (("init", (1,)),)


def test_single_arguments_become_less() -> None:
    """Each argument is the least that still shows the violation."""
    run = (START, opened(3, 7), ("say", (1,)))
    least = shrunk(run, lambda run: len(run) == 3 and run[1][1][0] >= 1 and run[1][1][1] >= 2)
    assert least == (START, opened(1, 2), ("say", (0,)))


def test_equal_arguments_become_less_together() -> None:
    """If two steps must name the same element, single changes fail, and both are changed together."""
    run = (START, closed(3), opened(3, 0))
    least = shrunk(run, lambda run: len(run) == 3 and run[1][1][0] == run[2][1][0])
    assert least == (START, closed(0), opened(0, 0))


def test_names_merge() -> None:
    """Two elements that need not differ become one."""
    run = (START, closed(2), closed(1), opened(2, 0), opened(1, 0))
    least = shrunk(run, lambda run: [args[0] for _, args in run[1:3]] == [args[0] for _, args in run[3:]] != [])
    assert {args[0] for _, args in least[1:]} == {0}


def test_numbers_in_a_row_become_less_together() -> None:
    """Consecutive epochs that begin above zero are lowered together to the first ones."""
    run = (START, opened(0, 4), opened(0, 5), opened(0, 6))

    def shows(run: Run) -> bool:
        epochs = [args[1] for _, args in run[1:]]
        return len(epochs) == 3 and epochs[0] > 0 and all(b == a + 1 for a, b in pairwise(epochs))

    assert shrunk(run, shows) == (START, opened(0, 1), opened(0, 2), opened(0, 3))


def test_names_change_places() -> None:
    """Of elements that must differ, the first that the run names becomes the first of its sort."""
    run = (START, closed(1), closed(0))
    assert shrunk(run, lambda run: len({args for _, args in run[1:]}) == 2) == (START, closed(0), closed(1))


# What is never done --------------------------------------------------------------------------------------------------


def test_what_is_kept_is_less_and_shows_it() -> None:
    """Every accepted run shows the violation and is less than the previous one."""
    kept: list[Run] = []

    def shows(run: Run) -> bool:
        good = sum(args[1] for action, args in run if action == "open") >= 5
        if good:
            kept.append(run)
        return good

    least = shrunk((START, opened(2, 3), closed(1), opened(1, 4), opened(0, 2)), shows)

    assert least == kept[-1]
    assert all(size(after) < size(before) for before, after in pairwise(kept[1:]))


def test_the_budget_holds() -> None:
    """At most N candidates are tried, and the result shows the violation."""
    asked: list[Run] = []

    def shows(run: Run) -> bool:
        asked.append(run)
        return closed(0) in run

    tries = Tries(3)
    least = Shrinker(shows, PARAMS, tries).shrink((START, *[opened(3, 3)] * 20, closed(0), *[opened(3, 3)] * 20))

    assert len(asked) == tries.made == 3
    assert closed(0) in least


def test_whoever_waits_can_stop_it() -> None:
    """After a stop nothing more is tried."""
    tries = Tries(100, stopped=lambda: tries.made == 2)
    Shrinker(lambda _: False, PARAMS, tries).shrink((START, *[opened(3, 3)] * 20))
    assert tries.made == 2


def test_a_shortcut_is_replayed() -> None:
    """A run from the shortcut is accepted only if it shows the violation and is shorter."""
    run = (START, closed(0), opened(0, 0), closed(0))
    offers = {"good": (START, opened(0, 0)), "false": (START, ("tick", ())), "no shorter": run}

    def taken(offer: str) -> Run:
        offered = iter([offers[offer]])
        shows = {run: True, offers["good"]: True}
        shrinker = Shrinker(
            lambda run: shows.get(run, False), PARAMS, Tries(100), shortcut=lambda _: next(offered, None)
        )
        return shrinker.shrink(run)

    assert taken("good") == offers["good"]
    assert taken("false") == run
    assert taken("no shorter") == run


@given(
    st.lists(st.builds(opened, st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=9),
    st.integers(1, 6),
    st.integers(0, 2),
)
def test_no_single_change_is_left(calls: list[Call], least_sum: int, node: int) -> None:
    """In the result no single step can be dropped, and no single argument can be lowered by one."""

    def shows(run: Run) -> bool:
        return sum(args[1] for action, args in run if action == "open" and args[0] != node) >= least_sum

    run = (START, *calls)
    if not shows(run):
        return
    found = shrunk(run, shows)

    assert shows(found)
    for place in range(1, len(found)):
        assert not shows((*found[:place], *found[place + 1 :]))
        action, args = found[place]
        for position, code in enumerate(args):
            lower = (action, (*args[:position], code - 1, *args[position + 1 :]))
            assert not code or not shows((*found[:place], lower, *found[place + 1 :]))
