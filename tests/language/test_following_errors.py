"""A message tells each mistake of a model, and nothing that only follows from one."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.language.cases import Case
from tests.language.writing import errors_of

FOLLOWING = {
    "a refused field is used everywhere": """
    class M(Table):
        queue: list[Node]  # <- here

        @init
        def empty(self) -> None:
            self.queue.fill(None)

        @action
        def push(self, n: Node) -> None:
            self.queue[n] = True

        @invariant
        def short(self) -> bool:
            return all(self.queue[n] for n in Node)
    """,
    "a helper with an error is called twice": """
    class M(Table):
        def free(self) -> bool:
            return self.leader % 2  # <- here

        @action
        def grab(self, n: Node) -> None:
            require(self.free(), "ST-12")
            self.leader = n

        @invariant
        def taken(self) -> bool:
            return not self.free()
    """,
    "a helper of a refused field": """
    class M(Table):
        odd: int  # <- here

        def is_odd(self) -> bool:
            return self.odd == 1

        def both(self) -> bool:
            return self.is_odd() and self.phase == Phase.IDLE

        @action
        def grab(self, n: Node) -> None:
            require(self.both(), "ST-12")
            self.leader = self.nobody
    """,
    "a refused type": """
    class Bad(Int, lo=3, hi=2): ...

    class M(Table):
        one: Bad  # <- here
        two: Map[Node, Bad]

        @action
        def grab(self, x: Bad) -> None:
            self.one = x
            self.two.fill(x)
    """,
    "a scope for the types, actions and constants of a refused method": """
    class Disk(Sort): ...

    class M(Table):
        home: Node

        small = Scope({Node: 1, Stream: 1, Epoch: 1, Disk: 3}, budgets={"crash": 2})

        @init
        def settle(self, d: Disk, n: Node) -> None:
            self.home = n
            del self.home  # <- here

        @action
        def crash(self) -> None:
            self.leader = None
    """,
    "a property of a refused action": """
    class M(Table):
        @action
        def grab(self, n: Node) -> None:
            self.leader = min(n)  # <- here

        @step(of="grab")
        def led(self, old: Self, n: Node) -> bool:
            return self.leader == n
    """,
    "a variant that is a refused method": """
    class M(Table):
        @action
        def grab(self, n: Node) -> None:
            self.leader = n

        @staticmethod  # <- here
        def take_all(self) -> None:
            pass

        @action
        def again(self, n: Node) -> None:
            self.take_all()
    """,
    "a method that is defined twice": """
    class M(Table):
        @action
        def grab(self, n: Node) -> None:
            self.leader = n

        @action  # with another body
        def grab(self, n: Node) -> None:  # <- here
            self.leader = None
    """,
    "a field with a default": """
    class M(Table):
        home: Node | None = None  # <- here

        @action
        def grab(self, n: Node) -> None:
            self.home = n
    """,
    "an initial condition of two parts": """
    class M(Table):
        home: Node

        @init
        def settle(self, n: Node) -> None:
            self.home = 3  # <- here

        @action
        def grab(self, n: Node) -> None:
            self.home = n
    """,
}


@pytest.mark.parametrize("source", FOLLOWING.values(), ids=FOLLOWING.keys())
def test_what_follows_from_an_error_is_not_told(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One mistake with many consequences is one error, at the mistake."""
    monkeypatch.chdir(tmp_path)
    told = errors_of(tmp_path, source)

    case = Case("", "", textwrap.dedent(source).strip() + "\n", "")
    assert [text.split(":")[:2] for text in told] == [["model.py", str(case.marked_line)]], told


SEVERAL = {
    "one for each field, scope and method": (
        """
        class M(Table):
            odd: int
            even: float
            few = Scope({Node: 0, Stream: 1, Epoch: 1})
            many = Scope({Node: 1, Stream: 1, Epoch: 1}, budgets={"fly": 2})
            @action
            def one(self) -> None:
                del self.leader
                assert True
            @action(variant="other")
            def two(self) -> None:
                assert True
            @witness
            def three(self) -> bool:
                return 3
        """,
        [3, 4, 5, 6, 9, 13, 15],
    ),
    "two methods with the same mistake in a helper, and one more": (
        """
        class M(Table):
            def twice(self) -> bool:
                return 2 * self.clock
            @action
            def one(self) -> None:
                require(self.twice(), "ST-12")
            @action
            def two(self) -> None:
                require(self.twice(), "ST-12.b")
            @action
            def three(self) -> None:
                self.phase = None
        """,
        [3, 13],
    ),
    "an unset field, a loop, a ghost and an assumption": (
        """
        class M(Table):
            home: Node
            @action
            def one(self, n: Node) -> None:
                self.home = n
            @action
            def two(self, n: Node) -> None:
                for s in Stream:
                    self.leader = n
            @action
            def three(self, s: Stream) -> None:
                require(self.seen[s], "ST-12")
            @assume
            def four(self) -> bool:
                return self.leader is None
        """,
        [3, 10, 13, 15],
    ),
}


@pytest.mark.parametrize(("source", "lines"), SEVERAL.values(), ids=SEVERAL.keys())
def test_mistakes_of_several_places(
    source: str, lines: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mistakes that do not depend on one another are all told, in the order of the source."""
    monkeypatch.chdir(tmp_path)
    assert [text.split(":")[:2] for text in errors_of(tmp_path, source)] == [["model.py", str(n)] for n in lines]
