"""The options that say which clusters are simulated, for every command that draws runs."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs
from cyclopts import Parameter, validators

from holdfast.cli.options import Names
from impl.sim.case_file import MOST_NODES, MOST_STREAMS

Nodes = Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=MOST_NODES))]
Streams = Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=MOST_STREAMS))]
Zones = Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=26))]
Steps = Annotated[int | None, Parameter(validator=validators.Number(gte=0, lte=1_000_000))]
Minutes = Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=1_440))]


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class ClusterSettings:
    """Which clusters are simulated.

    Parameters
    ----------
    faults
        all: each run draws half of the kinds of faults (the default); none; or the kinds, such as pause,crash_fast.
    brokers
        The number of brokers (3).
    streams
        The number of streams at the beginning (4).
    partitions
        The number of partitions. Clients produce to them and read them, and operators move them. Without this option,
        clients use streams.
    zones
        The number of zones. Clients speak only to brokers of their zone, which forward what others lead. There are 4
        partitions unless another number is given. Without this option there is no zone routing.
    generation
        Who asks for the election after a move: G1, the target when it serves (the default), or G0, the source.
    clients
        The number of clients (4).
    steps
        The number of operations of all clients together (300).
    minutes
        The virtual time over which the operations are spread, in minutes; otherwise 90 seconds.
    version
        V6, which can close a stream before it is uploaded (the default), or legacy.
    switch
        Build in a suspicious spot as AutoMQ has it, such as AM-20. May be repeated.
    setting
        Change a setting of the controllers: min-insync-2, unclean-elections, cancel-as-built or timer-as-built. May be
        repeated.
    """

    faults: str | None = None
    brokers: Nodes = None
    streams: Streams = None
    partitions: Streams = None
    zones: Zones = None
    generation: Annotated[Literal["G0", "G1"] | None, Parameter(show_choices=False)] = None
    clients: Nodes = None
    steps: Steps = None
    minutes: Minutes = None
    version: Annotated[Literal["legacy", "V6"] | None, Parameter(show_choices=False)] = None
    switch: Names = ()
    setting: Names = ()

    @property
    def given(self) -> dict[str, object]:
        """The values by option; None if not given."""
        return {f"--{name}": value if value != () else None for name, value in attrs.asdict(self).items()}


NO_CLUSTER = ClusterSettings()
