"""The file of addresses by which other commands find a cluster that runs in the foreground. It holds no credential."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from impl.real.cluster import LocalCluster
from impl.real.problems import ClusterError, reason

NAME = "cluster.json"
FOLDER = Path(".holdfast-cluster")
"""The default folder of the file."""


class BrokerPlace(msgspec.Struct, frozen=True):
    """The newest process of a broker: its name, its process id, and the port for clients."""

    name: str
    pid: int
    port: int


class ClusterState(msgspec.Struct, frozen=True):
    """``driver`` and ``controller_pid``: process ids. ``controller``: its port. ``brokers``: by node, as text."""

    driver: int
    controller: int
    controller_pid: int
    brokers: dict[str, BrokerPlace]
    endpoint: str | None
    bucket: str


def write_state(folder: Path, cluster: LocalCluster, endpoint: str | None, bucket: str) -> None:
    """Write the addresses of a cluster. A reader sees the old file or the new one. Raises ClusterError."""
    brokers: dict[str, BrokerPlace] = {}
    for node, child in sorted(cluster.brokers.items()):
        place = cluster.broker_place(node)
        if place is not None:
            brokers[str(node)] = BrokerPlace(child.name, child.pid, place[1])
    controller = cluster.controller
    state = ClusterState(
        os.getpid(), cluster.controller_port() or 0, controller.pid if controller else 0, brokers, endpoint, bucket
    )
    draft = folder / f"{NAME}.draft"
    try:
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(state)) + b"\n")
        draft.replace(folder / NAME)
    except OSError as error:
        raise ClusterError(f"{folder / NAME}: cannot be written: {reason(error)}; name another --dir") from error


def read_state(folder: Path) -> ClusterState:
    """The addresses of the cluster that runs. Raises ClusterError if none does."""
    path = folder / NAME
    try:
        return msgspec.json.decode(path.read_bytes(), type=ClusterState)
    except FileNotFoundError:
        raise ClusterError(
            f"{path}: no cluster runs here; start one with `holdfast cluster up`, or name its --dir"
        ) from None
    except (OSError, msgspec.DecodeError) as error:
        raise ClusterError(f"{path}: cannot be read: {error}; remove it, and start the cluster again") from None


def is_running(state: ClusterState) -> bool:
    """Whether the driver of the cluster lives."""
    try:
        os.kill(state.driver, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class StatePlaces:
    """The places of the processes, as the file in a folder has them at the time of each question."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def controller_port(self) -> int | None:
        """The port of the controller."""
        return read_state(self._folder).controller

    def broker_place(self, node: int) -> tuple[str, int] | None:
        """The newest process of a node, and its port; None if there is none."""
        found = read_state(self._folder).brokers.get(str(node))
        return None if found is None else (found.name, found.port)
