"""The proof of object_life: every safety property, for any number of objects and offsets."""

from __future__ import annotations

import pytest

from holdfast.check.prove.engine import prove
from holdfast.ir.lemmas import compile_with_lemmas
from holdfast.ir.load import load_with_lemmas
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System


@pytest.fixture(scope="module")
def object_life() -> System:
    """Objects with their lemmas."""
    found = load_with_lemmas("object_life")
    assert found.lemmas_from is not None
    return compile_with_lemmas(found)


def test_object_life_is_proved(object_life: System) -> None:
    """Every property is proved, and no lemma is idle."""
    result = prove(object_life, cores=0, searched=False, tried=False)
    assert (result.verdict, result.exit_code) == ("proved", 0)
    assert result.unneeded == ()
    assert {proof.verdict for proof in result.properties} == {"proved"}


@pytest.mark.parametrize(
    ("label", "name"), [("OB-02", "lives_once"), ("OB-03", "lives_once"), ("CS-35", "entry_only_drains")]
)
def test_a_property_is_not_proved_without_its_rule(object_life: System, label: str, name: str) -> None:
    """OB-02, OB-03, CS-35. Without the rule the lemmas do not prove the property that it protects."""
    left = remove_rules(object_life, [label])
    result = prove(left, properties=[name], cores=0, searched=False, sane=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)
