"""The tasks of a node: when each runs, its results, and the effects of a crash or an error."""

from __future__ import annotations

import pytest

from impl.tasks import FailedError, Gate, Tasks, TimedOutError


async def asking(tasks: Tasks, log: list[object], text: str) -> None:
    """Ask one question and note the answer."""
    log.append((text, await tasks.ask(lambda number: (number, text))))


def test_an_answer_wakes_the_task_that_asked() -> None:
    """An answer wakes the task that asked, in any order. A second answer wakes nobody."""
    tasks, log = Tasks(), []
    tasks.start(asking(tasks, log, "a"))
    tasks.start(asking(tasks, log, "b"))
    assert tasks.run(0) == [(1, "a"), (2, "b")]
    assert tasks.answer(2, "two")
    assert tasks.answer(1, "one")
    assert not tasks.answer(2, "again")
    assert tasks.run(0) == []
    assert log == [("b", "two"), ("a", "one")]


def test_nothing_runs_between_two_awaits() -> None:
    """A started task runs when the present one waits."""
    tasks, log = Tasks(), []

    async def first() -> None:
        tasks.start(second())
        log.append("first")
        await tasks.sleep(0)
        log.append("first again")

    async def second() -> None:
        log.append("second")

    tasks.start(first())
    tasks.run(0)
    assert log == ["first", "second"]
    tasks.run(0)
    assert log == ["first", "second", "first again"]


def test_delays_end_in_their_order() -> None:
    """Delays end by time, and equal ones in the order of their start. ``due`` is the next end."""
    tasks, log = Tasks(now=100), []

    async def sleeping(name: str, ms: int) -> None:
        await tasks.sleep(ms)
        log.append((name, tasks.now))

    for name, ms in (("a", 30), ("b", 10), ("c", 30), ("d", 50)):
        tasks.start(sleeping(name, ms))
    tasks.run(100)
    assert tasks.due == 110
    tasks.run(130)
    assert log == [("b", 130), ("a", 130), ("c", 130)]
    assert tasks.due == 150
    tasks.run(149)
    assert len(log) == 3
    tasks.run(150)
    assert tasks.due is None


def test_the_time_never_goes_back() -> None:
    """An input with an earlier time counts as being at the time of the last one."""
    tasks = Tasks(now=100)
    tasks.run(50)
    assert tasks.now == 100


def test_a_gate_opens_for_all() -> None:
    """A gate opens for waiting tasks in their order, and later ones pass at once."""
    tasks, log = Tasks(), []
    gate: Gate[str] = Gate(tasks)

    async def waiting(name: str) -> None:
        log.append((name, await gate.wait()))

    tasks.start(waiting("a"))
    tasks.start(waiting("b"))
    tasks.run(0)
    gate.open("now")
    tasks.start(waiting("c"))
    tasks.run(0)
    assert log == [("a", "now"), ("b", "now"), ("c", "now")]
    with pytest.raises(ValueError, match="opens once"):
        gate.open("later")


def test_a_wait_with_a_limit_ends() -> None:
    """After the limit the gate wakes nobody a second time, and after the gate the limit does not."""
    tasks, log = Tasks(), []
    early: Gate[str] = Gate(tasks)
    late: Gate[str] = Gate(tasks)

    async def waiting(gate: Gate[str]) -> None:
        try:
            log.append(await gate.wait(10))
        except TimedOutError:
            log.append("too late")
        await tasks.sleep(100)
        log.append("end")

    tasks.start(waiting(early))
    tasks.start(waiting(late))
    tasks.run(0)
    early.open("in time")
    tasks.run(9)
    assert log == ["in time"]
    tasks.run(10)
    late.open("for nobody")
    tasks.run(20)
    assert log == ["in time", "too late"]
    tasks.run(110)
    assert log == ["in time", "too late", "end", "end"]


def test_delays_that_nobody_waits_for_are_not_due() -> None:
    """A wait that ended before its limit does not wake the node at the limit."""
    tasks = Tasks()
    gate: Gate[None] = Gate(tasks)
    tasks.start(gate.wait(10))
    tasks.run(0)
    assert tasks.due == 10
    gate.open(None)
    tasks.run(0)
    assert tasks.due is None


def test_the_end_of_a_task_is_a_gate() -> None:
    """The gate has the task's result, or the error that its rules allow."""
    tasks, log = Tasks(), []

    async def result(text: str) -> str:
        await tasks.sleep(1)
        if text == "bad":
            raise FailedError(text)
        return text

    async def parent(text: str) -> None:
        try:
            log.append(await tasks.start(result(text)).wait())
        except FailedError as error:
            log.append(error)

    tasks.start(parent("good"))
    tasks.start(parent("bad"))
    tasks.run(0)
    tasks.run(1)
    assert [str(each) for each in log] == ["good", "bad"]


def test_a_fault_of_a_node_is_not_kept_back() -> None:
    """An error is raised even if nobody waits for the task."""
    tasks = Tasks()

    async def faulty() -> None:
        await tasks.sleep(1)
        raise KeyError("a fault")

    tasks.start(faulty())
    tasks.run(0)
    with pytest.raises(KeyError, match="a fault"):
        tasks.run(1)


def test_places_name_the_awaits() -> None:
    """Places name the node's functions, not those of the loop, with one line for each await."""
    tasks = Tasks()

    async def inner() -> None:
        await tasks.sleep(1)

    async def outer() -> None:
        await inner()

    tasks.start(outer())
    tasks.start(asking(tasks, [], "a"))
    tasks.run(0)
    (around, one), (other,) = tasks.places()
    assert around == (__file__, outer.__code__.co_firstlineno + 1, outer.__qualname__)
    assert one == (__file__, inner.__code__.co_firstlineno + 1, inner.__qualname__)
    assert other[2] == "asking"


def test_a_crash_ends_tasks_where_they_are() -> None:
    """A crash ends all tasks, waiting or not, and later answers are ignored."""
    tasks, log = Tasks(), []
    tasks.start(asking(tasks, log, "a"))
    tasks.start(asking(tasks, log, "b"))
    tasks.run(0)
    tasks.answer(1, "one")
    tasks.start(asking(tasks, log, "c"))
    tasks.crash()
    assert not tasks.answer(2, "two")
    assert tasks.run(99) == []
    assert log == []


def test_a_gate_has_no_result_before_it_opens() -> None:
    """A gate's result exists once it opens, so a driver asks for it only then."""
    gate: Gate[str] = Gate(Tasks())
    with pytest.raises(ValueError, match="not open"):
        gate.result()
    gate.fail(FailedError("bad"))
    with pytest.raises(FailedError, match="bad"):
        gate.result()
