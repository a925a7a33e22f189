"""Actions that count a number on: if the log omits the new number, the event must not become impossible."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conform.test_small_models import go, model, said

COUNT = "self.clock = self.clock + 1\n"
WITH_NUMBER = "self, v: Tick"
SMALL_INT = '''class Low(Int, lo=0, hi=1):
    """A small number."""


class Small(Model):'''


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        (COUNT + 'require(self.on, "R-2", E.LATE)', "unknown"),  # The bound cuts the step before the rule is asked.
        ('require(self.on, "R-2", E.LATE)\n' + COUNT, "conforms"),  # The rule refuses before the bound matters.
        ('require(not self.on, "R-2", E.LATE)\n' + COUNT, "impossible"),  # The rule allows it, and none follows.
    ],
)
def test_an_error_behind_a_count_at_the_bound(rule: str, kind: str, tmp_path: Path) -> None:
    """At the bound the window has no next code, but the system has a next number."""
    assert said(model(rule), tmp_path, go(error="LATE"), windows={"Tick": 1}) == kind


@pytest.mark.parametrize(
    ("condition", "line", "kind"),
    [
        ("self.clock >= v", go(v=5, error="LATE"), "unknown"),  # Possible if it counted to 3.
        ("self.clock >= v", go(v=5, post={"clock": 5}), "conforms"),
        ("self.clock < v", go(v=5), "unknown"),  # Possible if it counted to 3.
        ("self.clock < v", go(v=5, post={"clock": 3}), "conforms"),
        ("self.clock < v", go(v=5, post={"clock": 5}), "impossible"),
        ("not self.on", go(v=5, error="LATE"), "impossible"),  # The rule does not ask for the number.
    ],
)
def test_a_rule_about_the_new_number(condition: str, line: dict[str, object], kind: str, tmp_path: Path) -> None:
    """If the log omits the new number, a rule about that number does not decide."""
    source = model(f'{COUNT}require({condition}, "R-2", E.LATE)', WITH_NUMBER)
    assert said(source, tmp_path, line) == kind


@pytest.mark.parametrize(
    ("post", "kind"),
    [
        ({"on": False}, "unknown"),  # Possible if it counted to 3.
        ({"on": False, "clock": 3}, "conforms"),
        ({"on": False, "clock": 5}, "impossible"),
    ],
)
def test_an_effect_of_the_new_number(post: dict[str, object], kind: str, tmp_path: Path) -> None:
    """A cell that depends on the new number may differ from the model's if the log omits that number."""
    source = model(f"{COUNT}self.on = self.clock >= v", WITH_NUMBER)
    assert said(source, tmp_path, go(v=5, post=post)) == kind


def test_the_bound_of_an_int_in_an_action_that_counts(tmp_path: Path) -> None:
    """If an Int of the model reaches its bound, the answer is unknown even if the new number is given and possible."""
    source = model(COUNT + "self.low = self.low + 1", fields="low: Low", start="self.low = Low(0)")
    source = source.replace("class Small(Model):", SMALL_INT)
    first = go(post={"clock": 3})
    assert said(source, tmp_path, first) == "conforms"
    assert said(source, tmp_path, first, go(post={"clock": 5})) == "unknown"


def test_post_that_tells_another_cell_of_the_counted_field(tmp_path: Path) -> None:
    """At the end of the window, only the counted cell's own value shows that no number follows."""
    source = model(
        "self.top[x] = self.top[x] + 1",
        "self, x: Node",
        fields="top: Map[Node, Tick]",
        start="self.top.fill(Tick(0))",
        sizes=", Node: 2",
    )
    log = [go(x=node, post={"top": {node: 5}}) for node in ("a", "b")]
    options = {"windows": {"Tick": 2}}
    assert said(source, tmp_path, *log, **options) == "conforms"
    assert said(source, tmp_path, *log, go(x="a", post={"top": {"b": 5}}), **options) == "unknown"
    assert said(source, tmp_path, *log, go(x="a", post={"top": {"a": 5, "b": 5}}), **options) == "impossible"


def test_a_span_that_passes_the_bound_of_an_int(tmp_path: Path) -> None:
    """A span beyond an Int's bound is unknown: the Int ends in the model, but maybe not in the system."""
    source = model(
        f"{COUNT}self.low = self.high + 1",
        fields="low: Low\n    high: Low",
        start="self.low = Low(0)\n        self.high = Low(1)",
    )
    assert said(source.replace("class Small(Model):", SMALL_INT), tmp_path, go(span=[0, 5])) == "unknown"
