"""The page of a state graph: its states and paths, which a search finds too, and how a reader goes through it."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import attrs
import pytest

from holdfast.cli.app import main
from holdfast.ir.errors import UsageError
from holdfast.ir.variants import load_variant
from holdfast.records.drawn_graph import WIDEST, DrawnArrow, DrawnGraph, DrawnState, GraphPath, drawn_graph
from reports.graph_page.graph_page import render
from tests.reports.browser import Browser
from tests.spark.samples import HOSTILE


def graph_of(model: str, *without: str, depth: int | None = None) -> DrawnGraph:
    """The graph of the scope tiny."""
    system = load_variant(model, (), without)
    return drawn_graph(system, system.scope("tiny"), depth)


@pytest.mark.parametrize(("model", "without"), [("failover", ()), ("failover", ("FO-09",)), ("metadata_quorum", ())])
def test_a_search_finds_the_same(model: str, without: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Without symmetry a search counts as many states, and its runs are as long as the paths."""
    graph = graph_of(model, *without)
    options = [f"--without={label}" for label in without]
    main(["check", model, "--scope", "tiny", "--no-symmetry", "--keep-going", "--json", *options])
    found = json.loads(capsys.readouterr().out)
    assert len(graph.states) == found["figures"]["distinct"]
    lengths = {each["name"]: each["run"]["length"] for each in found["witnesses"] if each["run"] is not None}
    assert {path.name: len(path.steps) for path in graph.paths if path.kind == "reached"} == lengths
    assert set(lengths) == set(graph.witnesses) - set(graph.unreached) != set()
    violated = {each["claim"]["name"]: each["length"] for each in found["findings"]}
    assert {path.name: len(path.steps) for path in graph.paths if path.kind == "violated"} == violated
    assert bool(violated) is bool(without)


def test_each_path_is_one_of_the_graph() -> None:
    """It begins in an initial state; each of its steps is one that leads on there; its end is what it is a path to."""
    graph = graph_of("failover")
    states = {state.number: state for state in graph.states}
    assert graph.paths
    for path in graph.paths:
        assert states[path.states[0]].is_initial
        assert path.name in states[path.states[-1]].reaches
        for source, target, step in zip(path.states, path.states[1:], path.steps, strict=False):
            assert f"{step}, " in f"{dict(states[source].steps)[target]}, "


def test_states_have_places_of_their_own() -> None:
    """No two states lie at one place, and a state lies below all states that are nearer to the start."""
    graph = graph_of("failover")
    assert len({(state.x, state.y) for state in graph.states}) == len(graph.states)
    lines = {}
    for state in graph.states:
        lines.setdefault(state.y, []).append(state)
        assert 0 < state.x < graph.width
        assert 0 < state.y < graph.height
    assert max(map(len, lines.values())) <= WIDEST
    depths = [{state.depth for state in lines[y]} for y in sorted(lines)]
    assert [len(each) for each in depths] == [1] * len(depths)
    assert [min(each) for each in depths] == sorted(min(each) for each in depths)


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same bytes each time. What is too large to draw is one line, and no page."""
    one, two = (tmp_path / name for name in ("one.html", "two.html"))
    for file in (one, two):
        assert main(["graph", "failover", "--html", str(file)]) == 0
    assert one.read_bytes() == two.read_bytes()
    assert "236 states and 3,128 steps" in capsys.readouterr().out
    assert main(["graph", "ownership", "--html", str(tmp_path / "large.html")]) == 2
    assert "too many to draw; choose a smaller scope, or --depth 4 for a part" in capsys.readouterr().err
    assert not (tmp_path / "large.html").exists()


def test_arrows_have_a_limit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """So a page stays small enough to be opened at once."""
    monkeypatch.setattr("holdfast.records.drawn_graph.MOST_ARROWS", 100)
    assert main(["graph", "failover", "--html", str(tmp_path / "g.html")]) == 2
    said = capsys.readouterr().err
    assert "arrows between its states" in said
    deepest = int(said.rpartition("--depth ")[2].split()[0])
    assert len(graph_of("failover", depth=deepest).arrows) <= 100
    with pytest.raises(UsageError, match=f"--depth {deepest} for a part"):
        graph_of("failover", depth=deepest + 1)


def test_the_depth_of_a_refusal_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph with too many states names the largest depth that has not."""
    layers = Counter(state.depth for state in graph_of("failover").states)
    for depth in range(max(layers)):
        most = sum(layers[each] for each in range(depth + 1))
        for limit in (most, most + layers[depth + 1] - 1):
            monkeypatch.setattr("holdfast.records.drawn_graph.MOST_STATES", limit)
            with pytest.raises(UsageError, match=f"has more than {limit} states .* --depth {depth} for a part"):
                graph_of("failover")
            assert len(graph_of("failover", depth=depth).states) == most
    monkeypatch.setattr("holdfast.records.drawn_graph.MOST_STATES", layers[0] - 1)
    with pytest.raises(UsageError, match=r"choose a smaller scope$"):
        graph_of("failover")


