"""The Hypothesis profiles: ``--hypothesis-profile=ci`` is what a change must pass, ``nightly`` tries far more."""

from __future__ import annotations

from hypothesis import settings

from holdfast.testing import register_profiles

register_profiles()
settings.load_profile("dev")
