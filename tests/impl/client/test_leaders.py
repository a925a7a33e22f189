"""What a client believes about leaders."""

from __future__ import annotations

from impl.client.leaders import NOBODY, Leaders

KEY = ("t", 0)


def test_an_older_leader_epoch_is_ignored() -> None:
    """Also after the leader was forgotten: a broker that is behind names the one before."""
    leaders = Leaders()
    assert leaders.learn(KEY, 2, 5)
    assert not leaders.learn(KEY, 1, 4)
    assert leaders.leader(KEY) == 2
    leaders.forget(KEY, 2)
    assert not leaders.learn(KEY, 1, 4)
    assert leaders.leader(KEY) is None


def test_a_forgotten_leader_may_be_learned_again() -> None:
    """It has the same epoch, so it is nothing new, and it is the leader."""
    leaders = Leaders()
    leaders.learn(KEY, 2, 5)
    leaders.forget(KEY, 2)
    assert not leaders.learn(KEY, 2, 5)
    assert leaders.leader(KEY) == 2


def test_a_newer_leader_is_not_forgotten() -> None:
    """A late failure of the leader before says nothing about it."""
    leaders = Leaders()
    leaders.learn(KEY, 2, 5)
    leaders.forget(KEY, 1)
    leaders.refused(KEY, 1, {"leader": 1, "leader_epoch": 4})
    assert leaders.leader(KEY) == 2


def test_nobody_leads() -> None:
    """A newer epoch without a leader takes the place of the one before."""
    leaders = Leaders()
    leaders.learn(KEY, 2, 5)
    assert leaders.learn(KEY, NOBODY, 6)
    assert leaders.leader(KEY) is None
    assert not leaders.learn(KEY, 2, 5)
    assert leaders.leader(KEY) is None


def test_a_refusal_without_news_forgets_the_leader() -> None:
    """The broker does not know better, so the client asks others."""
    leaders = Leaders()
    leaders.learn(KEY, 2, 5)
    leaders.refused(KEY, 2, {"leader": 2, "leader_epoch": 5})
    assert leaders.leader(KEY) is None
    leaders.learn(KEY, 2, 5)
    leaders.refused(KEY, 2, {})
    assert leaders.leader(KEY) is None
