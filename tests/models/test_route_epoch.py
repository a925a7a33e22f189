"""Route epochs: the counterexamples of zone-routing.md step by step, and the first property that each fault breaks."""

from __future__ import annotations

import pytest

from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from models.parts.channels import Epoch, Main, Phase, Proxy, Request
from models.route_epoch import RouteEpoch

P = Proxy.element(0)
FIRST, SECOND = Main.element(0), Main.element(1)
R = Request.element(0)
OLD = Epoch(1)
"""The epoch of a channel whose broker has applied no record yet."""


def begun(*variants: str, removed: tuple[str, ...] = (), scope: str = "tiny") -> RouteEpoch:
    """The initial state."""
    return RouteEpoch.at(scope, variants=variants, removed=removed).start()


def admitted(state: RouteEpoch, r: Request = R) -> RouteEpoch:
    """The state after the first main has admitted a request of the old epoch."""
    return state.take("send", r=r, p=P, m=FIRST, e=OLD).take("admit", r=r, m=FIRST)


def linked(state: RouteEpoch) -> RouteEpoch:
    """The state after its link is durable."""
    return admitted(state).take("append", r=R, m=FIRST).take("link", r=R)


def fenced(state: RouteEpoch, *mains: Main) -> RouteEpoch:
    """The state after a bump that fences the old epoch, which these mains have heard of."""
    state = state.take("bump")
    for m in mains:
        state = state.take("learn", m=m, f=OLD)
    return state


def test_a_record_comes_full_circle() -> None:
    """ZR-62 to ZR-64. Counted, answered, uploaded, trimmed from the WAL, reported by all, committed, trimmed."""
    state = fenced(linked(begun()), FIRST, SECOND).take("publish", m=SECOND, v=OLD)
    assert state.refusal("publish", m=FIRST, v=OLD) == ("ZR-59.zero", None)
    state = state.take("answer", r=R)
    assert state.refusal("publish", m=FIRST, v=OLD) == ("M-05", None)
    state = state.take("upload", r=R, m=FIRST)
    assert state.refusal("publish", m=FIRST, v=OLD) == ("M-05", None)
    state = state.take("trim_wal", r=R, m=FIRST)
    assert state.refusal("commit", c=OLD) == ("M-10", None)
    state = state.take("publish", m=FIRST, v=OLD).take("commit", c=OLD).take("apply", p=P)
    assert (state.trimmed_to[P], state.channel_epoch[P], state.phase[R]) == (OLD, Epoch(3), Phase.TRIMMED)
    assert state.holds("came_full_circle")


def test_a_late_request_is_refused_before_anything_is_read() -> None:
    """F6. A late request is refused before anything is read, since its record may be gone by then."""
    state = begun().take("send", r=R, p=P, m=FIRST, e=OLD)
    state = fenced(state, FIRST, SECOND).take("publish", m=FIRST, v=OLD).take("publish", m=SECOND, v=OLD)
    state = state.take("commit", c=OLD).take("apply", p=P)
    assert state.holds("late")
    assert state.refusal("admit", r=R, m=FIRST) == ("M-01", None)
    assert state.take("refuse", r=R, m=FIRST).phase[R] == Phase.FAILED


def test_a_main_that_is_behind_keeps_what_it_admits() -> None:
    """F10. A main that is behind keeps requests that are fenced elsewhere, and cannot report them."""
    state = begun().take("send", r=R, p=P, m=FIRST, e=OLD)
    state = fenced(state, SECOND).take("publish", m=SECOND, v=OLD).take("admit", r=R, m=FIRST)
    assert state.holds("behind")
    assert state.refusal("publish", m=FIRST, v=OLD) == ("ZR-59", None)
    assert state.refusal("commit", c=OLD) == ("M-10", None)


def test_a_dead_main_counts_until_its_streams_are_closed() -> None:
    """F1, F2. A dead main counts until its streams are closed. If FENCED were enough (M-11), links would be lost."""
    state = fenced(linked(begun()), SECOND).take("publish", m=SECOND, v=OLD).take("crash", m=FIRST)
    assert state.refusal("commit", c=OLD) == ("M-10", None)
    state = state.take("recover", m=FIRST)
    assert (state.phase[R], state.serving[FIRST]) == (Phase.TRIMMED, False)
    assert state.take("commit", c=OLD).committed == OLD


