"""The controller's tables: rules that the model adds to its parts, and random requests to model and ``impl``."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.lang import Scope
from impl.controller.commits import SetCommit, commit_stream_set_object
from impl.controller.continuity import CommittedRange
from impl.controller.objects import prepare
from impl.controller.streams import (
    close_stream,
    create_stream,
    delete_stream,
    get_opening_streams,
    open_stream,
    trim_stream,
)
from impl.controller.view import OperationResult
from impl.metadata.image import Node as StoredNode
from impl.records import StreamState
from models.controller_tables import ControllerTables
from models.parts.errors import E
from models.parts.nodes import Node, NodeEpoch
from models.parts.streams import Epoch, Offset, Stream
from tests.impl.stream_layer import Tables

FIRST, SECOND = Node.element(0), Node.element(1)
S, T = Stream.element(0), Stream.element(1)
WIDE = Scope({Node: 2, Stream: 2, NodeEpoch: 3, Epoch: 5, Offset: 6})


def opened() -> ControllerTables:
    """Both nodes are registered, and the first has opened a stream."""
    state = ControllerTables.at(WIDE).start().take("create", s=S)
    for node in (FIRST, SECOND):
        state = state.take("register", n=node, e=NodeEpoch(1), flag=False)
    return state.take("open", s=S, e=Epoch(1), n=FIRST)


def sealed() -> ControllerTables:
    """The first node has committed [0, 1) and closed at 3."""
    state = opened().take("commit", s=S, b=Offset(1), n=FIRST)
    return state.take("fast_close", s=S, e=Epoch(1), n=FIRST, end=Offset(3))


def test_an_id_is_given_out_once() -> None:
    """ID-01: an id is given out once, even if its stream is deleted. Deleting an unknown stream uses no id (ST-50)."""
    state = ControllerTables.at(WIDE).start().take("delete", s=S).take("create", s=S).take("delete", s=S)
    assert state.refusal("create", s=S) == ("ID-01", None)
    assert state.take("create", s=T).exists[T]


def test_an_unregistered_node_asks_in_vain() -> None:
    """CK-01: an unregistered node may only delete and create streams."""
    state = ControllerTables.at(WIDE).start().take("create", s=S)
    unknown = ("CK-01.unknown", E.NODE_EPOCH_NOT_EXIST)
    assert state.refusal("open", s=S, e=Epoch(1), n=FIRST) == unknown
    assert state.refusal("close", s=S, e=Epoch(1), n=FIRST) == unknown
    assert state.refusal("commit", s=S, b=Offset(1), n=FIRST) == unknown


def test_the_flag_bars_an_open_and_a_trim() -> None:
    """CK-01, ST-31: a close and a commit pass, and a restarted process clears the flag."""
    state = opened().take("register", n=FIRST, e=NodeEpoch(1), flag=True)
    fenced = ("CK-01.flag", E.NODE_FENCED)
    assert state.refusal("open", s=S, e=Epoch(1), n=FIRST) == fenced
    assert state.refusal("trim", s=S, e=Epoch(1), n=FIRST, q=Offset(1), cut=True) == fenced
    assert state.refusal("commit", s=S, b=Offset(1), n=FIRST) is None
    assert state.refusal("close", s=S, e=Epoch(1), n=FIRST) is None
    state = state.take("register", n=FIRST, e=NodeEpoch(2), flag=False)
    assert state.refusal("open", s=S, e=Epoch(1), n=FIRST) is None
    assert state.refusal("register", n=FIRST, e=NodeEpoch(1), flag=True) == ("ND-01", E.NODE_EPOCH_EXPIRED)


def test_an_entry_bars_its_node_until_it_has_drained() -> None:
    """ST-15, ST-22, ST-24: another node opens at the end; the same node opens, with the same epoch, after its last
    commit.
    """
    state = sealed()
    assert state.refusal("open", s=S, e=Epoch(1), n=FIRST) == ("ST-22", E.STREAM_NOT_CLOSED)
    assert state.refusal("open", s=S, e=Epoch(2), n=FIRST) == ("ST-15", E.STREAM_NOT_CLOSED)
    assert state.take("open", s=S, e=Epoch(2), n=SECOND).range_start[S] == Offset(3)
    state = state.take("commit", s=S, b=Offset(3), n=FIRST).take("open", s=S, e=Epoch(1), n=FIRST)
    assert (state.opened[S], state.epoch[S], state.range_start[S]) == (True, Epoch(1), Offset(0))


def test_an_entry_of_a_deleted_stream_goes_with_a_commit() -> None:
    """ST-52, CS-20, CS-30: a commit with data of a deleted stream is accepted, and removes the stream's entry."""
    state = sealed().take("delete", s=S)
    assert state.entry_to[FIRST, S] == Offset(3)
    state = state.take("commit", s=S, b=Offset(3), n=FIRST)
    assert (state.entry_to[FIRST, S], state.end_offset[S]) == (Offset(0), Offset(0))


