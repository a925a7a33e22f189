"""The verb ``conform``, and the logs that ``walk --log`` writes for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.check.conform.walks.log_walk import LogWalk
from holdfast.cli.app import main

MODELS = ("ownership", "fast_close", "reassignment", "route_epoch")


def walk(path: Path, *options: str, model: str = "ownership") -> list[dict[str, object]]:
    """Write a log of 80 events and return its lines."""
    assert main(["walk", model, "--log", str(path), "--events", "80", "--stretch", *options]) == 0
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path: Path, lines: list[dict[str, object]]) -> str:
    """Writes a log."""
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(path)


@pytest.mark.parametrize("model", MODELS)
def test_a_walk_conforms(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model's own random run conforms, and the verdict says how much was judged."""
    lines = walk(tmp_path / "a.log", model=model)
    assert len(lines) == 81
    assert main(["conform", model, str(tmp_path / "a.log")]) == 0
    text = capsys.readouterr().out
    for row in ("events:", "elements:", "actions never seen:", "rules never decisive:", "widest window:"):
        assert row in text


def test_the_same_seed_gives_the_same_log(tmp_path: Path) -> None:
    """The log of a random run depends only on the seed."""
    assert walk(tmp_path / "a.log", "--seed", "4") == walk(tmp_path / "b.log", "--seed", "4")
    assert walk(tmp_path / "a.log", "--seed", "4") != walk(tmp_path / "b.log", "--seed", "5")


@pytest.mark.parametrize(
    "option",
    [
        ["--property", "one_open"],
        ["--engine", "kernel"],
        ["--cores", "1"],
        ["--expect", "violated"],
        ["--budget", "1s"],
        ["--itf", "a.itf"],
        ["--json"],
        ["--no-shrink"],
        ["--no-swarm"],
        ["--runs", "7"],
        ["--depth", "7"],
        ["--run", "7"],
        ["--pct", "3"],
        ["--junit", "a.xml"],
    ],
)
def test_a_log_takes_no_option_of_a_search(
    option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``walk --log`` refuses options of a search, which would have no effect."""
    assert main(["walk", "ownership", "--log", str(tmp_path / "a.log"), *option]) == 2
    assert f"{option[0]}: --log writes one run" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "option", [["--events", "5"], ["--stretch"], ["--streams", "1"], ["--sources", "1"], ["--omit", "0%"], ["--spans"]]
)
def test_a_search_takes_no_option_of_a_log(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """``walk`` without --log refuses options of a log, which would have no effect."""
    assert main(["walk", "ownership", *option]) == 2
    assert f"{option[0]} belongs to a log; name its file with --log" in capsys.readouterr().err


def test_a_log_that_is_broken_off_is_not_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted log is deleted, since it could be taken for a complete one."""
    path = tmp_path / "a.log"

    def lines(_self: LogWalk, _events: int) -> Iterator[dict[str, object]]:
        yield {"holdfast": "log"}
        assert path.exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(LogWalk, "lines", lines)
    assert main(["walk", "ownership", "--log", str(path)]) == 20
    assert not path.exists()


def test_an_impossible_log_has_a_line_to_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The printed line is a run up to the first impossible event, and it can be replayed."""
    lines = walk(tmp_path / "a.log", "--seed", "3")
    place = next(number for number, line in enumerate(lines) if line.get("action") == "commit" and number > 10)
    lines[place]["error"] = "STREAM_NOT_EXIST"
    lines[place].pop("post", None)
    path = write(tmp_path / "a.log", lines)
    assert main(["conform", "ownership", path, "--run", str(tmp_path / "prefix.py")]) == 12
    text = capsys.readouterr().out
    assert f"a.log:{place + 1}, commit" in text
    assert "wrong: the model (" in text
    line = next(line for line in text.splitlines() if line.startswith("replay: "))
    assert main(["replay", line.split("'")[1]]) == 0


def test_json_has_every_part_of_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--json`` has the same keys for every verdict, so that a program may read each of them."""
    path = tmp_path / "a.log"
    walk(path, "--seed", "2")
    main(["conform", "ownership", str(path), "--json"])
    said = json.loads(capsys.readouterr().out)

    assert sorted(said) == [
        "actions", "also", "apart", "candidates", "decisive", "events", "exit_code", "hidden", "judged", "last",
        "line", "message", "model", "nearby", "never_decisive", "never_seen", "not_judged", "notes", "peak", "reason",
        "run", "streams", "together", "variants", "verdict", "widest", "worlds",
    ]  # fmt: skip


def test_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The four codes 0, 12, 20 and 2 stand for conforms, impossible, unknown and a usage error."""
    path = tmp_path / "a.log"
    lines = walk(path, "--seed", "2")
    assert main(["conform", "ownership", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "conforms"
    assert main(["conform", "ownership", str(path), "--window", "Offset=2"]) == 20
    assert "window of Offset has room for 2 values" in capsys.readouterr().out
    assert main(["conform", "ownership", write(tmp_path / "b.log", [*lines[:5], *lines[6:]])]) == 2
    assert "missing" in capsys.readouterr().err
    lines[0]["literals"] = {}
    assert main(["conform", "ownership", write(tmp_path / "b.log", lines)]) == 2
    assert '"literals": {"NodeEpoch": {"1": …}}' in capsys.readouterr().err


def test_a_log_does_not_tell_the_last_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If a guard asks how many places there are, the answer is unknown until the user says it: no false verdict."""
    path = tmp_path / "wire.jsonl"
    header = {"holdfast": "log", "version": 1, "model": "alternating_bit"}
    events = [{"source": "system", "seq": seq, "t": 1_000 * seq, "action": "send"} for seq in (1, 2)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in (header, *events)))
    command = ["conform", "docs/examples/alternating_bit.py", str(path)]
    assert main(command) == 20
    assert "the log does not tell the last Item" in capsys.readouterr().out
    assert main([*command, "--window", "Item=3", "--window", "Place=3"]) == 0
    assert main([*command, "--window", "Item=3", "--window", "Place=2"]) == 12


