"""Settings of the controllers that a run may have instead of the defaults, each with a name for the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from impl.controller.view import Profile

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "min-insync-2": {"min_insync": 2},
    "unclean-elections": {"unclean_election": True},
    "cancel-as-built": {"cancel": "K"},
    "timer-as-built": {"timer": "automq"},
}
"""By name: the fields of the profile, with their values."""


def profile_with(profile: Profile, names: Iterable[str]) -> Profile:
    """A profile with some settings."""
    fields = {field: value for name in names for field, value in SETTINGS[name].items()}
    return msgspec.structs.replace(profile, **fields)
