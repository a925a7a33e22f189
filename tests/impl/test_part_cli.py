"""``holdfast simulate --part``: runs of a part of a node alone."""

from __future__ import annotations

import json

import pytest

from holdfast.cli.app import main


def test_runs_that_violate_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """The words say that this is no proof."""
    assert main(["simulate", "--part", "balancer-execution", "--seeds", "0..9"]) == 0
    assert capsys.readouterr().out == "balancer-execution: 10 runs, nothing is violated, which is no proof\n"


def test_a_rule_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    """The first run that is violated ends the command, and its seed makes the same run."""
    many = main(["simulate", "--part", "balancer-execution", "--seeds", "0..9", "--without", "BG-17"])
    said = capsys.readouterr().out
    assert (many, "violated with seed 3: AB-53" in said) == (12, True)
    assert main(["simulate", "--part", "balancer-execution", "--seed", "3", "--without", "BG-17"]) == 12
    assert capsys.readouterr().out == said


def test_a_rule_that_the_part_does_not_have(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is violated without it, and the words say that nothing could be."""
    assert main(["simulate", "--part", "balancer-execution", "--seeds", "0..9", "--without", "CA-04"]) == 0
    assert capsys.readouterr().out.endswith("; a rule that is switched off would have decided something in 0 of them\n")


def test_all_rules_of_an_id(capsys: pytest.CaptureFixture[str]) -> None:
    """An id stands for all rules of it, as for clusters, and each is named once."""
    assert main(["simulate", "--part", "wal", "--seeds", "0..9", "--without", "WL-05", "--without", "WL-05"]) == 12
    assert capsys.readouterr().out.startswith("wal without WL-05.in_order, WL-05.verify: violated with seed ")


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    """The answer as JSON names the seed, the rule and the message."""
    asked = ["simulate", "--part", "balancer-execution", "--seeds", "0..9", "--json"]
    assert main(asked) == 0
    expected = {
        "part": "balancer-execution",
        "without": [],
        "runs": 10,
        "would_have_decided": 0,
        "ended_by": None,
        "violation": None,
        "exit_code": 0,
    }
    assert json.loads(capsys.readouterr().out) == expected
    assert main([*asked, "--without", "BG-17"]) == 12
    found = json.loads(capsys.readouterr().out)
    assert (found["runs"], found["violation"]["seed"], found["violation"]["rule"]) == (4, 3, "AB-53")


def test_a_limit_is_not_green(capsys: pytest.CaptureFixture[str]) -> None:
    """A limit of time that has passed before the first run leaves no answer."""
    assert main(["simulate", "--part", "balancer-execution", "--seeds", "0..999999", "--budget", "0.001s"]) == 20
    assert "ended early (time" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (["--part", "disk"], "--part disk: there is no such part; choose from balancer-history"),
        (["--part", "balancer-history", "--without", "XX-01"], "--without: unknown label XX-01; known: "),
        (["--part", "balancer-history", "--brokers", "4"], "--brokers: --part runs a part of a node alone"),
        (["--part", "balancer-history", "--timeline"], "--timeline: --part runs a part of a node alone"),
        (["--part", "balancer-history", "--scenario", "balance"], "--part: it belongs to runs under faults"),
        (["--part", "balancer-history", "--update"], "--part: all rules are meant"),
    ],
)
def test_options_that_do_not_go_together(given: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The first option that has no meaning here is named."""
    assert main(["simulate", *given]) == 2
    assert capsys.readouterr().err.startswith(f"holdfast: {error}")
