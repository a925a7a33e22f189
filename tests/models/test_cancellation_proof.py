"""The proof of cancellation: every safety property, for any number of brokers, streams, epochs and offsets."""

from __future__ import annotations

import pytest

from holdfast.check.prove.engine import prove
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_with_lemmas


@pytest.mark.slow
def test_cancellation_is_proved() -> None:
    """Every safety property is proved, among them a single lease, SP-13 and SP-14."""
    found = load_with_lemmas("cancellation")
    assert found.lemmas_from is not None
    result = prove(compile_model(found.model), cores=0)
    assert (result.verdict, result.exit_code) == ("proved", 0)
    proved = {proof.claim.name for proof in result.properties if proof.verdict == "proved"}
    assert {"one_lease", "returns_to_origin", "cancelled_in_time", "origin_is_kept", "no_acked_loss"} <= proved
