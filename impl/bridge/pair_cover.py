"""Walks through a graph of requests that make every pair of requests which may follow each other.

A kind of request is its operation with the error that answers it, such as ``open STREAM_FENCED``. Two kinds are a pair
if the second may follow the first without another request between them; brokers may take steps of their own there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from impl.bridge.edge_cover import MOST_STEPS
from impl.bridge.paired_run import PairedCall, PairedRun
from impl.bridge.request_graph import RequestGraph
from impl.bridge.statement import Statement, setup_statements, taken

Pair = tuple[str, str]


class PairCover:
    """Covers pairs by walks. ``found``: all pairs, in a fixed order. ``missing``: pairs that no walk has made yet."""

    def __init__(self, graph: RequestGraph) -> None:
        self.graph = graph
        self._first = [_first_of_each(steps, loops) for steps, loops in zip(graph.steps, graph.loops, strict=True)]
        self.found = self._pairs()
        self.missing = dict.fromkeys(self.found)

    def walks(self) -> Iterator[list[Statement]]:
        """Walks, as the steps of a scenario, until all pairs are made.

        Raises DisagreementError if the controller does not do as the model does.
        """
        for pair in self.found:
            if pair in self.missing:
                yield self._walk(pair)

    def _walk(self, pair: Pair) -> list[Statement]:
        """A walk that makes a pair, and goes on while the next request makes another missing pair."""
        graph = self.graph
        home, first, to = self.found[pair]
        start, calls = graph.path_to(home)
        run = PairedRun(graph.pairing, start)
        steps = setup_statements(graph.pairing, run)
        last = ""
        todo: list[PairedCall] | None = [*calls, first, *(self._then(to, pair[1]) or [])]
        while todo is not None and len(steps) < MOST_STEPS:
            for call in todo:
                key = graph.key(run.state, call)
                steps += taken(run, call)
                if key is not None:
                    self.missing.pop((last, graph.edges[key].kind), None)
                    last = graph.edges[key].kind
            todo = self._next(graph.number(run.state), last)
        return steps

    def _next(self, number: int, last: str) -> list[PairedCall] | None:
        """The calls to the nearest request that makes a missing pair with the last one; None if there is none."""
        kinds = sorted(second for first, second in self.missing if first == last)
        paths = [path for kind in kinds for path in [self._then(number, kind)] if path is not None]
        return min(paths, key=len, default=None)

    def _then(self, number: int, kind: str) -> list[PairedCall] | None:
        """The steps of brokers from a state to one that has a kind of request, and that request; None if none has."""
        before: dict[int, tuple[int, PairedCall] | None] = {number: None}
        todo = deque([number])
        while todo:
            at = todo.popleft()
            if kind in self._first[at]:
                calls = [self._first[at][kind]]
                while (step := before[at]) is not None:
                    at, call = step
                    calls.append(call)
                return calls[::-1]
            for call, to, asked in self.graph.steps[at]:
                if asked is None and to not in before:
                    before[to] = (at, call)
                    todo.append(to)
        return None

    # Which pairs there are ------------------------------------------------------------------------------------

    def _pairs(self) -> dict[Pair, tuple[int, PairedCall, int]]:
        """Each pair with the first state and request that may begin it, and the state between."""
        follow = self._follow()
        found: dict[Pair, tuple[int, PairedCall, int]] = {}
        for number, loops in enumerate(self.graph.loops):
            begins = [(kind, call, number) for kind, call in loops.items()]
            begins += [(asked, call, to) for call, to, asked in self.graph.steps[number] if asked is not None]
            for kind, call, to in begins:
                for second in sorted(follow[to]):
                    found.setdefault((kind, second), (number, call, to))
        return found

    def _follow(self) -> list[frozenset[str]]:
        """By state: the kinds of the requests that may come next, perhaps after steps of brokers."""
        follow = [frozenset(first) for first in self._first]
        changed = True
        while changed:
            changed = False
            # Later states first: most steps lead to a state that was found later.
            for number in reversed(range(len(follow))):
                alone = [follow[to] for _, to, asked in self.graph.steps[number] if asked is None]
                more = follow[number].union(*alone)
                if len(more) > len(follow[number]):
                    follow[number], changed = more, True
        return follow


def _first_of_each(
    steps: list[tuple[PairedCall, int, str | None]], loops: dict[str, PairedCall]
) -> dict[str, PairedCall]:
    """By kind: a request in a state, one that does not lead to another state if there is one."""
    leading = {asked: call for call, _, asked in reversed(steps) if asked is not None}
    return leading | loops
