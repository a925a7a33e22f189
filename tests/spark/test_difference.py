"""Comparing two campaigns: what only one of them has, and which campaigns cannot be compared."""

from __future__ import annotations

import attrs
import pytest

from holdfast.check.walk.result import StopFigures
from holdfast.ir.errors import UsageError
from spark.campaign.difference import compare, render_difference
from spark.campaign.summary import Summary, summarise
from tests.spark.samples import Sample, campaign


def sample(name: str, **values: object) -> Summary:
    """A small campaign of that name."""
    return summarise(campaign(attrs.evolve(Sample(traces=200_000), **values), name))


@pytest.fixture(scope="module")
def a() -> Summary:
    """A campaign with two findings."""
    return sample("runs/a", findings=2)


@pytest.fixture(scope="module")
def b() -> Summary:
    """A campaign with the first of these findings and two more, of a changed model."""
    found = sample("runs/b", findings=4, removed=("ST-14",), fingerprint="0123456789abcdef", seed=2)
    first, *others = sorted(found.findings, key=lambda finding: finding.drawn)
    kept = [finding for finding in found.findings if finding != others[0]]
    assert first in kept
    return attrs.evolve(found, findings=tuple(kept), witnesses=(), pairs=found.pairs[1:])


def test_findings_are_told_apart_by_signature(a: Summary, b: Summary) -> None:
    """Findings are matched by signature: each is in one campaign or in both."""
    found = compare(a, b)
    only_a, only_b = {f.signature for f in found.findings_a}, {f.signature for f in found.findings_b}
    both = {one.signature for one, two in found.both if one.signature == two.signature}
    assert only_a | both == {f.signature for f in a.findings}
    assert only_b | both == {f.signature for f in b.findings}
    assert not only_a & only_b
    assert (len(only_a), len(only_b), len(both)) == (1, 2, 1)


def test_a_campaign_that_is_not_done_is_no_success(a: Summary) -> None:
    """Without a new finding the exit code is 20 if B lacks units or has runs without an answer; the text says so."""
    lacking = attrs.evolve(a, done=0)
    stop = StopFigures("no answer", 3, 0, 0, 0)
    unjudged = attrs.evolve(a, stops=(*a.stops, stop))
    for b, said in ((lacking, "B may have more findings: 0 of"), (unjudged, "3 runs without an answer")):
        found = compare(a, b)
        assert found.exit_code == 20
        assert said in render_difference(found)
        assert compare(b, a).exit_code == 0
        assert compare(attrs.evolve(a, findings=()), b).exit_code == 12


def test_the_exit_code_is_about_what_b_has_and_a_lacks(a: Summary, b: Summary) -> None:
    """Findings that only the first campaign has are no failure. Findings that only the second has are."""
    assert compare(a, b).exit_code == 12
    assert compare(a, a).exit_code == 0
    fewer = attrs.evolve(a, findings=a.findings[:1])
    assert compare(a, fewer).exit_code == 0
    assert compare(fewer, a).exit_code == 12


def test_findings_that_are_not_shrunk_are_not_compared(a: Summary) -> None:
    """As drawn they have other signatures, so each would count as new."""
    broken = sample("runs/c", findings=2, shrunk=False)
    for one, two in ((a, broken), (broken, a)):
        with pytest.raises(UsageError, match=r"runs/c: its findings are not shrunk yet, .*; resume it"):
            compare(one, two)


def test_coverage_of_one_only(a: Summary, b: Summary) -> None:
    """The comparison names what one campaign covered and the other did not."""
    found = compare(a, b)
    assert found.witnesses.only_a == ("handed_over",)
    assert found.witnesses.only_b == ()
    first = a.pairs[0]
    assert f"{first.first} then {first.second}" in found.pairs.only_a
    assert found.actions.only_a == found.actions.only_b == ()


def test_settings_that_differ_are_shown_and_others_not(a: Summary, b: Summary) -> None:
    """Different settings are shown, also the fingerprint: users compare versions of a model."""
    found = compare(a, b)
    assert {name for name, _, _ in found.settings} == {"without", "seed", "fingerprint"}
    text = render_difference(found)
    assert "nothing in A, ST-14 in B" in text
    assert "The fingerprints differ" in text
    assert compare(a, a).settings == ()


def test_the_text_says_what_is_new(a: Summary, b: Summary) -> None:
    """The verdict, both campaigns by name with their rates, and the new findings with their replay lines."""
    text = render_difference(compare(a, b))
    assert text.startswith("Ownership: B has 2 findings that A has not, and lacks 1 of A's; 1 finding in both")
    assert "runs/a: 200,000 runs" in text
    assert "runs a" in text
    new = text[text.index("findings only in B") : text.index("findings only in A")]
    assert new.count("holdfast replay") == 2
    assert render_difference(compare(a, a)).startswith("Ownership: the same findings, 2 in both")


def test_nothing_and_nothing_are_the_same() -> None:
    """Two campaigns without findings are the same, also if one has not begun."""
    text = render_difference(compare(sample("runs/a"), sample("runs/b", done=0)))
    assert text.startswith("Ownership: neither found anything")
    assert "runs/b: 0 runs, not complete" in text
    assert "different numbers of runs" in text


def test_campaigns_of_different_models_are_refused_by_name(a: Summary) -> None:
    """Campaigns of different models are refused, and the line names both models."""
    other = attrs.evolve(a, name="runs/b", model="Reassignment")
    with pytest.raises(UsageError, match="runs/a is a campaign of Ownership and runs/b one of Reassignment"):
        compare(a, other)


def test_long_lists_are_cut_and_counted() -> None:
    """Of forty findings the text lists twenty, and says how many more there are."""
    many = sample("runs/a", findings=40)
    text = render_difference(compare(attrs.evolve(many, findings=()), many))
    assert text.count("holdfast replay") == 20
    assert "\n  and 20 findings more" in text
    assert "\n  and 20 findings more" in render_difference(compare(many, many))
