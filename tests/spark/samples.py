"""Sample campaigns: tables as units write them, without any runs. Equal arguments give equal tables."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import attrs
import numpy as np

from holdfast.lower.random_runs.plan import STOPS
from holdfast.runs.loading import open_trace
from holdfast.trace.itf import itf_text
from holdfast.trace.line import replay_command, to_line
from holdfast.trace.text import render
from spark.campaign.config import Config
from spark.campaign.places import CAMPAIGN, FINDINGS, unit_path
from spark.campaign.summary import Summary, summarise
from spark.campaign.tables import STATE_BITS, VERSION, to_parquet

ACTIONS = (
    "reserve", "append", "send_close", "recover", "register", "open", "close", "trim", "delete", "commit",
)  # fmt: skip

RULES = ("ST-11", "ST-12", "ST-14", "CK-01.expired", "CK-02.range", "ND-01")

HOSTILE = (
    "<script>alert(1)</script>", "a&b\"c'", "]]>", "ünïcödé \U0001f512", "{{ 7 * 7 }}", "\x1b[31mred", "\u202egnp.exe",
)  # fmt: skip
"""Names that would be markup, or control a terminal, if a page did not escape them."""

RUNS = (
    "one_owner: init(True) open(p1,s1,1,True) open(p3,s1,2,True)",
    "acked_once: init(True) open(p1,s1,1,True) append(p1,s1) open(p1,s1,2,True) append(p1,s1)",
    "opened_by_its_owner: init(True) open(p1,s1,1,False) open(p1,s1,2,False)",
)
"""Replay lines of runs of `ownership` without ST-14."""


class MemoryStorage:
    """A storage in memory."""

    def __init__(self, name: str = "runs/a") -> None:
        self.name = name
        self.files: dict[str, bytes] = {}

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def write(self, path: str, data: bytes) -> None:
        self.files[path] = data

    def list(self, folder: str) -> list[str]:
        return sorted(path.removeprefix(f"{folder}/") for path in self.files if path.startswith(f"{folder}/"))

    def unlisted(self) -> tuple[str, ...]:
        return ()

    def delete(self, path: str) -> None:
        self.files.pop(path, None)

    def check_writable(self) -> None:
        return None


@attrs.frozen(kw_only=True)
class Sample:
    """The parameters of a sample campaign.

    ``traces`` determine the number of units; ``done`` of them are stored. ``species``: the number of kinds of states
    that the runs can reach, some far more often than others. ``rare``: how rare the findings are. ``alike``: whether
    the findings shrink to a few.
    """

    model: str = "Ownership"
    target: str = "ownership"
    removed: tuple[str, ...] = ()
    actions: tuple[str, ...] = ACTIONS
    rules: tuple[str, ...] = RULES
    claims: tuple[str, ...] = ("one_owner", "acked_once", "opened_by_its_owner")
    predicates: tuple[str, ...] = ("opened(s1)", "owner(s1, n1)")
    traces: int = 2_000_000
    traces_per_unit: int = 100_000
    done: int | None = None
    seed: int = 1
    species: int = 9_000
    findings: int = 0
    rare: float = 1.0
    shrunk: bool = True
    alike: bool = False
    stop_after: int | None = None
    fingerprint: str = "e284876eb04a2c33"
    scale: int = 1

    @property
    def units(self) -> int:
        """The number of units."""
        every = -(-self.traces // self.traces_per_unit)
        return every if self.done is None else self.done


def campaign(sample: Sample, name: str = "runs/a") -> MemoryStorage:
    """The tables of a campaign."""
    held = MemoryStorage(name)
    held.write(CAMPAIGN, to_parquet("campaign", [campaign_row(sample)]))
    reach = _reach(sample)
    for unit in range(sample.units):
        for table, row in unit_rows(sample, unit, reach).items():
            held.write(unit_path(table, unit), to_parquet(table, [row]))
    if sample.shrunk:
        held.write(FINDINGS, to_parquet("findings", list(findings(sample))))
    return held


def summary(**sample: Any) -> Summary:
    """The summary of a sample campaign."""
    return summarise(campaign(Sample(**sample)))


def campaign_row(sample: Sample) -> dict[str, Any]:
    """The row of the campaign's configuration."""
    return {
        "version": VERSION,
        "holdfast": "0.9",
        "fingerprint": sample.fingerprint,
        "model": sample.model,
        "deadlock": "deadlock",
        "config": config_of(sample).to_json(),
        "actions": list(sample.actions),
        "kind": "model",
        "situations": [],
    }


def config_of(sample: Sample) -> Config:
    """The campaign's configuration."""
    return Config(
        target=sample.target,
        scope="default",
        removed=sample.removed,
        traces=sample.traces,
        depth=50,
        seed=sample.seed,
        stop_after=sample.stop_after,
        traces_per_unit=sample.traces_per_unit,
    )