def test_a_commit_that_a_trim_has_overtaken_removes_the_entry() -> None:
    """CS-21, CS-30: the entry is inactive, since a trim covers all of it; the commit leaves the stream unchanged."""
    state = sealed().take("open", s=S, e=Epoch(2), n=SECOND).take("commit", s=S, b=Offset(5), n=SECOND)
    state = state.take("trim", s=S, e=Epoch(2), n=SECOND, q=Offset(4), cut=True)
    assert state.entry_to[FIRST, S] == Offset(3)
    state = state.take("commit", s=S, b=Offset(3), n=FIRST)
    assert (state.entry_to[FIRST, S], state.end_offset[S]) == (Offset(0), Offset(5))


def test_a_range_ends_above_its_beginning() -> None:
    """AM-06: the controller accepts a range that does not end above its start, and moves the entry back; the model
    refuses it.
    """
    state = opened().take("commit", s=S, b=Offset(2), n=FIRST)
    assert state.refusal("commit", s=S, b=Offset(1), n=FIRST) == ("AM-06", None)
    state = state.take("fast_close", s=S, e=Epoch(1), n=FIRST, end=Offset(4))
    assert state.refusal("commit", s=S, b=Offset(1), n=FIRST) == ("AM-06", None)
    unguarded = ControllerTables.at(WIDE, removed=("AM-06",)).start().take("create", s=S)
    unguarded = unguarded.take("register", n=FIRST, e=NodeEpoch(1), flag=False).take("open", s=S, e=Epoch(1), n=FIRST)
    unguarded = unguarded.take("commit", s=S, b=Offset(2), n=FIRST)
    unguarded = unguarded.take("fast_close", s=S, e=Epoch(1), n=FIRST, end=Offset(4))
    assert unguarded.take("commit", s=S, b=Offset(1), n=FIRST).entry_from[FIRST, S] == Offset(1)


def test_a_stream_object_ends_within_its_stream() -> None:
    """AM-07: the controller accepts any end, and raises the stream's end; the model does not. Deleted streams do not
    matter.
    """
    state = opened().take("commit", s=S, b=Offset(2), n=FIRST)
    assert state.refusal("add_object", s=S, b=Offset(2)) is None
    assert state.refusal("add_object", s=S, b=Offset(3)) == ("AM-07", None)
    assert state.refusal("add_object", s=T, b=Offset(3)) is None


def test_a_trim_says_whether_it_cuts_the_current_range() -> None:
    """ST-44: a trim below the start of the current range leaves it as it is recorded."""
    state = sealed().take("open", s=S, e=Epoch(2), n=SECOND)
    for q, cut in ((1, False), (3, False), (4, True)):
        trim = {"s": S, "e": Epoch(2), "n": SECOND, "q": Offset(q)}
        assert state.refusal("trim", **trim, cut=not cut) == ("ST-44.current", None)
        assert state.refusal("trim", **trim, cut=cut) is None


# Beside the controller ----------------------------------------------------------------------------------------------


