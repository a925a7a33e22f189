"""The comparison on generated models finds each fault that an engine once had."""

from __future__ import annotations

import pytest

from tests.generated.comparing import compare
from tests.generated.planted import FAULTS, Fault


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.plant.__name__)
def test_a_fault_that_is_put_back_is_found(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the fault, one of a few models differs or is wrongly accepted; without it, none does."""
    assert not [each for seed in fault.seeds for each in compare(seed, (fault.engine,)).differences]
    fault.plant(monkeypatch)
    assert any(compare(seed, (fault.engine,)).differences for seed in fault.seeds)
