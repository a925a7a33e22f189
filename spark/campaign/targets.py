"""The target of a configuration: a model, simulated clusters, or recorded logs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from holdfast.ir.errors import UsageError
from holdfast.ir.load import model_names
from holdfast.ir.similar_names import did_you_mean
from holdfast.ir.variants import load_variant
from spark.campaign.config import Config
from spark.campaign.model_target import ModelTarget
from spark.campaign.units import Target


def check_name(target: str, others: Sequence[str]) -> None:
    """Raise UsageError if a target is neither the name of a model, nor a file, nor one of the ``others``."""
    names = [*others, *model_names()]
    if target in names or not target.isidentifier() or Path(f"{target}.py").is_file():
        return  # A file may be missing, too. What loads it says so.
    hint = did_you_mean(target, names, f"give {', '.join(others)} or a name that `holdfast models` lists", cutoff=0.5)
    raise UsageError(f"--target {target}: there is no such target; {hint}")


def target_of(config: Config) -> Target:
    """The target of a campaign's configuration. Raises UsageError if it cannot be made."""
    if config.log is not None:
        from spark.campaign.log_target import LogTarget  # noqa: PLC0415 - it loads the judge

        return LogTarget.of(config)
    if config.cluster is None:
        return ModelTarget(load_variant(config.target, config.variants, config.removed), config)
    from spark.campaign.cluster_target import ClusterTarget  # noqa: PLC0415 - it loads the implementation

    return ClusterTarget.of(config)
