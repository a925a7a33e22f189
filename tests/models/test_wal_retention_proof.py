"""The proof of wal_retention: every safety property, for any number of readers and batches."""

from __future__ import annotations

import pytest

from holdfast.check.prove.engine import prove
from holdfast.ir.lemmas import compile_with_lemmas
from holdfast.ir.load import load_with_lemmas
from holdfast.ir.removal import remove_rules


@pytest.mark.parametrize(("removed", "verdict"), [((), "proved"), (("PL-25",), "proved"), (("M-07",), "not_inductive")])
def test_wal_retention_is_proved_with_its_delay(removed: tuple[str, ...], verdict: str) -> None:
    """M-07. The properties are proved, also if PL-25 is left to the delay, and not without the delay."""
    found = load_with_lemmas("wal_retention")
    assert found.lemmas_from is not None
    result = prove(remove_rules(compile_with_lemmas(found), removed), cores=0, searched=False, sane=False)
    assert (result.verdict, result.exit_code) == (verdict, 0 if verdict == "proved" else 20)
