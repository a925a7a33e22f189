"""The objects of a WAL: each takes one slot (WL-02)."""

from __future__ import annotations

import pytest

from impl.broker.wal import Wal, WalLimits
from impl.broker.wal_format import ALIGNMENT, LARGEST, WalRecord, folder_of, place_of
from impl.store.bucket import Bucket
from impl.store.interface import Operation, Put
from impl.tasks import Tasks


def test_an_object_takes_one_slot() -> None:
    """WL-02. A record that would make the object larger than a slot begins another one."""
    tasks = Tasks()
    sent: list[Put] = []

    def send(number: int, operation: Operation) -> tuple[int, Operation]:
        if isinstance(operation, Put):
            sent.append(operation)
        return number, operation

    wal = Wal(tasks, Bucket(tasks, send), 3, 1, limits=WalLimits(bulk=2 * ALIGNMENT))
    half = b"x" * (ALIGNMENT // 2)
    for base in range(3):
        wal.append(WalRecord(1, 1, base, 1, half))
    wal.append(WalRecord(1, 1, 3, 1, b"x"))
    tasks.run(0)
    tasks.run(1_000)
    assert [place_of(each.key, folder_of(3)).end for each in sent] == [ALIGNMENT, 2 * ALIGNMENT, 3 * ALIGNMENT]
    with pytest.raises(ValueError, match="too large for an object"):
        wal.append(WalRecord(1, 1, 1, 1, b"x" * (LARGEST - WalRecord(1, 1, 1, 1, b"").size + 1)))
