"""The proof of controller_tables: every property, for any number of nodes, streams, epochs and offsets."""

from __future__ import annotations

import pytest

from holdfast.check.prove.engine import prove
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_with_lemmas


@pytest.mark.slow
def test_controller_tables_are_proved() -> None:
    """Every safety property is proved, and each lemma."""
    found = load_with_lemmas("controller_tables")
    assert found.lemmas_from is not None
    result = prove(compile_model(found.model), cores=2)
    assert (result.verdict, result.exit_code) == ("proved", 0)
    proved = {proof.claim.name for proof in result.properties if proof.verdict == "proved"}
    assert {"covered_once", "no_hole", "entries_only_drain", "entry_is_no_lease", "ranges_are_continuous"} <= proved
