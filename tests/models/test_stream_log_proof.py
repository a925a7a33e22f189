"""The proof of stream_log: every safety property, for any number of nodes, processes, streams, epochs and offsets."""

from __future__ import annotations

import attrs
import pytest

from holdfast.check.prove.engine import prove
from holdfast.check.prove.result import ProofResult
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_with_lemmas
from holdfast.ir.system import System


@pytest.fixture(scope="module")
def stream_log() -> System:
    """The stream log with its lemmas."""
    found = load_with_lemmas("stream_log")
    assert found.lemmas_from is not None
    return compile_model(found.model)


def proved(result: ProofResult) -> dict[str, tuple[str, ...]]:
    """The proved properties, each with the lemmas that its proof needs."""
    return {proof.claim.name: proof.needs for proof in result.properties if proof.verdict == "proved"}


def without_lemma(system: System, name: str) -> System:
    """The system without one of its lemmas."""
    left = tuple(prop for prop in system.properties if prop.name != name)
    assert len(left) == len(system.properties) - 1
    return attrs.evolve(system, properties=left)


def test_no_offset_is_committed_twice(stream_log: System) -> None:
    """INV-06 needs few lemmas: commits begin at the end, and nothing covers an offset above the end."""
    result = prove(stream_log, properties=["INV-06"], cores=0, searched=False, sane=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("proved", 0)
    assert proved(result) == {"covered_once": ("covered_below_end",), "covered_below_end": ()}


@pytest.mark.parametrize(
    ("lemma", "shown", "action"),
    [("nothing_is_written_ahead", "written_once", "put"), ("opener_has_acked", "acked_once", "ack")],
)
def test_a_missing_lemma_shows_in_the_smallest_state(stream_log: System, lemma: str, shown: str, action: str) -> None:
    """One process of one node, one stream: the counterexample to induction has no superfluous part."""
    left = without_lemma(stream_log, lemma)
    result = prove(left, properties=[shown], cores=0, searched=False, sane=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)
    found = next(proof.counterexample for proof in result.properties if proof.claim.name == shown)
    assert found is not None
    assert found.action == action
    assert {dict(found.sizes)[name] for name in ("Node", "Proc", "Stream")} == {1}


@pytest.mark.slow
def test_stream_log_is_proved(stream_log: System) -> None:
    """Every invariant and step property is proved, with three seeds, and no lemma is idle."""
    result = prove(stream_log, cores=2, seeds=3)
    assert (result.verdict, result.exit_code) == ("proved", 0)
    assert (result.unneeded, result.unstable) == ((), ())
    assert {proof.verdict for proof in result.properties} == {"proved"}
    assert "replay_has_all" in proved(result)["no_acked_loss"]