class ControllerPair:
    """The model and the controller of ``impl``, with the same requests. A request carries the stored node epoch."""

    def __init__(self) -> None:
        self.state = ControllerTables.at(WIDE).start()
        self.tables = Tables()
        self.seen: set[str] = set()
        """The outcomes so far: the names of errors, NONE among them."""

    def take(self, action: str, ask: Callable[..., OperationResult], asked: tuple[Any, ...], **args: Any) -> None:
        """Send one request to both; their answers and tables must be equal."""
        refused = self.state.refusal(action, **args)
        outcome = self.tables.run(ask, *asked)
        expected = "NONE" if refused is None else refused[1].name if refused[1] else refused[0]
        assert outcome.error.name == expected, f"{action} {args}: {refused}"
        self.seen.add(expected)
        if refused is None:
            self.state = self.state.take(action, **args)
        for stream in range(2):
            assert self.row(stream) == self.stored(stream), f"{action} {args}"
            self.check_sealed(stream)
        for node in range(2):
            model = (int(self.state.node_epoch[Node.element(node)]), self.state.failover_mode[Node.element(node)])
            stored = self.tables.image.nodes.get(node, StoredNode(0, False))
            assert model == (stored.epoch, stored.failover)

    def check_sealed(self, stream: int) -> None:
        """Check the end of the range before the current one. After a trim, the model forgets an empty range earlier."""
        image, sealed = self.tables.image, self.state.sealed_end[Stream.element(stream)]
        ranges = image.ranges.get(stream, {})
        before = ranges.get(image.streams[stream].range_index - 1) if stream in image.streams else None
        if before is None or sealed is None:
            assert sealed is None
            assert before is None or before.start == before.end
        else:
            assert int(sealed) == before.end

    def epoch(self, node: int) -> int:
        """The node epoch of a request."""
        return int(self.state.node_epoch[Node.element(node)])

    def row(self, stream: int) -> dict[str, Any]:
        """The model's row of a stream."""
        state, s = self.state, Stream.element(stream)
        row: dict[str, Any] = {
            str(node): (int(state.entry_from[n, s]), int(state.entry_to[n, s]))
            for node, n in enumerate((FIRST, SECOND))
            if state.entry_to[n, s] > Offset(0)
        }
        if state.exists[s]:
            row |= {"opened": state.opened[s], "epoch": int(state.epoch[s]) - 1}
            row |= {"span": (int(state.start_offset[s]), int(state.end_offset[s]))}
            if state.owner[s] is not None:
                row["owner"] = (FIRST, SECOND).index(state.owner[s])
                row["range"] = (int(state.range_start[s]), int(state.range_end[s]))
        return row

    def stored(self, stream: int) -> dict[str, Any]:
        """The controller's row of a stream."""
        image = self.tables.image
        entries = {node: image.entries.get(node, {}).get(stream) for node in range(2)}
        row: dict[str, Any] = {str(node): (entry.start, entry.to) for node, entry in entries.items() if entry}
        if stream in image.streams:
            found, current = image.streams[stream], image.current_range(stream)
            row |= {"opened": found.state is StreamState.OPENED, "epoch": found.epoch, "span": (found.start, found.end)}
            if current is not None:
                row |= {"owner": current.node, "range": (current.start, current.end)}
        return row

    def request(self, draw: random.Random) -> None:
        """Send a random request, often one with the epoch of the stream and its end."""
        stream, node = draw.randrange(2), draw.randrange(2)
        s, n = Stream.element(stream), Node.element(node)
        current = int(self.state.epoch[s])
        e = draw.choice([current, current, min(current + 1, 4), draw.randrange(5)])
        q = draw.choice([int(self.state.end_offset[s]), draw.randrange(6)])
        kind = draw.choice(["register", "create", "open", "open", "close", "fast_close", "trim", "commit", "delete"])
        own, to = self.epoch(node), Offset(q)
        if kind == "register":
            fresh, flag = draw.randint(1, 2), draw.random() < 0.2
            asked = (node, fresh, flag)
            self.take(kind, get_opening_streams, asked, n=n, e=NodeEpoch(fresh), flag=flag)
        elif kind == "create":
            self.create()
        elif kind == "open":
            self.take(kind, open_stream, (node, own, stream, e - 1), s=s, e=Epoch(e), n=n)
        elif kind == "close":
            self.take(kind, close_stream, (node, own, stream, e - 1), s=s, e=Epoch(e), n=n)
        elif kind == "fast_close":
            self.take(kind, close_stream, (node, own, stream, e - 1, q), s=s, e=Epoch(e), n=n, end=to)
        elif kind == "trim":
            cut = self.state.range_start[s] < to
            self.take(kind, trim_stream, (node, own, stream, e - 1, q), s=s, e=Epoch(e), n=n, q=to, cut=cut)
        elif kind == "delete" and draw.random() < 0.1:
            self.take(kind, delete_stream, (stream,), s=s)
        elif kind == "commit":
            self.commit(stream, node, q)

    def create(self) -> None:
        """Create the next stream, if there is one, by a node that may create it."""
        last = self.tables.image.ids["stream"]
        able = [node for node, n in enumerate((FIRST, SECOND)) if self.epoch(node) and not self.state.failover_mode[n]]
        if last < 1 and able:
            self.take("create", create_stream, (able[0], self.epoch(able[0])), s=Stream.element(last + 1))

    def commit(self, stream: int, node: int, b: int) -> None:
        """Commit up to b, starting where the tables demand, in an object of its own; then remove the other inactive
        entries.

        The commit is sent as a failover worker sends it, so the node's flag does not refuse it (CS-01).
        """
        s, n = Stream.element(stream), Node.element(node)
        a = int(self.state.begins(n, s)) if self.state.exists[s] else 0
        if a >= b and (not self.state.exists[s] or b > int(self.state.start_offset[s])):
            return
        self.tables.run(prepare, 1, 3_600_000)
        held = (CommittedRange(stream, a, b),)
        number = self.tables.image.ids["object"]
        upload = SetCommit(node, self.epoch(node), number, order=number, ranges=held, failover=True)
        other = Stream.element(1 - stream)
        if self.state.refusal("commit", s=s, b=Offset(b), n=n) is None and not self.state.has_entry(n, other):
            self.state = self.state.take("commit", s=other, b=Offset(0), n=n)
        self.take("commit", commit_stream_set_object, (upload,), s=s, b=Offset(b), n=n)


@pytest.mark.parametrize("seed", range(6))
def test_the_controller_answers_as_the_model(seed: int) -> None:
    """Errors and tables are equal after each of thousands of requests, which meet every error of the tables."""
    draw = random.Random(seed)
    seen: set[str] = set()
    for _ in range(25):
        beside = ControllerPair()
        for _ in range(60):
            beside.request(draw)
        seen |= beside.seen
    assert seen >= {
        *("NONE", "NODE_EPOCH_EXPIRED", "NODE_EPOCH_NOT_EXIST", "NODE_FENCED", "OFFSET_NOT_MATCHED"),
        *("STREAM_FENCED", "STREAM_NOT_CLOSED", "STREAM_NOT_EXIST"),
    }
