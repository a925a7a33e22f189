"""``holdfast scenario from-model``: suites of scenario files that cover what a model asks of a controller."""

from __future__ import annotations

import random
from functools import cache
from itertools import count
from pathlib import Path
from typing import ClassVar, Literal

import pytest
import yaml

from holdfast.check.budget import Budget, Meter, Progress
from holdfast.cli.app import main
from impl.bridge.edge_cover import EdgeCover
from impl.bridge.nearest_edge import Missing, NearestEdge
from impl.bridge.ownership import OwnershipPairing
from impl.bridge.pair_cover import PairCover
from impl.bridge.paired_run import DisagreementError, PairedCall, PairedRun
from impl.bridge.pairing import Pairing
from impl.bridge.pairings import PAIRINGS
from impl.bridge.request import OperationRequest
from impl.bridge.request_graph import EdgeKey, RequestGraph
from impl.bridge.rule_goals import rule_goals
from impl.bridge.statement import Statement, document
from impl.bridge.suite import ScenarioSuite, suite_of
from impl.controller.view import Profile
from impl.errors import E
from impl.rules import without
from impl.scenario.language import read_text
from impl.scenario.runner import run

Captured = pytest.CaptureFixture[str]


class OneNode(OwnershipPairing):
    """Ownership with one node, its process and its worker: small enough for fast tests."""

    sizes: ClassVar = {"Node": 1, "Proc": 2, "Stream": 1, "NodeEpoch": 1, "Epoch": 1, "Offset": 1}
    given: ClassVar = {"node_of": (0, 0), "incarnation": (1, 1), "failover": (False, True)}


@cache
def small() -> RequestGraph:
    """The graph of the small pairing, in its own scope."""
    return RequestGraph(OneNode())


def edges_by_hand(pairing: Pairing) -> set[tuple[str, str]]:
    """The edges, found by a search without a queue, numbers or homes: all states, until nothing is new."""
    image = pairing.begin(pairing.cells(pairing.starts[0])).controller.image
    states, found, before = set(pairing.starts), set[tuple[str, str]](), -1
    while len(states) > before:
        before = len(states)
        for state in sorted(states):
            cells = pairing.cells(state)
            for action, choices in pairing.choices(state).items():
                for values, choice in choices.items():
                    states.update(choice.states)
                    requests = pairing.requests(image, action, cells, pairing.named(action, values))
                    if requests and choice.kind(state) != "none":
                        found.add((repr(pairing.of_model(cells)), repr(requests)))
    return found


def test_graph_has_every_edge() -> None:
    """The edges are those of a plain search."""
    assert set(small().edges) == edges_by_hand(OneNode())
    assert any(edge.is_step for edge in small().edges.values())


def test_walks_take_every_edge() -> None:
    """The walks cover all edges, and their scenarios pass on the controller."""
    cover = EdgeCover(small(), small().edges)
    walks = list(cover.walks())
    assert not cover.missing
    text = "---\n".join(document(str(place), Profile(), walk) for place, walk in enumerate(walks))
    assert [verdict.failure for scenario in read_text(text) for verdict in [run(scenario)]] == [None] * len(walks)


@pytest.mark.parametrize("label", ["CK-01.flag", "ST-12", "ST-41", "CS-29a"])
def test_walks_need_the_rules(label: str) -> None:
    """Without a rule that decides in the small scope, some scenario fails."""
    texts = [document("a walk", Profile(), walk) for walk in EdgeCover(small(), small().edges).walks()]
    with without(label):
        assert any(run(read_text(text)[0]).failure for text in texts)


def nearest_by_hand(graph: RequestGraph, missing: Missing, number: int) -> list[PairedCall] | None:
    """The path to the nearest missing edge, by a breadth-first search of the whole graph."""
    paths: dict[int, list[PairedCall]] = {number: []}
    for at in (todo := [number]):
        if missing.get(at):
            return [*paths[at], next(iter(missing[at].values()))]
        for call, to, _ in graph.steps[at]:
            if to not in paths:
                paths[to] = [*paths[at], call]
                todo.append(to)
    return None


