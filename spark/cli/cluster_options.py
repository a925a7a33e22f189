"""The options of a campaign that say which clusters are simulated: those of ``holdfast simulate`` that draw runs."""

from __future__ import annotations

import attrs

from holdfast.ir.errors import UsageError
from impl.cli.cluster_settings import NO_CLUSTER, ClusterSettings
from impl.cli.question import refuse
from spark.campaign.config import ClusterOptions

__all__ = ["NO_CLUSTER", "OPERATIONS", "ClusterSettings", "options_of", "refuse"]

OPERATIONS = 300
"""The number of operations of a run, unless --steps names another."""


def options_of(settings: ClusterSettings) -> ClusterOptions:
    """The options as the configuration keeps them. Raises UsageError for runs without an operation."""
    if settings.steps == 0:
        raise UsageError("--steps 0: a run of a campaign needs an operation; give 1 or more")
    return ClusterOptions(**attrs.asdict(settings))
