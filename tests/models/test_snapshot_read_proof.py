"""The proof of snapshot_read: I-10 and I-11, for any number of mains, records, leader epochs and sessions."""

from __future__ import annotations

import attrs
import pytest

from holdfast.check.prove.engine import prove
from holdfast.ir.lemmas import compile_with_lemmas
from holdfast.ir.load import load_with_lemmas
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System


@pytest.fixture(scope="module")
def snapshot_read() -> System:
    """snapshot_read with its lemmas."""
    return compiled()


def compiled(*variants: str) -> System:
    """A variant of snapshot_read with the lemmas."""
    found = load_with_lemmas("snapshot_read")
    assert found.lemmas_from is not None
    return compile_with_lemmas(found, variants=variants)


def test_snapshot_read_is_proved(snapshot_read: System) -> None:
    """Every safety property is proved, and no lemma is idle."""
    result = prove(snapshot_read, cores=0, searched=False, tried=False)
    assert (result.verdict, result.exit_code, result.unneeded) == ("proved", 0, ())
    assert {proof.verdict for proof in result.properties} == {"proved"}
    safety = {prop.name for prop in snapshot_read.of_kind("invariant", "step")}
    assert safety <= {proof.claim.name for proof in result.properties}


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["early_baseline", "early_ends"])
def test_no_variant_of_the_gap_is_proved(variant: str) -> None:
    """ZG-7. In both variants a run violates I-11, so that its proof must fail."""
    result = prove(compiled(variant), properties=["I-11"], cores=0, searched=False, sane=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)
    assert {proof.claim.name: proof.verdict for proof in result.properties}["shown_is_readable"] != "proved"


@pytest.mark.slow
def test_a_missing_lemma_shows_in_a_small_state(snapshot_read: System) -> None:
    """Without the lemma, a reader that shows nothing may have an end above 0: one main is enough."""
    lemma = "hidden_is_empty"
    left = attrs.evolve(
        snapshot_read, properties=tuple(each for each in snapshot_read.properties if each.name != lemma)
    )
    result = prove(left, properties=["shown_is_readable"], cores=0, searched=False, sane=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)
    found = next(each.counterexample for each in result.properties if each.claim.name == "shown_is_readable")
    assert found is not None
    assert dict(found.sizes)["Main"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("M-16", "answers_what_is_confirmed"),
        ("M-16.after", "shown_is_readable"),
        ("M-17", "shown_is_readable"),
        ("M-18", "cache_has_no_hole"),
        ("M-19.epoch", "shown_grows"),
    ],
)
def test_a_property_is_not_proved_without_its_rule(snapshot_read: System, label: str, name: str) -> None:
    """M-16 to M-19. Without a guard the property that it protects is not proved: no lemma replaces the guard."""
    left = remove_rules(snapshot_read, [label])
    result = prove(left, properties=[name], cores=0, searched=False, sane=False, suggest=False)
    assert result.exit_code == 20
    assert {proof.claim.name: proof.verdict for proof in result.properties}[name] != "proved"


@pytest.mark.slow
def test_snapshot_read_is_proved_with_every_seed(snapshot_read: System) -> None:
    """The proof does not depend on the solver's seed."""
    result = prove(snapshot_read, cores=2, seeds=3)
    assert (result.exit_code, result.unstable) == (0, ())
