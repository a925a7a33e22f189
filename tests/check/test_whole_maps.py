"""Parameters that are whole maps, as a user meets them: in runs, replay lines, files, by hand, and in refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.app import main
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_model
from holdfast.ir.system import Scope
from holdfast.ir.types import BoolType, EnumType, IntType, MapType, NatType, OptionalType, SortType
from holdfast.lang.rules import Refused
from holdfast.lower.layout import Layout
from holdfast.lower.map_text import cells_in
from holdfast.lower.renaming_group import renamed_code

MODEL = str(Path(__file__).parents[1] / "lower/models/quorums.py")
RUN = "init(a1,{a1:RED+a2:RED+a3:RED},{}) decide({a2+a3},v1)"

Captured = pytest.CaptureFixture[str]

NODE, EPOCH = SortType("Acceptor"), NatType("Round")
KINDS = [
    MapType((NODE,), BoolType()),
    MapType((NODE, EPOCH), BoolType()),
    MapType((NODE,), OptionalType(EPOCH)),
    MapType((EPOCH,), IntType("Gap", -1, 1)),
    MapType((EPOCH, NODE), OptionalType(NODE)),
    MapType((NODE,), OptionalType(BoolType())),
    MapType((EnumType("Tag", ("A", "B")),), NODE),
]


@pytest.fixture(scope="module")
def layout() -> Layout:
    """The layout of the model with two acceptors and one value."""
    system = compile_model(load_model(MODEL))
    return Layout(system, system.scopes["tiny"])


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_each_map_has_a_text_of_its_own(layout: Layout, kind: MapType) -> None:
    """Codes, texts and cells stand for each other, without a blank, comma or bracket that a replay line reads."""
    codes = range(layout.codes(kind))
    texts = [str(layout.decode_value(kind, code)) for code in codes]
    assert len(set(texts)) == len(codes)
    assert [layout.encode_value(kind, text) for text in texts] == list(codes)
    assert not set("".join(texts)) & set(" ,()")
    for code, text in zip(codes, texts, strict=True):
        cells = dict(layout.cells_of(kind, code))
        said = dict(cells_in(kind, text))
        assert {key for key in cells if cells[key]} == said.keys() if kind.value == BoolType() else cells == said
        assert layout.code_of(kind, layout.digits(kind, code)) == code


def test_a_renaming_renames_keys_and_values(layout: Layout) -> None:
    """Two elements that change names change places, as keys and as values."""
    swap = {"Acceptor": (1, 0), "Value": (0,)}
    for kind, before, after in (
        (MapType((NODE,), BoolType()), "{a1}", "{a2}"),
        (MapType((NODE,), NODE), "{a1:a1+a2:a1}", "{a1:a2+a2:a2}"),
        (MapType((EPOCH, NODE), OptionalType(NODE)), "{0/a1:a1+0/a2:None+1/a1:a2+1/a2:None}",
         "{0/a1:None+0/a2:a2+1/a1:None+1/a2:a1}"),
    ):  # fmt: skip
        assert layout.decode_value(kind, renamed_code(layout, kind, layout.encode_value(kind, before), swap)) == after


def test_a_run_is_replayed_from_its_line_and_from_its_file(tmp_path: Path, capsys: Captured) -> None:
    """A counterexample with a whole map can be repeated from the line and from the ITF file."""
    file = tmp_path / "run.itf.json"
    assert main(["check", MODEL, "--scope", "default", "--without", "Q-05", "--itf", str(file)]) == 12
    found = capsys.readouterr().out
    assert "decide(quorum={a2+a3}, v=v1)" in found
    line = next(part.split("'")[1] for part in found.splitlines() if part.startswith("replay:"))
    assert line.endswith(RUN)
    for what in ([line], [str(file), "--model", MODEL]):
        assert main(["replay", *what]) == 12
        assert RUN in capsys.readouterr().out
    picked = json.loads(file.read_text())["states"][-1]["mbt::nondetPicks"]
    assert picked["quorum"] == {"#set": [{"#set": ["a2_OF_ACCEPTOR", "a3_OF_ACCEPTOR"]}]}


@pytest.mark.parametrize(
    ("was", "problem"),
    [("{a2+a3}", "{a3+a2}"), ("{a2+a3}", "{a4}"), ("{a1:RED+a2:RED+a3:RED}", "{a1:RED}")],
)
def test_a_wrong_map_in_a_line_is_refused(was: str, problem: str, capsys: Captured) -> None:
    """A line names the map that its scope lacks, and how one is written."""
    system = compile_model(load_model(MODEL))
    print_of = system.fingerprint_in(system.scopes["default"])
    line = f"{MODEL} default #{print_of} -: {RUN.replace(was, problem)}"
    assert main(["replay", line]) == 2
    assert f"{problem} is not a value of" in capsys.readouterr().err


def test_a_run_shrinks(capsys: Captured) -> None:
    """The shrinker makes the members of a relation the first ones."""
    assert main(["check", MODEL, "--scope", "default", "--without", "Q-05"]) == 12
    line = next(part.split("'")[1] for part in capsys.readouterr().out.splitlines() if part.startswith("replay:"))
    assert main(["shrink", line]) == 0
    assert "decide({a1+a2},v1)" in capsys.readouterr().out


def test_too_many_maps_are_refused(layout: Layout) -> None:
    """A scope with more relations than a parameter may have values names their number, however large it is."""
    for size, shown in ((17, "129140163"), (254, "about 2 to the power of 402")):
        scope = Scope("wide", {"Acceptor": size, "Value": 1, "Round": 1}, {}, {}, layout.scope.at)
        with pytest.raises(UsageError, match=shown):
            Layout(layout.system, scope)


def test_by_hand() -> None:
    """CPython takes a set for a relation, and a dictionary for a map; a start is given the maps that it chooses."""
    cls: Any = load_model(MODEL)
    tiny = cls.at("tiny")
    module = __import__("sys").modules[cls.__module__]
    acceptor, value, tag = module.Acceptor, module.Value, module.Tag
    one, two, only = acceptor.element(0), acceptor.element(1), value.element(0)
    with pytest.raises(TypeError, match="nothing is chosen"):
        tiny.start(leader=one)
    with pytest.raises(TypeError, match="no initial condition takes follower"):
        tiny.start(leader=one, follower=two)
    state = tiny.start(leader=one, tag={one: tag.RED, two: tag.BLUE}, near={(one, only)})
    assert state.near[one, only]
    assert not state.near[two, only]
    assert state.tag[two] == tag.BLUE
    for each in (one, two):
        state = state.take("cast", a=each, v=only)
    with pytest.raises(Refused):
        state.take("decide", quorum={one}, v=only)
    after = state.take("decide", quorum={one, two}, v=only)
    assert after.chosen == only
    assert all(after.last[each] for each in (one, two))
    assert state.take("lead", after={one: two, two: one}, rounds=[module.Round(0), module.Round(1)]).leader == two


def test_conform_takes_no_whole_maps(tmp_path: Path, capsys: Captured) -> None:
    """A log of such a model is refused with the place of the action and the parameter."""
    log = tmp_path / "log.ndjson"
    log.write_text('{"source": "a", "seq": 1, "t": 1, "action": "cast", "args": {"a": "x", "v": "y"}}\n')
    assert main(["conform", MODEL, str(log)]) == 2
    assert (
        "has the parameter tag of type Map[Acceptor, Tag], and conform takes no whole maps" in capsys.readouterr().err
    )
