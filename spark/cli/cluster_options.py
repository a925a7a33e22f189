"""The options of a campaign that say which clusters are simulated: those of ``holdfast simulate`` that draw runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import attrs
from cyclopts import Parameter, validators

from holdfast.cli.options import Names
from holdfast.ir.errors import UsageError
from spark.campaign.config import ClusterOptions

OPERATIONS = 300
"""The number of operations of a run, unless --steps names another."""

Nodes = Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=50))]
Streams = Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=1_000))]
Steps = Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=1_000_000))]


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class ClusterSettings:
    """Which clusters a campaign simulates.

    Parameters
    ----------
    faults
        all: each run draws half of the kinds of faults (the default); none; or the kinds, such as pause,crash_fast.
    brokers
        The number of brokers (3).
    streams
        The number of streams at the beginning (4).
    partitions
        The number of partitions. Without this option, clients use streams.
    generation
        Who asks for the election after a move: G1, the target when it serves (the default), or G0, the source.
    clients
        The number of clients (4).
    steps
        The number of operations of all clients together (300).
    version
        V6, which can close a stream before it is uploaded (the default), or legacy.
    switch
        Build in a suspicious spot as AutoMQ has it, such as AM-20. May be repeated.
    """

    faults: str | None = None
    brokers: Nodes = None
    streams: Streams = None
    partitions: Streams = None
    generation: Annotated[Literal["G0", "G1"] | None, Parameter(show_choices=False)] = None
    clients: Nodes = None
    steps: Steps = None
    version: Annotated[Literal["legacy", "V6"] | None, Parameter(show_choices=False)] = None
    switch: Names = ()

    def options(self) -> ClusterOptions:
        """The options as the configuration keeps them."""
        return ClusterOptions(**attrs.asdict(self))

    @property
    def given(self) -> dict[str, object]:
        """The values by option; None if not given."""
        return {f"--{name}": value if value != () else None for name, value in attrs.asdict(self).items()}


NO_CLUSTER = ClusterSettings()


def refuse(options: Mapping[str, object], why: str) -> None:
    """Raise UsageError for the first option that has a value. ``why``: the reason, for the message."""
    for option, value in options.items():
        if value is not None:
            raise UsageError(f"{option}: {why}; leave it out")