def unit_rows(sample: Sample, unit: int, reach: Sequence[np.ndarray[Any, Any]]) -> dict[str, dict[str, Any]]:
    """The rows of one unit, in the tables that have one row for each unit."""
    chance = random.Random(f"{sample.seed} {unit}")
    runs = min(sample.traces_per_unit, sample.traces - unit * sample.traces_per_unit)
    sightings = list(_sightings(sample, unit, runs, chance))
    violations = sum(each["times"] for each in sightings)
    stops = [
        {"reason": reason, "runs": share, "steps": share * 20, "shortest": 1, "longest": 50}
        for reason, share in zip(STOPS, _split(runs - violations, len(STOPS) - 1), strict=False)
    ]
    violated = {"reason": "violated", "runs": violations, "steps": violations * 9, "shortest": 2, "longest": 40}
    if not violations:
        violated |= {"shortest": 0, "longest": 0}
    stops.append(violated)
    return {
        "coverage": _coverage(sample, unit, runs, chance, reach),
        "timing": {
            "unit": unit,
            "seconds": runs / 1_250_000 * (1 + chance.random() / 10),
            "cpu_seconds": runs / 1_300_000,
            "setup_seconds": 1.5 if unit < 2 else 0.0,
        },
        "runs": {
            "unit": unit,
            "seed": config_of(sample).seed_of(unit),
            "verdict": "violated" if violations else "not_found",
            "runs": runs,
            "steps": sum(stop["steps"] for stop in stops),
            "violations": violations,
            "stops": stops,
            "sightings": sightings,
            "logs": [],
        },
    }


def _split(whole: int, parts: int) -> list[int]:
    return [whole // parts + (place < whole % parts) for place in range(parts)]


def _coverage(
    sample: Sample, unit: int, runs: int, chance: random.Random, reach: Sequence[np.ndarray[Any, Any]]
) -> dict[str, Any]:
    # The last of several actions is never taken, and the last rule of an action is never decisive.
    some = sample.actions[:-1] if len(sample.actions) > 1 else sample.actions
    weight = {name: 1 + 7 * place % 23 for place, name in enumerate(some)}
    pairs = [(a, b) for a in some for b in some if weight[a] * weight[b] * runs * chance.random() > 400]
    shares, places = reach
    # A seed fixes the numbers of numpy's generators, as it does with Python's.
    met = np.random.default_rng(unit * 1000 + sample.seed).random(len(shares)) < -np.expm1(-shares * runs)
    bits = np.zeros(STATE_BITS, np.uint8)
    bits[places[met]] = 1
    return {
        "unit": unit,
        "actions": [
            {"action": name, "taken": runs * weight.get(name, 0) * sample.scale, "refused": runs * 3}
            for name in sample.actions
        ],
        "rules": [
            {"action": name, "rule": rule, "refused": refused, "decisive": refused}
            for place, name in enumerate(sample.actions)
            for nth, rule in enumerate(sample.rules[: 1 + place % len(sample.rules)])
            for refused in [0 if nth == len(sample.rules) - 1 else runs * (nth + 1) // 7]
        ],
        "cuts": [{"action": some[0], "bound": "Epoch", "times": runs // 9}],
        "pairs": [
            {
                "first": a,
                "second": b,
                "times": max(1, weight[a] * weight[b] * runs // 9 ** (weight[a] * weight[b] % 6)) * sample.scale,
            }
            for a, b in pairs
        ],
        "witnesses": [{"witness": "handed_over", "run": 17 + unit, "steps": 6}],
        "states": np.packbits(bits, bitorder="little").tobytes(),
        "situations": [],
        "circumstances": [],
        "moments": [],
        "kept": [],
    }


def _reach(sample: Sample) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """For each kind of state, the share of runs that meet it, and the bit of its signature."""
    chance = np.random.default_rng(7)
    shares = 0.05 * np.arange(1, sample.species + 1, dtype=float) ** -1.9
    return shares, chance.integers(0, STATE_BITS, sample.species)


def _signature(number: int) -> str:
    return f"{number * 0x9E3779B97F4A7C15 % 2**48:012x}"


def _about(sample: Sample, number: int) -> dict[str, Any]:
    """The violated property, the action and the place."""
    claim = sample.claims[number % len(sample.claims)]
    action = "" if number == 5 else sample.actions[number % len(sample.actions)]
    return {"property": claim, "action": action, "state": list(sample.predicates)}


def _sightings(sample: Sample, unit: int, runs: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(sample.findings):
        if unit == 0 or chance.random() < sample.rare / (number + 1):
            yield {
                "signature": _signature(number),
                **_about(sample, number),
                "times": max(1, runs // 1000 // (number + 1)),
                "run": chance.randrange(runs),
                "steps": 7 + number + chance.randrange(20),
            }


def findings(sample: Sample) -> Iterator[Mapping[str, Any]]:
    """The rows of the table of findings."""
    for number in range(sample.findings if sample.units else 0):
        shown = _shown(RUNS[number % len(RUNS)])
        yield {
            "signature": _signature(number),
            **_about(sample, number),
            "times": 1,
            "units": 1,
            "unit": 0,
            "seed": 1,
            "run": 3,
            "drawn": 9,
            "shape": _signature(number % len(RUNS) if sample.alike else number),
            **shown,
        }


@cache
def _shown(run: str) -> dict[str, Any]:
    """The columns about the shrunk run."""
    trace = open_trace(f"ownership tiny -ST-14 #0000000000000000 {run}").trace
    return {
        "steps": trace.length,
        "line": to_line(trace),
        "replay": replay_command(trace),
        "sentence": trace.shown.sentence,
        "itf": itf_text(trace),
        "text": render(trace),
        "case": "",
    }
