"""Ownership with late answers: the contents of an answer, and what a process may do when it hears it."""

from __future__ import annotations

import pytest

from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from models.ownership import Ownership
from models.parts.nodes import Proc
from models.parts.streams import Epoch, Offset, Stream

OWNER, WORKER, OTHER = Proc.element(0), Proc.element(1), Proc.element(2)
S = Stream.element(0)
LATE = ("late_answers",)


def asked(p: Proc, e: int, state: Ownership | None = None) -> Ownership:
    """The state after the controller has taken an open whose answer is under way."""
    first = Ownership.at("tiny", variants=LATE).start(up=True) if state is None else state
    return first.take("open", p=p, s=S, e=Epoch(e), heard=True)


def test_nobody_believes_before_the_answer_is_heard() -> None:
    """The stream is OPENED, and its owner has no handle yet: it can neither append nor close."""
    state = asked(OWNER, 1)
    assert (state.opened[S], state.handle[OWNER, S]) == (True, Epoch(0))
    assert state.refusal("append", p=OWNER, s=S) == ("CL-02", None)
    assert state.refusal("send_close", p=OWNER, s=S) == ("CL-07", None)
    heard = state.take("hear", p=OWNER, s=S)
    assert heard.handle[OWNER, S] == Epoch(1)
    assert heard.refusal("append", p=OWNER, s=S) is None
    assert heard.refusal("hear", p=OWNER, s=S) == ("CL-01.answer", None)


def test_an_answer_has_what_was_true_at_the_open() -> None:
    """An answer carries the end at the time of the open, even if the end moves on before the process hears it."""
    state = asked(OWNER, 1).take("commit", p=OWNER, s=S, a=Offset(0), b=Offset(1)).take("hear", p=OWNER, s=S)
    assert (state.next_offset[OWNER, S], state.end_offset[S]) == (Offset(0), Offset(1))


def test_a_second_answer_takes_the_place_of_the_first() -> None:
    """A repeated request is answered again, and the process may hear either answer."""
    moved = asked(OWNER, 1).take("commit", p=OWNER, s=S, a=Offset(0), b=Offset(1))
    again = {"p": OWNER, "s": S, "e": Epoch(1)}
    assert moved.take("open", **again, heard=True).take("hear", p=OWNER, s=S).next_offset[OWNER, S] == Offset(1)
    assert moved.take("open", **again, heard=False).take("hear", p=OWNER, s=S).next_offset[OWNER, S] == Offset(0)


def test_a_handle_that_is_believed_too_late_acks_nothing() -> None:
    """A worker closes, another node opens, and then the first owner hears its late answer: it can ack nothing."""
    state = asked(OWNER, 1).take("reserve", p=WORKER).take("register", p=WORKER)
    state = state.take("recover", p=WORKER, s=S).take("close", p=WORKER, s=S, e=Epoch(1))
    state = asked(OTHER, 2, state).take("hear", p=OTHER, s=S).take("hear", p=OWNER, s=S)
    assert (state.handle[OWNER, S], state.handle[OTHER, S]) == (Epoch(1), Epoch(2))
    assert state.refusal("append", p=OWNER, s=S) == ("WL-05", None)
    assert state.refusal("append", p=OTHER, s=S) is None
    assert state.holds("one_owner")


class Forgetful(Ownership):
    """A model in which FO-08.first ignores the handle that a process awaits."""

    def awaits(self, p: Proc, s: Stream) -> bool:  # noqa: ARG002 - it takes the place of the model's helper
        """Always False: no process awaits an answer."""
        return False


class Careless(Ownership):
    """A model in which PT-01 ignores an epoch whose answer another process of the node awaits."""

    def awaits_epoch(self, p: Proc, s: Stream, e: Epoch) -> bool:  # noqa: ARG002 - as above
        """Always False: no process awaits an answer."""
        return False


@pytest.mark.parametrize(("model", "steps"), [(Forgetful, 6), (Careless, 8)])
def test_what_a_process_awaits_counts_as_what_it_has(model: type[Ownership], steps: int) -> None:
    """If awaited handles did not count, a close could end a lease before its owner hears of it: later acks are lost."""
    system = compile_model(model, variants=LATE)
    [finding] = search(system, system.scopes["tiny"]).findings
    assert (finding.claim.name, finding.length) == ("no_acked_loss", steps)
