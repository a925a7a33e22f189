"""The same snapshot has the same plan, byte for byte, whatever the order of hashes (AB-62)."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.docs.fences import ROOT

PLANS = """
import random
import msgspec
from impl.sim.balancer_cases.drawing import draw_case
from impl.sim.balancer_cases.play import play

for seed in range(60):
    for safe in (False, True):
        run = play(draw_case(random.Random(seed).random, safe=safe))
        for planned in run.rounds:
            print(msgspec.json.encode([planned.actions, planned.moves, planned.sizes]).decode())
"""
"""Plans of drawn clusters, whose partitions belong to several topics. Prints each round."""


def plans(hash_seed: str) -> str:
    """What the program prints under a seed of hashes."""
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, "-c", PLANS], env=environment, capture_output=True, text=True, check=True)
    return ran.stdout


def test_hash_seeds_change_no_plan() -> None:
    """Two seeds give equal bytes, in both modes, and there are plans with moves."""
    one, two = plans("1"), plans("2")
    assert one == two
    assert one.count('"source"') > 100