def test_a_part_is_that_of_the_whole() -> None:
    """It has the states of so many layers, with the same steps between them, and counts those that it leaves out."""
    whole = graph_of("failover")
    assert (whole.is_part, [state.left_out for state in whole.states]) == (False, [0] * len(whole.states))
    deepest = max(state.depth for state in whole.states)
    for depth in range(deepest + 2):
        part = graph_of("failover", depth=depth)
        known = {state.number: state for state in whole.states if state.depth <= depth}
        assert [state.number for state in part.states] == list(known)
        assert part.is_part is (depth < deepest)
        assert ("A part of the graph" in part.summary) is part.is_part
        for state in part.states:
            full = known[state.number]
            assert (state.cells, state.depth, state.violates) == (full.cells, full.depth, full.violates)
            inside = tuple(step for step in full.steps if step[0] in known)
            assert state.steps == inside
            beyond = [label for target, label in full.steps if target not in known]
            assert state.left_out == sum(label.count("), ") + 1 for label in beyond)


def named(text: str) -> DrawnGraph:
    """A graph whose texts are all the same."""
    state = DrawnState(0, 10, 10, 0, (text,), True, text, (text,), ((1, text),), 2)
    arrow = DrawnArrow(0, (10, 10), (10, 40), text, text)
    path = GraphPath(text, "reached", (0, 1), (text,))
    states = (state, attrs.evolve(state, number=1, y=40, is_initial=False, violates=""))
    return DrawnGraph("1", text, text, 50, 50, states, (arrow,), (text,), (text,), (path,), True)


@pytest.mark.parametrize("name", HOSTILE)
def test_texts_are_only_text(name: str) -> None:
    """Markup, control and bidirectional characters add no element, and none of these characters."""
    page = render(named(name))
    assert re.findall(r"<[a-z/!]+", page) == re.findall(r"<[a-z/!]+", render(named("plain")))
    assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069]", page)


@pytest.mark.parametrize("width", [360, 1280, 2000])
def test_the_page_opens_silently(browser: Browser, tmp_path: Path, width: int) -> None:
    """The page logs nothing, requests nothing, and has no horizontal overflow, light and dark."""
    path = tmp_path / "graph.html"
    path.write_text(render(graph_of("failover")), encoding="utf-8")
    for dark in (False, True):
        browser.open(path, width=width, dark=dark)
        assert (browser.said, browser.asked) == ([], [])
        assert browser.evaluate("document.documentElement.scrollWidth") <= width


def test_a_path_is_shown_in_the_picture(browser: Browser, tmp_path: Path) -> None:
    """A button gives the states of its path a ring; pressed again, it takes the rings away."""
    graph = graph_of("failover")
    path = tmp_path / "graph.html"
    path.write_text(render(graph), encoding="utf-8")
    browser.open(path)
    shown = "[...document.querySelectorAll('a.on')].map(each => each.dataset.state).join()"
    press = "document.querySelectorAll('button[data-path]')[{}].click()"
    browser.evaluate(press.format(1))
    assert browser.evaluate(shown) == ",".join(map(str, sorted(graph.paths[1].states)))
    browser.evaluate(press.format(0))
    assert browser.evaluate(shown) == ",".join(map(str, sorted(graph.paths[0].states)))
    browser.evaluate(press.format(0))
    assert browser.evaluate(shown) == ""
