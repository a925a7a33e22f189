"""The Hypothesis profiles: a change must pass ``--hypothesis-profile=ci``; ``nightly`` tries many more examples."""

from __future__ import annotations

from hypothesis import settings

from holdfast.testing import register_profiles

register_profiles()
settings.load_profile("dev")
