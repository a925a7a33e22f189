"""``holdfast cluster up``: a cluster of processes in the foreground."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

from rich.table import Table

from holdfast.check.temporary_folder import TemporaryFolder
from holdfast.cli.output import cannot_write, note, say, show
from holdfast.ir.errors import UsageError
from impl.cli.cluster_test import Brokers
from impl.metadata.image import Image
from impl.metadata.log import MetadataBatch, replay
from impl.real.children import Children
from impl.real.clock import new_clock
from impl.real.cluster import LocalCluster
from impl.real.metadata_follower import MetadataFollower
from impl.real.problems import ClusterError
from impl.real.starts import ClusterRules, Generation, Version
from impl.real.state_file import FOLDER, NAME, is_running, read_state, write_state
from impl.real.store_place import BUCKET, StorePlace, environment_of, open_place

SHUTDOWN_S = 45.0
"""How long a broker may take to shut down; it waits up to 30 s for the closes of its partitions (PT-06)."""


def up(
    *,
    brokers: Brokers = 3,
    version: Version = "V6",
    generation: Generation = "G1",
    s3: str | None = None,
    bucket: str | None = None,
    dir: Path = FOLDER,  # noqa: A002 - the option's name
) -> int:
    """Run a cluster until Ctrl-C: a controller, brokers, and an object store.

    A process that ends gets a successor. Ctrl-C shuts the brokers down in order, one after the other; a second Ctrl-C
    kills them.

    Parameters
    ----------
    brokers
        The number of brokers (3).
    version
        V6, which can close a stream before it is uploaded (the default), or legacy.
    generation
        Who asks for the election after a move: G1, the target when it serves (the default), or G0, the source.
    s3
        The URL of an object store; otherwise moto's server, which the command starts and stops, and whose data end with
        it.
    bucket
        The bucket (holdfast). It has to exist, and belongs to this cluster alone.
    dir
        The folder for the addresses of the processes, by which the other verbs find them, and, with --s3, for the
        metadata log (.holdfast-cluster).
    """
    if bucket is not None and s3 is None:
        raise UsageError(f"--bucket {bucket}: it belongs to --s3; leave it out")
    try:
        dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(dir, error) from error
    place = StorePlace(s3, bucket or BUCKET, own=s3 is None)
    rules = ClusterRules(version=version, generation=generation)
    with TemporaryFolder("cluster") as logs:
        try:
            _check_free(dir)
            if place.own:
                for stale in dir.glob("*.acks"):  # Of records in a server of moto that is gone.
                    stale.unlink()
            asyncio.run(Foreground(place, rules, brokers, dir, logs).run())
        except ClusterError as error:
            raise UsageError(str(error)) from error
        finally:
            (dir / NAME).unlink(missing_ok=True)
    return 0


def _check_free(folder: Path) -> None:
    if (folder / NAME).exists() and is_running(read_state(folder)):
        raise UsageError(f"--dir {folder}: another cluster runs here; stop it, or name another folder")


class Foreground:
    """A cluster that runs until a signal. ``folder``: for the addresses. ``logs``: for the events of processes."""

    def __init__(self, place: StorePlace, rules: ClusterRules, brokers: int, folder: Path, logs: Path) -> None:
        self._place, self._rules, self._brokers, self._folder, self._logs = place, rules, brokers, folder, logs
        self._image = Image()
        self._shown = ""

    async def run(self) -> None:
        """Run the cluster. All processes have ended when this returns, or raises ClusterError."""
        clock = new_clock()
        environment = environment_of(self._place)
        children = Children(self._logs, clock, environment)
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        try:
            note("starting the object store and the processes")
            endpoint = await open_place(self._place, children, environment)
            cluster = LocalCluster(
                *(self._logs, children, clock),
                endpoint=endpoint,
                bucket=self._place.bucket,
                rules=self._rules,
                metadata=(self._logs if self._place.own else self._folder) / "metadata.log",
                changed=lambda: self._write(cluster, endpoint),
                tell=note,
            )
            await cluster.start(self._brokers)
            say(f"{self._brokers} brokers on {endpoint or 'Amazon S3'}, bucket {self._place.bucket}. Ctrl-C ends them.")
            follower = MetadataFollower("up", cluster.controller_port, self._learn)
            await stop.wait()
            follower.close()
            await self._stop(cluster)
        finally:
            await children.close()

    async def _stop(self, cluster: LocalCluster) -> None:
        """Shut down in order; the next signal ends the wait."""
        note("shutting down in order; Ctrl-C again kills the processes")
        hurry = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, hurry.set)
        stopping: asyncio.Task[Any] = loop.create_task(cluster.stop(SHUTDOWN_S))
        hurrying = loop.create_task(hurry.wait())
        await asyncio.wait({stopping, hurrying}, return_when=asyncio.FIRST_COMPLETED)
        for name in stopping.result() if stopping.done() else ():
            note(f"{name} did not end in {SHUTDOWN_S:.0f} s, and was killed; its successor recovers its WAL")
        stopping.cancel()
        hurrying.cancel()

    def _write(self, cluster: LocalCluster, endpoint: str | None) -> None:
        write_state(self._folder, cluster, endpoint, self._place.bucket)

    def _learn(self, batches: tuple[MetadataBatch, ...]) -> None:
        replay(batches, self._image)
        rows = leaders(self._image)
        if rows and str(rows) != self._shown:
            self._shown = str(rows)
            show(table(rows))


def leaders(image: Image) -> list[tuple[str, ...]]:
    """By partition: its topic, its number, its broker, its leader, and the leader epoch."""
    return [
        (
            topic,
            str(number),
            str(row.replicas[0]),
            str(row.leader) if row.leader >= 0 else "nobody",
            str(row.leader_epoch),
        )
        for (topic, number), row in sorted(image.partitions.items())
    ]


def table(rows: list[tuple[str, ...]]) -> Table:
    """A table of partitions."""
    found = Table("topic", "partition", "broker", "leader", "leader epoch")
    for row in rows:
        found.add_row(*row)
    return found