def test_a_window_is_as_large_as_the_user_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a model asks for the last value, a log that names a greater one is refused, and never judged by another."""
    path = tmp_path / "ring.jsonl"
    header = {"holdfast": "log", "version": 1, "model": "ewd998"}
    probe = {"source": "ring", "seq": 2, "t": 2_000, "action": "probe", "post": {"holder": 3}}
    rest = {"source": "ring", "seq": 1, "t": 1_000, "action": "rest", "n": 0}
    path.write_text("".join(f"{json.dumps(line)}\n" for line in (header, rest, probe)))
    command = ["conform", "docs/examples/ewd998.py", str(path), "--window"]
    assert [main([*command, f"Node={nodes}"]) for nodes in (3, 4, 5)] == [2, 0, 12]
    assert "the last value is 2, and the log or the model names 3" in capsys.readouterr().err


def test_a_log_of_another_model_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log that names another model is refused, even if its actions exist in this model too."""
    lines = walk(tmp_path / "a.log")
    for said, code in (
        ("fast_close", 2),
        ("models/fast_close.py", 2),
        ("models/ownership.py:Wrong", 2),
        ("models/ownership.py:Ownership", 0),
        ("models/ownership.py", 0),
        ("Ownership", 0),
        (None, 0),
    ):
        lines[0]["model"] = said
        assert main(["conform", "ownership", write(tmp_path / "b.log", lines)]) == code, said
        if code:
            error = capsys.readouterr().err
            assert f'b.log:1: the log is one of "{said}", and ownership is asked for' in error
    # The variant is one of the other model.
    lines[0] |= {"model": "route_epoch", "variants": ["log_grain"]}
    assert main(["conform", "ownership", write(tmp_path / "b.log", lines)]) == 2
    assert 'the log is one of "route_epoch"' in capsys.readouterr().err


@pytest.mark.parametrize(("text", "problem"), [("", "the log holds no event"), ('{"seq": 1}\n', "source is missing")])
def test_what_is_no_log_is_said_first(
    text: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is no log is reported as such before its header's missing literals are."""
    (tmp_path / "a.log").write_text(text)
    assert main(["conform", "ownership", str(tmp_path / "a.log")]) == 2
    assert problem in capsys.readouterr().err


SUMS = '''
from holdfast.lang import Model, Nat, Scope, action, init, require


class Offset(Nat):
    """A number."""


class Sums(Model):
    """Adds two numbers."""

    low: Offset
    high: Offset

    tiny = Scope({Offset: 3})

    @init
    def begin(self) -> None:
        """Both are 0."""
        self.low = Offset(0)
        self.high = Offset(0)

    @action
    def spread(self, a: Offset) -> None:
        """The sum has to be below a limit."""
        require(self.low + self.high <= a, "S-1")
        self.high = a
'''


def test_a_model_that_sums_numbers_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model that sums numbers is refused, with the file, the line and the Nat."""
    model = tmp_path / "sums.py"
    model.write_text(SUMS)
    log = write(tmp_path / "a.log", [{"source": "a", "seq": 1, "t": 1, "action": "spread", "a": 3}])
    assert main(["conform", str(model), log]) == 2
    problem = capsys.readouterr().err
    assert "sums.py:26" in problem
    assert "Sums computes with it (+)" in problem
    assert "Offset" in problem


def test_reports(tmp_path: Path) -> None:
    """``conform`` writes the same reports as other verbs."""
    walk(tmp_path / "a.log")
    junit, sarif = tmp_path / "a.xml", tmp_path / "a.sarif"
    assert main(["conform", "ownership", str(tmp_path / "a.log"), "--junit", str(junit), "--sarif", str(sarif)]) == 0
    assert "conforms" in junit.read_text()
    assert json.loads(sarif.read_text())["version"] == "2.1.0"


def test_elements_that_share_their_constants_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both threads for opens would have one name in a log, and a run that uses both would look impossible."""
    path = tmp_path / "a.log"
    path.write_text('{"source": "a", "seq": 1, "t": 1, "action": "reassign", "p": "p1", "n": "n1"}\n')
    assert main(["conform", "broker_executors", str(path)]) == 2
    assert "an element of Thread by its constants, and in scope default two of" in capsys.readouterr().err
