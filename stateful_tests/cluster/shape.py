"""What a cluster is like before anything happens."""

from __future__ import annotations

from typing import Literal

import msgspec


class Shape(msgspec.Struct, frozen=True):
    """What a cluster is: ``version`` and ``generation`` as for ``impl.sim.check.Question``.

    ``load``: whether clients use streams, which a director hands over, or partitions, which operators move. ``seed``:
    decides how long messages and commits take.
    """

    load: Literal["streams", "partitions"]
    version: Literal["legacy", "V6"]
    generation: Literal["G0", "G1"]
    brokers: int
    seed: int
