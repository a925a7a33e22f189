"""The target of a configuration: a model, simulated clusters, or recorded logs."""

from __future__ import annotations

from holdfast.ir.variants import load_variant
from spark.campaign.config import Config
from spark.campaign.model_target import ModelTarget
from spark.campaign.units import Target


def target_of(config: Config) -> Target:
    """The target of a campaign's configuration. Raises UsageError if it cannot be made."""
    if config.log is not None:
        from spark.campaign.log_target import LogTarget  # noqa: PLC0415 - it loads the judge

        return LogTarget.of(config)
    if config.cluster is None:
        return ModelTarget(load_variant(config.target, config.variants, config.removed), config)
    from spark.campaign.cluster_target import ClusterTarget  # noqa: PLC0415 - it loads the implementation

    return ClusterTarget.of(config)
