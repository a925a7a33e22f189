"""The proof of sealed_ranges: every property, for any number of nodes, ranges and offsets."""

from __future__ import annotations

import pytest

from holdfast.check.prove.engine import prove
from holdfast.ir.lemmas import compile_with_lemmas
from holdfast.ir.load import load_with_lemmas
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System


@pytest.fixture(scope="module")
def sealed_ranges() -> System:
    """The ranges of a stream, with their lemmas."""
    found = load_with_lemmas("sealed_ranges")
    assert found.lemmas_from is not None
    return compile_with_lemmas(found)


@pytest.mark.slow
def test_sealed_ranges_are_proved(sealed_ranges: System) -> None:
    """Every property is proved, and no lemma is idle."""
    result = prove(sealed_ranges, cores=0, searched=False, tried=False)
    assert (result.verdict, result.exit_code) == ("proved", 0)
    assert result.unneeded == ()
    assert {proof.verdict for proof in result.properties} == {"proved"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "name"),
    [("ST-16", "opens_readable"), ("ST-18.current", "no_hole"), ("ST-18.covered", "no_hole"), ("ND-03", "no_hole")],
)
def test_a_property_is_not_proved_without_its_rule(sealed_ranges: System, label: str, name: str) -> None:
    """ST-16, ST-18, ND-03. Without the rule the lemmas do not prove the property that it protects."""
    left = remove_rules(sealed_ranges, [label])
    result = prove(left, properties=[name], cores=0, searched=False, sane=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)
