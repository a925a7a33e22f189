"""The verbs of ``holdfast cluster`` that speak to a cluster in the foreground."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeVar

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
    dir: Path = FOLDER,  # noqa: A002 - the option's name
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
    dir
        The folder of the cluster (.holdfast-cluster).
    """

    async def job(session: ClusterSession) -> tuple[int, int]:
        with Ticker() as ticker, AckFile(dir, topic) as acks:
            return await session.produce(topic, partition, records, batch, rate, acks, ticker.show)

    acked, failed = _with_session(dir, job)
    unknown = f"; {failed:,} were not acknowledged" if failed else ""
    say(f"{acked:,} records acknowledged{unknown}")
    return 0


def consume(
    topic: str,
    /,
    *,
    dir: Path = FOLDER,  # noqa: A002 - the option's name
) -> int:
    """Read all partitions of a topic from their starts, and look for each record that `produce` saw acknowledged.

    Parameters
    ----------
    topic
        The topic.
    dir
        The folder of the cluster (.holdfast-cluster).
    """

    async def job(session: ClusterSession) -> ReadCheck:
        return await session.consume(topic, AckFile.read(dir, topic))

    found = _with_session(dir, job)
    say(
        f"{found.read:,} records read; {found.acked:,} were acknowledged to `produce`: "
        f"{found.lost:,} lost, {found.twice:,} twice"
    )
    return LOST if found.lost or found.twice else 0


def topics(
    *,
    create: str | None = None,
    partitions: Count = 4,
    dir: Path = FOLDER,  # noqa: A002 - the option's name
) -> int:
    """Show the partitions of all topics, or create a topic.

    Parameters
    ----------
    create
        The name of a new topic.
    partitions
        The number of its partitions (4), which are spread over the brokers.
    dir
        The folder of the cluster (.holdfast-cluster).
    """
    if create is None:
        show(table(leaders(_with_session(dir, ClusterSession.image))))
        return 0
    nodes = [int(each) for each in read_state(dir_checked(dir)).brokers]
    homes = [nodes[number % len(nodes)] for number in range(partitions)]
    return _ask(
        dir, lambda admin: admin.create_topic("topics", create, homes), f"{create} with {partitions} partitions"
    )


def reassign(topic: str, partition: Number, node: Number, /, *, dir: Path = FOLDER) -> int:  # noqa: A002
    """Move a partition to another broker.

    Parameters
    ----------
    topic
        The topic.
    partition
        The partition.
    node
        The node of the broker.
    dir
        The folder of the cluster (.holdfast-cluster).
    """
    key = topic, partition

    async def move(admin: Admin) -> Ending:
        return (await admin.reassign("reassign", {key: node}))[key]

    return _ask(dir, move, f"{topic}-{partition} moves to broker {node}")


def cancel(topic: str, partition: Number, /, *, dir: Path = FOLDER) -> int:  # noqa: A002 - the option's name
    """Cancel the move of a partition.

    Parameters
    ----------
    topic
        The topic.
    partition
        The partition.
    dir
        The folder of the cluster (.holdfast-cluster).
    """
    key = topic, partition

    async def withdraw(admin: Admin) -> Ending:
        return (await admin.cancel("cancel", [key]))[key]

    return _ask(dir, withdraw, f"the move of {topic}-{partition} is cancelled")


def elect(topic: str, partition: Number, /, *, dir: Path = FOLDER) -> int:  # noqa: A002 - the option's name
    """Elect the leader of a partition.

    Parameters
    ----------
    topic
        The topic.
    partition
        The partition.
    dir
        The folder of the cluster (.holdfast-cluster).
    """
    return _ask(dir, lambda admin: admin.elect("elect", topic, partition), f"{topic}-{partition} has an election")


def status(*, dir: Path = FOLDER) -> int:  # noqa: A002 - the option's name
    """Show the processes, and who leads what.

    Parameters
    ----------
    dir
        The folder of the cluster (.holdfast-cluster).
    """
    image = _with_session(dir, ClusterSession.image)
    state = read_state(dir_checked(dir))
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
