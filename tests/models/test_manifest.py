"""Every model against ``models/manifest.json``."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.check.verify.manifest import ManifestEntry, format_manifest, measure, read_manifest

FOLDER = Path(__file__).parents[2] / "models"
ENTRIES = read_manifest(FOLDER)
PINNED = [entry for entry in ENTRIES if entry.expected is not None]


def name(entry: ManifestEntry) -> str:
    """The check's name on the command line."""
    return f"{entry.configuration.model} {entry.configuration}"


def test_nothing_is_left_out() -> None:
    """Every scope and variant of every model has an entry; `holdfast verify --update --slow` adds missing ones."""
    assert [name(entry) for entry in ENTRIES if entry.expected is None] == []


STARVED = ["reassignment --scope tiny"]
"""Liveness checks that fail without variants: an open is repeated after a close (EX-07 with ST-24)."""


def test_the_protocols_hold() -> None:
    """Every pinned check of a model without variants and with all its rules holds, except those in ``STARVED``."""
    as_they_are = [entry for entry in PINNED if not entry.configuration.variants and not entry.configuration.without]
    fails = [entry for entry in as_they_are if entry.expected is not None and entry.expected.exit_code != 0]
    assert [name(entry) for entry in fails if entry.configuration.engine == "check"] == []
    assert [name(entry) for entry in fails if entry.configuration.engine == "live"] == STARVED


def test_the_file_is_in_its_standard_form() -> None:
    """The manifest reads as `holdfast verify --update` writes it, so that an update changes only what differs."""
    assert (FOLDER / "manifest.json").read_text() == format_manifest(PINNED)


MANY = 15_000
"""Checks with more states are slow tests, also if `holdfast verify` runs them without --slow."""


def is_slow(entry: ManifestEntry) -> bool:
    """Whether a check takes too long for a test that every change must pass."""
    return entry.slow or (entry.expected is not None and (entry.expected.states or 0) > MANY)


@pytest.mark.parametrize("entry", [entry for entry in PINNED if not is_slow(entry)], ids=name)
def test_the_fast_tier(entry: ManifestEntry) -> None:
    """A check finds the pinned verdict, states, depth, and length of the shortest run."""
    assert entry.differences(measure(FOLDER, entry)) == []


@pytest.mark.slow
@pytest.mark.parametrize("entry", [entry for entry in PINNED if is_slow(entry)], ids=name)
def test_the_slow_tier(entry: ManifestEntry) -> None:
    """A check of a large scope finds the pinned verdict, states, depth, and length of the shortest run."""
    assert entry.differences(measure(FOLDER, entry)) == []
