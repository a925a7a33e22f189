"""The bytes between zones in a day: what routing saves."""

from __future__ import annotations

import json

import pytest

from holdfast.cli.app import main
from impl.sim import zone_day


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zone_day, "MEASURED_MS", 6_000)
    monkeypatch.setattr(zone_day, "WARM_MS", 3_000)


def test_routing_keeps_data_in_their_zones() -> None:
    """Without routing two thirds of what is sent and read cross zones, since a leader is in one of three zones."""
    plain = zone_day.measure(is_routed=False, consumers=2, rate=100)
    routed = zone_day.measure(is_routed=True, consumers=2, rate=100)
    assert plain.produced == routed.produced == 8_640_000
    sent_and_read = 3 * plain.produced
    assert 0.55 * sent_and_read < plain.data < 0.8 * sent_and_read
    assert routed.data == 0
    assert 0 < routed.metadata < plain.data / 10


def test_consumers_count() -> None:
    """Each consumer reads everything: the data between zones grow with their number."""
    one, two = (zone_day.measure(is_routed=False, consumers=number, rate=100) for number in (1, 2))
    assert 1.2 * one.data < two.data < 1.8 * one.data


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints it, also as JSON; options of a move are refused."""
    assert main(["simulate", "--scenario", "zones", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    plain, routed = found["days"]
    assert (plain["routed"], routed["routed"], routed["data_between_zones"]) == (False, True, 0)
    assert plain["dollars"] == round((plain["data_between_zones"] + plain["metadata_between_zones"]) / 1e9 * 0.02, 2)
    assert main(["simulate", "--scenario", "zones", "--bandwidth", "1Gbps"]) == 2
    assert "--bandwidth" in capsys.readouterr().err