def test_a_wal_may_hold_links_into_trimmed_data() -> None:
    """I-2 does not hold for every main: one uploads, closes, crashes before it trims the WAL, and is skipped."""
    state = linked(begun()).take("answer", r=R).take("upload", r=R, m=FIRST).take("close_streams", m=FIRST)
    state = fenced(state, SECOND).take("publish", m=SECOND, v=OLD).take("crash", m=FIRST)
    state = state.take("commit", c=OLD).take("apply", p=P)
    assert (state.phase[R], state.tag[R], state.trimmed_to[P]) == (Phase.UPLOADED, OLD, OLD)
    assert state.holds("recovery_never_dangles")
    assert state.take("join", m=FIRST).holds("passed_over")


def test_without_m_14_such_a_wal_is_never_recovered() -> None:
    """M-14. A recovery that resolves uploaded links too is refused for ever."""
    state = linked(begun(removed=("M-14",))).take("answer", r=R).take("upload", r=R, m=FIRST)
    state = fenced(state.take("close_streams", m=FIRST), SECOND).take("publish", m=SECOND, v=OLD)
    state = state.take("crash", m=FIRST).take("commit", c=OLD).take("apply", p=P)
    assert state.refusal("join", m=FIRST) == ("ZR-34", None)


def test_two_records_of_one_object_in_the_wrong_order() -> None:
    """M-13. With the epoch of its start, a record lies behind one of a newer epoch, and is trimmed with it."""
    other = Request.element(1)
    state = begun(removed=("M-13",), scope="default").take("apply", p=P)
    state = state.take("send", r=R, p=P, m=FIRST, e=Epoch(2)).take("send", r=other, p=P, m=SECOND, e=OLD)
    assert (state.tag[R], state.goes_with[R]) == (Epoch(2), OLD)
    assert not state.holds("trims_its_own_epochs")


def system(*variants: str, without: tuple[str, ...] = ()) -> System:
    """The model in these variants, without these rules."""
    return remove_rules(compile_model(RouteEpoch, variants=variants), without)


@pytest.mark.parametrize(
    ("variants", "without", "ids", "length"),
    [
        (("local_uncounted",), (), "I-5", 4),
        (("timeout_uncounts",), (), "I-5", 6),
        (("no_incarnation",), (), "I-5", 6),
        (("fenced_is_new_minus_1",), (), "V-2", 3),
        ((), ("M-01",), "I-3", 4),
        ((), ("M-02",), "I-3", 2),
        ((), ("M-03",), "I-5", 5),
        ((), ("M-04",), "I-8", 3),
        ((), ("M-05",), "I-5", 7),
        ((), ("M-06",), "I-5", 8),
        ((), ("M-10",), "I-6", 4),
        ((), ("M-11",), "I-6", 5),
        ((), ("M-11.active",), "I-6", 5),
        ((), ("M-15",), "I-8", 6),
        ((), ("M-23",), "I-5", 2),
        ((), ("M-25",), "I-12", 6),
    ],
)
def test_what_a_fault_breaks_first(variants: tuple[str, ...], without: tuple[str, ...], ids: str, length: int) -> None:
    """Zone-routing.md 8: the property that each fault breaks first, and the length of the shortest run."""
    faulty = system(*variants, without=without)
    run = search(faulty, faulty.scopes["tiny"], engine="interpreter").findings[0]
    assert (run.shown.ids, run.length) == ((ids,), length)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variants", "without", "length"),
    [
        (("local_uncounted",), (), 10),
        (("timeout_uncounts",), (), 11),
        (("no_incarnation",), (), 13),
    ],
)
def test_faults_lose_what_links_point_at(variants: tuple[str, ...], without: tuple[str, ...], length: int) -> None:
    """I-1. ZG-1, ZG-2 and ZG-3 end in a WAL that cannot be recovered."""
    faulty = system(*variants, without=without)
    run = search(faulty, faulty.scopes["tiny"], properties=("I-1",), engine="interpreter").findings[0]
    assert run.length == length


@pytest.mark.slow
@pytest.mark.parametrize(("ids", "verdict"), [("I-1", "exhausted"), ("I-2", "violated")])
def test_a_report_before_the_wal_is_trimmed(ids: str, verdict: str) -> None:
    """M-06. A raw replay of the WAL meets trimmed channel data. A recovery does not."""
    faulty = system(without=("M-06",))
    assert search(faulty, faulty.scopes["tiny"], properties=(ids,), engine="interpreter").verdict == verdict