@pytest.mark.parametrize("seed", range(3))
def test_nearest_edge_is_that_of_a_whole_search(seed: int) -> None:
    """While edges are taken away in any order, each path is the one that a search of the whole graph finds."""
    graph, chance = RequestGraph(OneNode()), random.Random(seed)
    for number in chance.sample(range(len(graph.states)), len(graph.states) // 2):
        graph.steps[number] = []
    missing: dict[int, dict[EdgeKey, PairedCall]] = {}
    for key, edge in graph.edges.items():
        missing.setdefault(edge.home, {})[key] = edge.call
    nearest = NearestEdge(graph, missing)
    homes = [home for home, edges in missing.items() for _ in edges]
    chance.shuffle(homes)
    found = set()
    for home in homes:
        for number in chance.sample(range(len(graph.states)), 3):
            path = nearest.path(number)
            assert path == nearest_by_hand(graph, missing, number)
            found.add(path is None)
        missing[home].popitem()
    assert found == {True, False}
    assert nearest.path(graph.starts[0]) is None


def test_an_edge_that_nothing_leads_to_is_told() -> None:
    """An edge whose home no walk reaches stays missing; it is not dropped."""
    graph = RequestGraph(OneNode())
    key = next(key for key, edge in graph.edges.items() if edge.is_step and edge.home not in graph.starts)
    graph.steps = [[] for _ in graph.states]
    cover = EdgeCover(graph, [key])
    assert list(cover.walks()) == []
    assert list(cover.missing) == [key]


def test_an_election_may_complete_a_reassignment() -> None:
    """EL-08: the first replica does not lead, so the election succeeds; what is due is done, and the leader stays."""
    kraft = PAIRINGS["kraft"].of_scope("tiny")
    calls = [
        *(("reassign", (1, 1)), ("expand", (1,)), ("reassign", (0, 0)), ("fence", (0,)), ("fence", (1,))),
        *(("reassign", (1, 0)), ("unfence", (0,)), ("prefer", ())),
    ]
    for start in kraft.starts:
        run = PairedRun(kraft, start)
        facts = kraft.of_model(run.cells)
        if facts["replicas"] == (2,) and facts["unclean"]:
            break
    seen = []
    for action, values in calls:
        answer = run.take(PairedCall(action, values))
        seen.append([kraft.of_model(run.cells)[name] for name in ("replicas", "leader")])
    assert seen[-2:] == [[(1, 0), 0], [(0,), 0]]
    assert answer is not None
    assert answer.error is E.NONE


def test_no_suite_of_a_faulty_controller() -> None:
    """A controller that lacks a rule differs from the model while a suite is made."""
    with without("CK-01.flag"), pytest.raises(DisagreementError):
        list(EdgeCover(small(), small().edges).walks())


def test_neighbours_become_one_step() -> None:
    """Requests that differ in their arguments alone share a step; one with another answer does not."""
    refused = {"error": "STREAM_FENCED"}
    steps = [
        Statement(OperationRequest("delete", {"stream": stream}), {"error": "NONE"} if stream == 2 else refused)
        for stream in range(4)
    ]
    (found,) = yaml.safe_load_all(document("deletes", Profile(), steps))
    assert found["steps"] == [
        {"op": "delete", "expect": refused, "each": [{"stream": 0}, {"stream": 1}]},
        {"op": "delete", "stream": 2, "expect": {"error": "NONE"}},
        {"op": "delete", "stream": 3, "expect": refused},
    ]


def test_rules_are_decided_both_ways() -> None:
    """The goals of a rule are an edge that it decides and one that it does not, as the model without the rule shows."""
    graph = small()
    goals = rule_goals(graph)
    assert {"CK-01.flag decides", "CK-01.flag leaves as it is", "ST-12 decides"} <= goals.edges.keys()
    refused = graph.edges[goals.edges["CK-01.flag decides"]]
    assert refused.kind.endswith(" NODE_FENCED")
    # With one epoch nobody opens a stream that another has OPENED.
    assert "ST-14 decides" in goals.open
    cover = EdgeCover(graph, goals.edges.values())
    walks = [document("a walk", Profile(), walk) for walk in cover.walks()]
    assert not cover.missing
    with without("CK-01.flag"):
        assert any(run(read_text(text)[0]).failure for text in walks)


def test_constants_of_a_run_are_facts() -> None:
    """Two runs of replicas that differ in whether unclean elections are allowed are never taken for one."""
    replicas = PAIRINGS["replica_reassignment"].of_scope("tiny")
    starts = [replicas.cells(start) for start in replicas.starts]
    assert len({repr(replicas.of_model(cells)) for cells in starts}) == len(starts)


def pairs_by_hand(graph: RequestGraph) -> set[tuple[str, str]]:
    """The pairs of a memoryless graph: each request in each state, and each request in the state after it."""
    at: dict[int, set[tuple[str, int]]] = {}
    for edge in graph.edges.values():
        at.setdefault(edge.home, set()).add((edge.kind, edge.to))
    return {(first, second) for edges in at.values() for first, to in edges for second, _ in at[to]}


def test_pairs_are_made() -> None:
    """The walks make each pair of requests that may follow each other, and their scenarios pass."""
    graph = RequestGraph(OneNode())
    cover = PairCover(graph)
    assert set(cover.found) == pairs_by_hand(graph)
    walks = list(cover.walks())
    assert not cover.missing
    assert len(walks) < len(cover.found)
    assert all(run(read_text(document("a walk", Profile(), walk))[0]).failure is None for walk in walks)


def test_command_refuses_a_folder_with_files(tmp_path: Path, capsys: Captured) -> None:
    """The command writes only into a new or an empty folder, and knows its models."""
    (tmp_path / "old.yaml").write_text("name: old\n")
    assert main(["scenario", "from-model", "ownership", "--out", str(tmp_path)]) == 2
    assert "no empty folder; name a new one" in capsys.readouterr().err
    assert main(["scenario", "from-model", "ownersip", "--out", str(tmp_path / "new")]) == 2
    assert "ownership" in capsys.readouterr().err
    assert main(["scenario", "from-model", "controller_tables", "--out", str(tmp_path / "new")]) == 2
    assert "controller_tables: no pairing runs this model beside the controller" in capsys.readouterr().err
    assert main(["scenario", "from-model", "ownership", "--out", str(tmp_path / "old.yaml" / "new")]) == 2
    assert "old.yaml is a file, and no folder; name another folder" in capsys.readouterr().err


def test_command_stops_at_a_limit(tmp_path: Path, capsys: Captured) -> None:
    """A limit ends the work with exit code 20 and one line that names it; no folder is made."""
    words = ["scenario", "from-model", "cancellation", "--out", str(tmp_path / "new"), "--budget", "10states"]
    assert main(words) == 20
    (line,) = capsys.readouterr().err.splitlines()
    assert "no suite is made: a limit was exceeded (states: more than 10)" in line
    assert not (tmp_path / "new").exists()


def test_progress_is_told() -> None:
    """The meter hears of the states and edges while the graph grows, then of the goals that are left."""
    told: list[Progress] = []
    meter = Meter(Budget(), told.append, clock=count().__next__, memory=lambda: 0)
    graph = RequestGraph(OneNode(), meter)
    assert told
    assert {now.depth for now in told} == {0}
    graph.look(7)
    assert (told[-1].depth, told[-1].generated, told[-1].queue) == (1, len(graph.edges), 7)


def test_command_tells_what_it_does_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """A rule that only steps of brokers would show is told as one that the graph lacks, not one that the scope lacks.

    In scope tiny of `replica_reassignment`, CA-25 decides only where a broker has missed an append.
    """
    unstated = PAIRINGS["replica_reassignment"].unstated
    assert "whether the partition is RECOVERING (CA-25)" in unstated
    suite = ScenarioSuite({}, 0, 0, 1, (), ("CA-25 decides",), tuple(f"no query shows {each}" for each in unstated))
    monkeypatch.setattr("impl.cli.scenario_from.suite_of", lambda *_: suite)
    made = tmp_path / "made"
    assert main(["scenario", "from-model", "replica_reassignment", "--cover", "rules", "--out", str(made)]) == 0
    told = capsys.readouterr().out
    assert "no request that the graph visits shows: CA-25 decides" in told
    assert "no query shows whether the partition is RECOVERING (CA-25)" in told


# Whole suites ---------------------------------------------------------------------------------------------------

COUNTS = {"ownership": 28_542, "cancellation": 7_314, "replica_reassignment": 101_205, "kraft": 77_670}
"""The edges of scope tiny."""


def passes(suite: ScenarioSuite) -> bool:
    """Whether all files of a suite pass."""
    return all(run(scenario).failure is None for text in suite.files.values() for scenario in read_text(text))


@pytest.mark.slow
@pytest.mark.parametrize("model", COUNTS)
def test_edges_of_a_model(model: str) -> None:
    """The files cover every edge of scope tiny, and the reference implementation passes all of them."""
    suite = suite_of(model, "tiny", "edges")
    assert suite.found == COUNTS[model]
    assert suite.uncovered == ()
    assert passes(suite)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "goal"), [("ownership", "rules"), ("ownership", "pairs"), ("cancellation", "rules")])
def test_rules_and_pairs_of_a_model(model: str, goal: Literal["rules", "pairs"]) -> None:
    """The same holds for the rules and for the pairs of smaller models."""
    suite = suite_of(model, "tiny", goal)
    assert suite.uncovered == ()
    assert passes(suite)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["ownership"])
def test_facts_alone_decide(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where states with the same facts are taken for one, the edges and their ends are those of all states.

    The graphs of `kraft` and `replica_reassignment`, where they are too, take too long as a whole.
    """
    short = RequestGraph(PAIRINGS[model].of_scope("tiny"))
    monkeypatch.setattr(PAIRINGS[model], "memoryless", False)
    whole = RequestGraph(PAIRINGS[model].of_scope("tiny"))
    ends = [{key: graph.facts(graph.states[edge.to]) for key, edge in graph.edges.items()} for graph in (short, whole)]
    assert ends[0] == ends[1]
