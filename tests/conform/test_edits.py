"""Random edits of random runs' logs: nearly all are rejected, and a run explains each accepted one."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.check.conform.answer.run import lines_of
from holdfast.cli.app import main
from holdfast.ir.errors import UsageError
from tests.conform.walked_logs import Line, judged_log, lines, system

EVENTS = 150
KEYS = ("source", "seq", "t", "action", "error", "post")

Edit = Callable[[random.Random, list[Line]], bool]
"""A function that edits a log in place. False means that its random choice cannot be edited, and it is called again."""


def outcome(chance: random.Random, log: list[Line]) -> bool:
    """Change a request's answer."""
    line = chance.choice([line for line in log[1:] if line["action"] in ("open", "close", "trim", "commit", "delete")])
    if "error" in line:
        del line["error"]
    else:
        line.pop("post", None)
        line["error"] = "NODE_EPOCH_EXPIRED"
    return True


def argument(chance: random.Random, log: list[Line]) -> bool:
    """Replace an argument of a step that changed something by another value from the log."""
    line = chance.choice([line for line in log[1:] if "post" in line])
    name = chance.choice([name for name in line if name not in KEYS])
    others = sorted({str(other[name]): other[name] for other in log[1:] if name in other}.items())
    values = [value for _, value in others if value != line[name] and not isinstance(value, bool)]
    if not values:
        return False
    line[name] = chance.choice(values)
    return True


def dropped(chance: random.Random, log: list[Line]) -> bool:
    """Remove a step that changed something, and renumber the lines."""
    line = chance.choice([line for line in log[1:] if "post" in line])
    log.remove(line)
    for number, each in enumerate(log[1:], start=1):
        each["seq"] = number
    return True


def hole(chance: random.Random, log: list[Line]) -> bool:
    """Remove any line except the last."""
    del log[chance.randrange(1, len(log) - 1)]
    return True


def swap(chance: random.Random, log: list[Line]) -> bool:
    """Swap any two neighbouring lines."""
    place = chance.randrange(1, len(log) - 1)
    log[place], log[place + 1] = log[place + 1], log[place]
    return True


LEAST: list[tuple[Edit, float]] = [(outcome, 0.99), (argument, 0.97), (dropped, 0.5)]
"""The minimum share of rejected edits."""


def rejected(edit: Edit, logs: int, edits: int, path: Path) -> tuple[int, int]:
    """The number of rejected edits, and the number of all. Replays a run for each accepted one."""
    chance = random.Random(edit.__name__)
    made = found = 0
    for seed in range(logs):
        log = lines("ownership", seed, EVENTS)
        for _ in range(edits):
            edited = copy.deepcopy(log)
            while not edit(chance, edited):
                pass
            made += 1
            with judged_log("ownership", edited, path / "a.log") as (opened, judgement):
                found += judgement.kind == "impossible"
                if judgement.kind == "conforms":
                    model = path / f"explained_{edit.__name__}_{made}.py"
                    for text in lines_of(system("ownership"), opened, judgement, model, lambda _: None):
                        assert not text.startswith("replay: ") or main(["replay", text.split("'")[1]]) == 0
    return found, made


@pytest.mark.parametrize(("edit", "least"), LEAST)
def test_edits_are_rejected(edit: Edit, least: float, tmp_path: Path) -> None:
    """With three edits of each of four logs, one acceptance beyond the share is allowed, since the sample is small."""
    found, made = rejected(edit, 4, 3, tmp_path)
    assert made == 12
    assert found + 1 >= least * made, (found, made)


@pytest.mark.slow
@pytest.mark.parametrize(("edit", "least"), LEAST)
def test_many_edits_are_rejected(edit: Edit, least: float, tmp_path: Path) -> None:
    """The share holds for ten logs with twenty edits each."""
    found, made = rejected(edit, 10, 20, tmp_path)
    assert made == 200
    assert found >= least * made, (found, made)


@pytest.mark.parametrize("edit", [hole, swap])
def test_a_line_out_of_place_is_a_damaged_log(edit: Edit, tmp_path: Path) -> None:
    """A line out of place always makes the log damaged."""
    chance = random.Random(edit.__name__)
    for _ in range(60):
        edited = copy.deepcopy(lines("ownership", 1, EVENTS))
        assert edit(chance, edited)
        with pytest.raises(UsageError, match=r"a\.log:\d+: seq"), judged_log("ownership", edited, tmp_path / "a.log"):
            pass
