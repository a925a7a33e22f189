"""A client's knowledge of leaders."""

from __future__ import annotations

from impl.client.leaders import NOBODY, Leaders

KEY = ("t", 0)


def test_an_older_leader_epoch_is_ignored() -> None:
    """An older leader epoch is ignored, also after the leader was forgotten: a broker may lag behind."""
    leaders = Leaders()
    assert leaders.learn(KEY, 2, 5)
    assert not leaders.learn(KEY, 1, 4)
    assert leaders.leader(KEY) == 2
    leaders.forget(KEY, 2)
    assert not leaders.learn(KEY, 1, 4)
    assert leaders.leader(KEY) is None


def test_a_forgotten_leader_may_be_learned_again() -> None:
    """A forgotten leader is learned again under the same epoch."""
    leaders = Leaders()
    leaders.learn(KEY, 2, 5)
    leaders.forget(KEY, 2)
    assert not leaders.learn(KEY, 2, 5)
    assert leaders.leader(KEY) == 2


def test_a_newer_leader_is_not_forgotten() -> None:
    """A late failure of the previous leader does not remove the new one."""
    leaders = Leaders()
    leaders.learn(KEY, 2, 5)
    leaders.forget(KEY, 1)
    leaders.refused(KEY, 1, {"leader": 1, "leader_epoch": 4})
    assert leaders.leader(KEY) == 2


def test_nobody_leads() -> None:
    """A newer epoch without a leader replaces the leader."""
    leaders = Leaders()
    leaders.learn(KEY, 2, 5)
    assert leaders.learn(KEY, NOBODY, 6)
    assert leaders.leader(KEY) is None
    assert not leaders.learn(KEY, 2, 5)
    assert leaders.leader(KEY) is None


def test_a_refusal_without_news_forgets_the_leader() -> None:
    """A refusal that names no newer leader forgets the leader, so that the client asks other brokers."""
    leaders = Leaders()
    leaders.learn(KEY, 2, 5)
    leaders.refused(KEY, 2, {"leader": 2, "leader_epoch": 5})
    assert leaders.leader(KEY) is None
    leaders.learn(KEY, 2, 5)
    leaders.refused(KEY, 2, {})
    assert leaders.leader(KEY) is None
