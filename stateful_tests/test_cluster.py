"""Whole simulated clusters on moto's S3. Whatever clients, operators and faults do, no oracle objects."""

from __future__ import annotations

from stateful_tests.cluster.machine import drive, machine


def test_clusters_keep_what_they_confirm() -> None:
    """Runs of up to thirty steps break no property."""
    drive(machine(), max_examples=100)
