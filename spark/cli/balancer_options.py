"""The options of a campaign that say how the balancer plans."""

from __future__ import annotations

from typing import Literal

import attrs
from cyclopts import Parameter

from spark.campaign.config import BALANCER, Config, traces_per_unit

ROUNDS = 100
"""The most rounds of a run."""


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class BalancerSettings:
    """How the balancer of a campaign plans.

    Parameters
    ----------
    balancer
        The mode: parity with AutoMQ (the default), or safe, in which planning comes to rest.
    """

    balancer: Literal["parity", "safe"] | None = None

    @property
    def given(self) -> dict[str, object]:
        """The values by option; None if not given."""
        return {"--balancer": self.balancer}


NO_BALANCER = BalancerSettings()


def balancer_config(
    settings: BalancerSettings, runs: int, seed: int, without: tuple[str, ...] = (), stop_after: int | None = None
) -> Config:
    """The configuration of a campaign of the balancer."""
    return Config(
        target=BALANCER,
        scope="",
        removed=tuple(dict.fromkeys(without)),
        traces=runs,
        depth=ROUNDS,
        seed=seed,
        stop_after=stop_after,
        traces_per_unit=traces_per_unit(runs, BALANCER),
        balancer=settings.balancer or "parity",
    )
