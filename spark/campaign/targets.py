"""The target of a configuration: a model, simulated clusters, the balancer, or recorded logs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from holdfast.ir.errors import UsageError
from holdfast.ir.load import model_names
from holdfast.ir.similar_names import did_you_mean
from holdfast.ir.trust import check_bundled, is_bundled
from holdfast.ir.variants import load_variant
from spark.campaign.config import BALANCER, CLUSTER, Config
from spark.campaign.model_target import ModelTarget
from spark.campaign.units import Target

NO_MODEL = {CLUSTER: "clusters", BALANCER: "the balancer"}
"""The kinds of targets without a model, and their names in messages."""


def check_name(target: str, others: Sequence[str]) -> None:
    """Raise UsageError if a target is neither the name of a model, nor a file, nor one of the ``others``."""
    names = [*others, *model_names()]
    if target in names or not target.isidentifier() or Path(f"{target}.py").is_file():
        return  # A file may be missing, too. What loads it says so.
    hint = did_you_mean(target, names, f"give {', '.join(others)} or a name that `holdfast models` lists", cutoff=0.5)
    raise UsageError(f"--target {target}: there is no such target; {hint}")


def check_model(config: Config, model: str | None, place: str) -> None:
    """Raise UsageError unless the model of a stored campaign may be executed. Imports nothing.

    ``model``: the model that the user names. If it is None, the tables in ``place`` may name only a model that comes
    along with Holdfast. A campaign of clusters or of the balancer has no model.
    """
    if config.kind in NO_MODEL:
        if model is not None:
            raise UsageError(
                f"--model {model}: the campaign in {place} is one of {NO_MODEL[config.kind]}; leave it out"
            )
    elif model is None:
        check_bundled(config.target if config.log is None else config.log.model, place)


def resume_command(config: Config, place: str) -> str:
    """The command that resumes the campaign in a place. It names the model if the tables may not."""
    stored = config.target if config.log is None else config.log.model
    named = [] if config.kind in NO_MODEL or is_bundled(stored) else ["--model", stored]
    return shlex.join(["holdfast", "campaign", "resume", place, *named])


def target_of(config: Config, model: str | None = None) -> Target:
    """The target of a campaign's configuration. Raises UsageError if it cannot be made.

    ``model``: the model to load, instead of the one that the configuration names.
    """
    if config.log is not None:
        from spark.campaign.log_target import LogTarget  # noqa: PLC0415 - it loads the judge

        return LogTarget.of(config, model)
    if config.balancer is not None:
        from spark.campaign.balancer_target import BalancerTarget  # noqa: PLC0415 - it loads the implementation

        return BalancerTarget.of(config)
    if config.cluster is None:
        return ModelTarget(load_variant(model or config.target, config.variants, config.removed), config)
    from spark.campaign.cluster_target import ClusterTarget  # noqa: PLC0415 - it loads the implementation

    return ClusterTarget.of(config)
