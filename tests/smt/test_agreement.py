"""At small sizes, formulas and interpreter agree on every state, reachable or not."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from tests.smt.comparing import Comparison

MODELS = Path(__file__).parents[1]

CASES = {
    "ownership": ("ownership", "tiny", (), (), 2, 6),
    "streams": ("lower/models/streams.py", "default", (), (), 12, 8),
    "streams without rules": ("lower/models/streams.py", "tiny", (), ("ST-12", "CK-02.node@close"), 8, 6),
    "gauges": ("lower/models/gauges.py", "tiny", (), (), 6, 8),
    "lenient gauges": ("lower/models/gauges.py", "default", ("lenient", "keep_leader"), ("GA-02", "GA-06"), 3, 8),
    "logs": ("lower/models/logs.py", "tiny", (), (), 8, 8),
    "longer logs": ("lower/models/logs.py", "default", ("far",), ("LO-02", "LO-08"), 6, 8),
    "bags": ("lower/models/bags.py", "default", (), ("BA-03",), 8, 8),
    "answers": ("lower/models/answers.py", "default", (), ("AN-02", "AN-05"), 8, 8),
    "holders": ("lower/models/holders.py", "default", (), ("HO-02", "HO-04"), 8, 8),
    "moves": ("lower/models/moves.py", "default", (), ("MO-01",), 8, 8),
    "pools": ("lower/models/pools.py", "default", (), ("PO-08",), 8, 8),
    "quorums": ("lower/models/quorums.py", "tiny", (), (), 8, 8),
    "quorums without rules": ("lower/models/quorums.py", "default", (), ("Q-02", "Q-05", "Q-06", "Q-09"), 6, 8),
    "table": ("check/models/table.py", "default", (), (), 6, 8),
}


@pytest.mark.parametrize("case", CASES)
def test_formulas_and_interpreter_agree(case: str) -> None:
    """They agree on initial states, steps with all their writes, refusals, and properties of states and steps."""
    name, scope, variants, removed, states, arguments = CASES[case]
    path = name if "/" not in name else str(MODELS / name)
    system = remove_rules(compile_model(load_model(path), variants=variants), removed)
    compared = Comparison(system, system.scopes[scope])
    assert list(compared.differences(random.Random(11), states, arguments)) == []
