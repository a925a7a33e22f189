"""Replica reassignment: its lists against lists in plain Python, and what KRaft as shipped breaks, step by step."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.removal import remove_rules
from holdfast.lang import Scope
from models.parts.replicas import Broker
from models.replica_reassignment import ReplicaReassignment

LAST = 5
WIDE = Scope({Broker: LAST})


@attrs.define
class Lists:
    """A registration as plain lists: RA-41, RA-44, CA-21 and CA-27, written directly."""

    kraft: bool
    replicas: list[int]
    isr: set[int]
    adding: list[int] = attrs.field(factory=list)
    removing: list[int] = attrs.field(factory=list)
    original: list[int] = attrs.field(factory=list)

    def start(self, target: list[int]) -> None:
        """Start a reassignment, perhaps during another one."""
        present = self.replicas
        if not (self.adding or self.removing):
            self.original = present
        rest = sorted(set(present) - set(target))
        self.replicas = target + rest
        if self.kraft:
            self.removing = rest or self.removing
            self.adding = sorted(set(target) - set(present)) or self.adding
        else:
            self.removing = rest
            self.adding = sorted(set(target) - set(self.original))
        self.complete()

    def join(self, broker: int) -> None:
        """Add one broker to the ISR."""
        self.isr.add(broker)
        self.complete()

    def complete(self) -> None:
        """Complete a reassignment, if all remaining replicas are in sync."""
        stay = [broker for broker in self.replicas if broker not in self.removing]
        if (self.adding or self.removing) and self.isr >= set(stay):
            self.replicas, self.isr = stay, self.isr & set(stay)
            self.adding, self.removing = [], []

    def cancel(self) -> bool:
        """Cancel a reassignment. Returns whether the lists allow it."""
        if not (self.adding or self.removing):
            return False
        left = [each for each in self.replicas if each not in self.adding] if self.kraft else self.original
        if not self.isr & set(left):
            return False
        if not self.kraft and len(self.isr) > 1 and len(self.isr & set(left)) < 2:
            return False
        self.replicas, self.isr = left, self.isr & set(left)
        self.adding, self.removing = [], []
        return True


def test_the_lists_are_the_sheets() -> None:
    """The examples of RA-49 and CA-23, in which a list has three brokers."""
    one = Lists(True, [3, 2, 1], {1, 2, 3})
    one.start([0, 2, 1])
    assert one.cancel()
    assert one.replicas == [2, 1, 3]

    two = Lists(True, [0, 1, 2], {0, 1, 2})
    two.start([3, 4, 5])
    two.start([5, 6, 7])
    assert two.cancel()
    assert two.replicas == [5, 0, 1, 2, 3, 4]

    three = Lists(True, [0, 1, 2], {0, 1})
    three.start([0, 1, 3])
    three.start([0, 1, 2])
    assert (three.adding, three.removing) == ([3], [3])


def shown(state: ReplicaReassignment) -> tuple[list[int], set[int], set[int], set[int]]:
    """The lists in a state of the model."""
    brokers = [Broker(number) for number in range(LAST + 1)]
    members = [each for each in brokers if state.replica[each]]
    replicas = sorted(members, key=lambda each: sum(state.before[other, each] for other in members))
    return (
        [int(each) for each in replicas],
        {int(each) for each in brokers if state.isr[each]},
        {int(each) for each in brokers if state.adding[each]},
        {int(each) for each in brokers if state.removing[each]},
    )


def taken(state: ReplicaReassignment, action: str, **args: Broker) -> ReplicaReassignment | None:
    """The state after an action, for any leader that it elects; None if the action is refused."""
    for x in range(LAST + 1):
        if state.refusal(action, x=Broker(x), **args) is None:
            return state.take(action, x=Broker(x), **args)
    return None


BROKERS = st.integers(0, LAST)
LISTS = st.lists(BROKERS, min_size=1, max_size=2, unique=True)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("start"), LISTS), st.tuples(st.just("join"), BROKERS), st.tuples(st.just("cancel"), st.none())
    ),
    max_size=7,
)


@pytest.mark.parametrize("kraft", [True, False], ids=["kraft", "originals"])
@given(first=LISTS, operations=OPERATIONS)
def test_lists_are_as_in_python(kraft: bool, first: list[int], operations: list[tuple[str, object]]) -> None:
    """After starts, ISR changes and cancels the model's lists equal plain Python lists, order included."""
    lists = Lists(kraft, first, set(first))
    at = ReplicaReassignment.at(WIDE, variants=("kraft",) if kraft else ())
    state = at.start(a=Broker(first[0]), b=Broker(first[-1]), unclean=False)
    for operation, what in operations:
        after: ReplicaReassignment | None
        if operation == "start":
            assert isinstance(what, list)
            lists.start(what)
            after = taken(state, "reassign", a=Broker(what[0]), b=Broker(what[-1]))
            assert after is not None
        elif operation == "join":
            assert isinstance(what, int)
            if what not in lists.replicas or what in lists.isr:
                continue
            lists.join(what)
            after = taken(state.take("fetch", n=Broker(what)), "expand", n=Broker(what))
            assert after is not None
        else:
            after = taken(state, "cancel")
            assert (after is not None) == lists.cancel()
            if after is None:
                continue
        state = after
        assert shown(state) == (lists.replicas, lists.isr, set(lists.adding), set(lists.removing))


@pytest.mark.parametrize(
    ("broken", "steps"),
    [
        ("order_restored", 2),
        ("marks_are_apart", 2),
        ("set_restored", 3),
        ("stays_online", 3),
        ("in_sync_is_complete", 4),
        ("stays_writable", 5),
    ],
)
def test_kraft_breaks_what_originals_keep(broken: str, steps: int) -> None:
    """CA-23, CA-25, RA-49: the properties that KRaft as shipped breaks, and the lengths of the runs."""
    system = compile_model(ReplicaReassignment, variants=("kraft",))
    result = search(system, system.scope("tiny"), properties=(broken,))
    assert [(found.shown.name, found.length) for found in result.findings] == [(broken, steps)]


@pytest.mark.parametrize(
    ("without", "broken"),
    [("CA-26", "stays_writable"), ("CA-25", "in_sync_is_complete"), ("CA-22", "nothing_given_up")],
)
def test_originals_alone_are_not_enough(without: str, broken: str) -> None:
    """CA-22, CA-25, CA-26: with stored originals and one rule missing, a cancel still breaks a property."""
    system = remove_rules(compile_model(ReplicaReassignment), [without])
    result = search(system, system.scope("tiny"), properties=(broken,))
    assert result.verdict == "violated"
