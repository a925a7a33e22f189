"""Crosses two earlier runs: the kinds of faults of a new run, and a script with more of the operations that are seldom.

A run that repeats a parent reaches again what the parent has reached. A crossed run repeats nothing: only its kinds of
faults are those of two parents, and everything else is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from impl.sim.faults import KINDS, NAMED, ZONED
from impl.sim.options import Options
from impl.sim.script import HOPS, ScriptOperation
from impl.sim.tape import Draw, Fault, one

HAD = (0.1, 0.5, 0.9)
"""The probability that a crossed run has a kind of fault, by the number of the two parents to which it happened."""
MOST_EXCHANGED = 0.6
"""The largest share of appends and fetches that are exchanged for other operations. Each script draws its own share."""
ELSEWHERE = 0.5
"""The share of the other operations of clients that concern another stream, so that created streams are used."""
OF_STREAMS = {"move": 0.6, "trim": 0.15, "create": 0.15, "destroy": 0.1}
OF_PARTITIONS = {"move": 0.5, "cancel": 0.25, "elect": 0.15, "swap": 0.1}
"""What takes the place of an append or a fetch, with its probability."""
OPERATOR = -1
"""The client that moves, cancels, elects and swaps."""

Faults = Iterable[Fault]


def kinds_of_both(selection: str | tuple[str, ...], first: Faults, second: Faults, draw: Draw) -> str:
    """The kinds of faults of a crossed run, as ``faults.swarm`` takes them.

    ``selection``: the kinds that a run may have, as ``faults.swarm`` takes them. ``first``, ``second``: the faults
    of the two parents. With "all", a kind that only runs with zones have is inherited from a parent that had it.
    """
    parents = [{fault.kind for fault in faults} for faults in (first, second)]
    names = selection.split(",") if isinstance(selection, str) else selection
    selected = {*KINDS, *ZONED.keys() & set.union(*parents)} if selection == "all" else set(names)
    known = [kind for kind in NAMED if kind in selected]
    return ",".join(kind for kind in known if draw() < HAD[sum(kind in each for each in parents)]) or "none"


def exchanged(script: Iterable[ScriptOperation], options: Options, draw: Draw) -> Iterator[ScriptOperation]:
    """A script in which some appends and fetches are exchanged for operations that other scripts have seldom.

    ``script``: in the order of times. With streams, ELSEWHERE of the other operations concern another stream.
    """
    script = tuple(script)
    share, keys = draw() * MOST_EXCHANGED, _Keys(options, script)
    for each in script:
        if each.f in ("append", "fetch") and draw() < share:
            yield _exchanged(each, keys, draw)
        elif each.f in ("append", "fetch", "trim") and not options.partitions and draw() < ELSEWHERE:
            yield replace(each, key=one(draw, keys.known))
        else:
            if each.f == "create":
                keys.known.append(each.key)
            yield each


class _Keys:
    """The numbers of the streams or partitions of a script, as it is written from its begin on.

    The first streams, and all partitions, always exist.
    """

    def __init__(self, options: Options, script: Iterable[ScriptOperation]) -> None:
        self.of_partitions = options.partitions > 0
        self.first = options.partitions or options.streams
        self.known = list(range(self.first))
        """Those that exist, or have been destroyed."""
        self._next = max((each.key for each in script if each.f == "create"), default=self.first - 1) + 1
        self._destroyed = {each.key for each in script if each.f == "destroy"}

    def create(self) -> int:
        """The number of one more stream."""
        self.known.append(self._next)
        self._next += 1
        return self.known[-1]

    def destroy(self, draw: Draw) -> int | None:
        """A stream that the script does not destroy otherwise; None if there is none."""
        left = [key for key in self.known[self.first :] if key not in self._destroyed]
        if not left:
            return None
        key = one(draw, left)
        self._destroyed.add(key)
        return key


def _exchanged(operation: ScriptOperation, keys: _Keys, draw: Draw) -> ScriptOperation:
    """Another operation at the time of this one; this one itself if it were to destroy a stream and none is left."""
    client, at, part = operation.client, operation.at, draw()
    match _drawn_name(OF_PARTITIONS if keys.of_partitions else OF_STREAMS, draw):
        case "create":
            return ScriptOperation(client, at, "create", keys.create())
        case "destroy":
            key = keys.destroy(draw)
            return operation if key is None else ScriptOperation(client, at, "destroy", key)
        case "trim":
            return ScriptOperation(client, at, "trim", one(draw, keys.known), part=part * part)
        case "cancel":
            return ScriptOperation(OPERATOR, at, "cancel", one(draw, keys.known))
        case "elect":
            return ScriptOperation(OPERATOR, at, "elect", one(draw, keys.known))
        case "swap":
            return ScriptOperation(OPERATOR, at, "swap", one(draw, keys.known), hop=1 + int(part * 2))
        case _:
            # A partition does not go away and back in one move.
            hop = 1 + int(part * 2) if keys.of_partitions else HOPS[int(part * len(HOPS))]
            return ScriptOperation(OPERATOR, at, "move", one(draw, keys.known), hop=hop)


def _drawn_name(shares: dict[str, float], draw: Draw) -> str:
    """One of the names, each with its probability."""
    number = draw()
    for name, share in shares.items():
        if number < share:
            return name
        number -= share
    return next(iter(shares))  # Only by rounding: the shares add up to 1.
