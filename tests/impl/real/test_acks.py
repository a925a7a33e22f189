"""The check of a read against the sends that were acknowledged, and the file of addresses."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from impl.real.acks import AckedSend, AckFile, ReadCheck, check
from impl.real.problems import ClusterError
from impl.real.state_file import NAME, BrokerPlace, ClusterState, StatePlaces, is_running, read_state

SENDS = [AckedSend(0, 10, 2, 0), AckedSend(0, 11, 3, 2), AckedSend(1, 12, 1, 0)]
READ = [(0, (0, 2, 10)), (0, (2, 3, 11)), (1, (0, 1, 12))]


def test_everything_is_there() -> None:
    """Each send stands once, at its offset; records of others do no harm."""
    assert check(SENDS, [*READ, (1, (1, 5, 99))]) == ReadCheck(11, 6, 0, 0)


@pytest.mark.parametrize(
    ("found", "lost", "twice"),
    [
        (READ[1:], 2, 0),
        ([READ[0], (0, (2, 2, 11)), READ[2]], 3, 0),
        ([(1, (0, 2, 10)), *READ[1:]], 2, 0),
        ([*READ, (0, (5, 2, 10))], 0, 2),
        ([(0, (5, 2, 10)), *READ[1:]], 2, 0),
    ],
    ids=["missing", "cut short", "in another partition", "twice", "at another offset"],
)
def test_what_is_wrong_is_counted(found: list[tuple[int, tuple[int, int, int]]], lost: int, twice: int) -> None:
    """Records count, not sends."""
    assert (check(SENDS, found).lost, check(SENDS, found).twice) == (lost, twice)


def test_acks_are_kept(tmp_path: Path) -> None:
    """Two commands add to one file; a topic without acks has no file."""
    for send in SENDS:
        with AckFile(tmp_path, "t") as file:
            file.add(send)
    with AckFile(tmp_path, "u"):
        pass
    assert AckFile.read(tmp_path, "t") == SENDS
    assert AckFile.read(tmp_path, "u") == []
    assert [path.name for path in tmp_path.iterdir()] == ["t.acks"]


def test_addresses(tmp_path: Path) -> None:
    """A command finds the newest process of each node, and notices that nothing runs."""
    state = ClusterState(os.getpid(), 5, 6, {"1": BrokerPlace("b1.2", 7, 8)}, None, "b")
    (tmp_path / NAME).write_bytes(msgspec.json.encode(state))
    places = StatePlaces(tmp_path)
    assert (places.controller_port(), places.broker_place(1), places.broker_place(2)) == (5, ("b1.2", 8), None)
    assert is_running(read_state(tmp_path))
    (tmp_path / NAME).write_bytes(b"{}")
    with pytest.raises(ClusterError, match=r"cluster\.json: cannot be read: .*; remove it"):
        read_state(tmp_path)
