"""The verbs of ``holdfast cluster`` that speak to a cluster in the foreground."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeVar

import attrs
from cyclopts import Parameter, validators
from rich.table import Table

from holdfast.cli.output import Ticker, say, show
from holdfast.ir.errors import HoldfastError, UsageError
from impl.cli.cluster_up import leaders, table
from impl.client.admin import Admin
from impl.client.history import Ending
from impl.real.acks import AckFile, ReadCheck
from impl.real.problems import ClusterError
from impl.real.session import ClusterSession
from impl.real.state_file import FOLDER, read_state

Count = Annotated[int, Parameter(validator=validators.Number(gte=1, lte=100_000_000))]
Number = Annotated[int, Parameter(validator=validators.Number(gte=0))]
Rate = Annotated[float, Parameter(validator=validators.Number(gt=0))]
T = TypeVar("T")
LOST, REFUSED = 12, 10


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class ClusterFolder:
    """The folder by which a command finds its cluster.

    Parameters
    ----------
    dir
        The folder of the cluster (.holdfast-cluster).
    """

    dir: Path = FOLDER


@Parameter(name="*")
@attrs.frozen
class PartitionName:
    """The partition that a request is about.

    Parameters
    ----------
    topic
        The topic.
    partition
        The partition.
    """

    topic: str
    partition: Number

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def key(self) -> tuple[str, int]:
        """The partition as the controller names it."""
        return self.topic, self.partition


HERE = ClusterFolder()


class ClusterSilenceError(HoldfastError):
    """The cluster does not answer."""

    exit_code = 20


def _with_session(folder: Path, job: Callable[[ClusterSession], Awaitable[T]]) -> T:
    """Run a job that speaks to the cluster whose addresses are in a folder."""

    async def run() -> T:
        async with ClusterSession(folder) as session:
            return await job(session)

    try:
        return asyncio.run(run())
    except ClusterError as error:
        raise UsageError(str(error)) from error
    except TimeoutError as error:
        raise ClusterSilenceError(
            f"--dir {folder}: the cluster does not answer; see `holdfast cluster status`"
        ) from error


def produce(
    topic: str,
    /,
    *,
    partition: Number = 0,
    records: Count = 1_000,
    batch: Count = 10,
    rate: Rate | None = None,
    cluster: ClusterFolder = HERE,
) -> int:
    """Send numbered records to a partition, and write down which of them were acknowledged.

    Parameters
    ----------
    topic
        The topic.
    partition
        The partition (0).
    records
        The number of records (1000).
    batch
        The number of records of a send (10).
    rate
        The most records a second; otherwise as fast as they are acknowledged.
    cluster
        The cluster.
    """

    async def job(session: ClusterSession) -> tuple[int, int]:
        with Ticker() as ticker, AckFile(cluster.dir, topic) as acks:
            return await session.produce(topic, partition, records, batch, rate, acks, ticker.show)

    acked, failed = _with_session(cluster.dir, job)
    unknown = f"; {failed:,} were not acknowledged" if failed else ""
    say(f"{acked:,} records acknowledged{unknown}")
    return 0


def consume(
    topic: str,
    /,
    *,
    cluster: ClusterFolder = HERE,
) -> int:
    """Read all partitions of a topic from their starts, and look for each record that `produce` saw acknowledged.

    Parameters
    ----------
    topic
        The topic.
    cluster
        The cluster.
    """

    async def job(session: ClusterSession) -> ReadCheck:
        return await session.consume(topic, AckFile.read(cluster.dir, topic))

    found = _with_session(cluster.dir, job)
    say(
        f"{found.read:,} records read; {found.acked:,} were acknowledged to `produce`: "
        f"{found.lost:,} lost, {found.twice:,} twice"
    )
    return LOST if found.lost or found.twice else 0


def topics(
    *,
    create: str | None = None,
    partitions: Count = 4,
    cluster: ClusterFolder = HERE,
) -> int:
    """Show the partitions of all topics, or create a topic.

    Parameters
    ----------
    create
        The name of a new topic.
    partitions
        The number of its partitions (4), which are spread over the brokers.
    cluster
        The cluster.
    """
    if create is None:
        show(table(leaders(_with_session(cluster.dir, ClusterSession.image))))
        return 0
    nodes = [int(each) for each in read_state(dir_checked(cluster.dir)).brokers]
    homes = [nodes[number % len(nodes)] for number in range(partitions)]
    return _ask(
        cluster.dir, lambda admin: admin.create_topic("topics", create, homes), f"{create} with {partitions} partitions"
    )


def reassign(partition: PartitionName, node: Number, /, *, cluster: ClusterFolder = HERE) -> int:
    """Move a partition to another broker.

    Parameters
    ----------
    partition
        The partition.
    node
        The node of the broker.
    cluster
        The cluster.
    """

    async def move(admin: Admin) -> Ending:
        return (await admin.reassign("reassign", {partition.key: node}))[partition.key]

    return _ask(cluster.dir, move, f"{partition} moves to broker {node}")


def cancel(partition: PartitionName, /, *, cluster: ClusterFolder = HERE) -> int:
    """Cancel the move of a partition.

    Parameters
    ----------
    partition
        The partition.
    cluster
        The cluster.
    """

    async def withdraw(admin: Admin) -> Ending:
        return (await admin.cancel("cancel", [partition.key]))[partition.key]

    return _ask(cluster.dir, withdraw, f"the move of {partition} is cancelled")


def elect(partition: PartitionName, /, *, cluster: ClusterFolder = HERE) -> int:
    """Elect the leader of a partition.

    Parameters
    ----------
    partition
        The partition.
    cluster
        The cluster.
    """
    return _ask(cluster.dir, lambda admin: admin.elect("elect", *partition.key), f"{partition} has an election")


def status(*, cluster: ClusterFolder = HERE) -> int:
    """Show the processes, and who leads what.

    Parameters
    ----------
    cluster
        The cluster.
    """
    image = _with_session(cluster.dir, ClusterSession.image)
    state = read_state(dir_checked(cluster.dir))
    found = Table("process", "pid", "port", "state")
    found.add_row("controller", str(state.controller_pid), str(state.controller), "")
    for node, place in state.brokers.items():
        found.add_row(place.name, str(place.pid), str(place.port), image.brokers.get(int(node), "starting"))
    show(found)
    show(table(leaders(image)))
    return 0


def dir_checked(folder: Path) -> Path:
    """The folder of a cluster that runs. Raises UsageError."""
    try:
        read_state(folder)
    except ClusterError as error:
        raise UsageError(str(error)) from error
    return folder


def _ask(folder: Path, job: Callable[[Admin], Awaitable[Ending]], done: str) -> int:
    """Ask the controller, and print its answer."""

    async def run(session: ClusterSession) -> tuple[Ending, str]:
        return await session.ask(job)

    ending, error = _with_session(folder, run)
    if ending == "ok":
        say(done)
        return 0
    if ending == "info":
        raise ClusterSilenceError(
            "the controller did not answer, so the request may have taken effect; see `holdfast cluster status`"
        )
    say(f"refused: {error}")
    return REFUSED
