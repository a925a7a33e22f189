"""The language of scenario files: the meaning of a file, and the places of errors."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import impl.scenario
from impl.controller.view import Profile
from impl.scenario.language import Scenario, read_file, read_text
from impl.scenario.matching import AnyOf, Fields, Items, Members, Same
from impl.scenario.reading import MalformedError

MALFORMED = sorted((Path(__file__).parent / "malformed").glob("*.yaml"))


def one(steps: str, head: str = "") -> Scenario:
    """The one scenario of a text with these steps, each on a line of its own."""
    lines = "".join(f"  - {step.strip()}\n" for step in steps.strip().splitlines())
    (scenario,) = read_text(f"{head}steps:\n{lines}")
    return scenario


@pytest.mark.parametrize("path", MALFORMED, ids=lambda path: path.stem)
def test_a_malformed_file_is_refused_with_its_place(path: Path) -> None:
    """The message has one line, with the line and the words that the file's first line promises."""
    promised = path.read_bytes().split(b"\n")[0].decode().removeprefix("# line ")
    line, _, words = promised.partition(": ")

    with pytest.raises(MalformedError) as caught:
        read_file(path, "file.yaml")

    assert str(caught.value).startswith(f"file.yaml:{line}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_there_are_forty_malformed_files_of_each_layer() -> None:
    """The folder has at least forty files about zone routing and its bytes, about the balancer, and about the rest."""
    of_zones = [path for path in MALFORMED if path.stem.startswith(("zone", "epochs", "encoding"))]
    of_balancer = [path for path in MALFORMED if path.stem.startswith("balancer")]
    assert len(of_zones) >= 40
    assert len(of_balancer) >= 40
    assert len(MALFORMED) >= 40 + len(of_zones) + len(of_balancer)


def test_defaults() -> None:
    """A scenario needs steps alone; the defaults are V6, H, G0, time 0, and the file's name."""
    scenario = one("{op: list}")

    assert scenario.name == "scenario 1"
    assert scenario.profile == Profile(v6=True, cancel="H", handshake="G0", timer="epoch")
    assert scenario.clock == 0
    assert scenario.absent == frozenset()


@pytest.mark.parametrize(("version", "fast"), [("V0", False), ("V5", False), ("V6", True)])
def test_fast_close_is_a_matter_of_the_version(version: str, fast: bool) -> None:
    """Versions below V6 have no fast close (streams.md 17)."""
    assert one("{op: list}", f"profile: {{automq_version: {version}}}\n").profile.v6 is fast


def test_every_profile_key() -> None:
    """Each key of the profile reaches the controller."""
    head = "profile: {cancel: K, handshake: G1, timer: automq, balancer: parity}\n"

    assert one("{op: list}", head).profile == Profile(cancel="K", handshake="G1", timer="automq")


def test_documents_are_scenarios() -> None:
    """Each document of a file is a scenario with the line at which it begins; empty documents are none."""
    text = "# first\nsteps: [{op: list}]\n---\nname: second\nsteps: [{op: list}]\n---\n"

    assert [(each.name, each.line) for each in read_text(text)] == [("scenario 1", 2), ("second", 4)]


def test_a_step_knows_its_line() -> None:
    """A step has the line at which it begins, and a map of ``each`` its own."""
    (scenario,) = read_text("steps:\n- op: list\n- op: state\n  each:\n  - stream: 0\n  - stream: 1\n")

    assert [step.line for step in scenario.steps] == [2, 3]
    assert [call.line for call in scenario.steps[1].calls] == [5, 6]


def test_names_stay_text() -> None:
    """NONE, on, no, numbers and dates are text where the language expects text."""
    scenario = one("{op: create_topic, topic: on, partitions: [[0]], expect: {error: NONE}}")
    other = one("{op: alter, topics: {no: {0: null}, 1.0: {}, 2020-01-01: {}}, expect: {rows: {no-0: NONE}}}")

    assert scenario.steps[0].calls[0].arguments["topic"] == "on"
    assert scenario.steps[0].calls[0].expected.entries["error"] == Same("NONE")
    assert other.steps[0].calls[0].arguments["topics"] == {"no": {0: None}, "1.0": {}, "2020-01-01": {}}


@pytest.mark.parametrize(("text", "value"), [("true", True), ("on", True), ("no", False), ("FALSE", False)])
def test_words_for_true_and_false(text: str, value: bool) -> None:
    """The words of YAML 1.1 and of YAML 1.2 are both read where true or false is expected."""
    scenario = one(f"{{op: openings, node: 0, node_epoch: 1, failover: {text}}}")

    assert scenario.steps[0].calls[0].arguments["failover"] is value


def test_json_is_read_as_well() -> None:
    """A file in JSON has the keys of partitions in quotes; they are numbers all the same."""
    (scenario,) = read_text('{"steps": [{"op": "alter", "topics": {"a": {"0": [1]}}}]}')

    assert scenario.steps[0].calls[0].arguments["topics"] == {"a": {0: [1]}}


def test_anchors_and_merged_maps() -> None:
    """An alias stands for its node, and a merged map gives what the step itself does not say."""
    (scenario,) = read_text("steps:\n- &base {op: openings, node: 0, node_epoch: 1}\n- {<<: *base, node: 3}\n- *base\n")

    assert [step.calls[0].arguments["node"] for step in scenario.steps] == [0, 3, 0]
    assert [step.calls[0].arguments["node_epoch"] for step in scenario.steps] == [1, 1, 1]


def test_default_arguments() -> None:
    """Arguments that are left out have the defaults of the language."""
    arguments = one("{op: compact_stream, node: 0, object: 3, stream: 1, start: 0, end: 4}").steps[0].calls[0].arguments

    assert {name: arguments[name] for name in ("node_epoch", "size", "epoch", "sources")} == {
        "node_epoch": 0,
        "size": 0,
        "epoch": -1,
        "sources": (),
    }


def test_each_overrides_arguments_and_expectations() -> None:
    """A map of ``each`` overrides the step's arguments, and its expectation key by key."""
    step = one(
        "{op: openings, node: 0, node_epoch: 1, expect: {error: NONE, streams: []}, "
        "each: [{node: 1}, {node_epoch: 0, expect: {error: NODE_EPOCH_EXPIRED}}]}"
    ).steps[0]

    assert [(call.arguments["node"], call.arguments["node_epoch"]) for call in step.calls] == [(1, 1), (0, 0)]
    assert [call.expected.entries["error"] for call in step.calls] == [Same("NONE"), Same("NODE_EPOCH_EXPIRED")]
    assert all(call.expected.entries["streams"] == Items(()) for call in step.calls)


def test_repeat_and_tolerance() -> None:
    """A step keeps how often it runs, and how far numbers may be apart."""
    step = one("{op: list, repeat: 3, tolerance: 0.5}").steps[0]

    assert (step.repeat, step.tolerance) == (3, 0.5)


def test_expectations_by_type() -> None:
    """The types of results decide between lists and sets, and between whole maps and parts of maps."""
    (call,) = (
        one("{op: alter, topics: {}, expect: {topics: [b, a], rows: {a-0: {any_of: [NONE, X]}}, records: [PARTITION]}}")
        .steps[0]
        .calls
    )

    assert call.expected == Fields(
        {
            "topics": Members((Same("b"), Same("a"))),
            "rows": Fields({"a-0": AnyOf((Same("NONE"), Same("X")))}, whole=True),
            "records": Items((Same("PARTITION"),)),
        }
    )


def test_setup_runs_first(tmp_path: Path) -> None:
    """The steps of the setup stand before the own ones, with their own file and line; its absent ids count too."""
    (tmp_path / "inner.yaml").write_text("absent: [3]\nsteps: [{op: list}]\n")
    (tmp_path / "outer.yaml").write_text("setup: inner.yaml\nabsent: [4]\nsteps: [{op: config}]\n")

    (scenario,) = read_file(tmp_path / "outer.yaml", "outer.yaml")

    assert [(step.op, Path(step.file).name, step.line) for step in scenario.steps] == [
        ("list", "inner.yaml", 2),
        ("config", "outer.yaml", 3),
    ]
    assert scenario.absent == {3, 4}


def test_setups_in_a_circle(tmp_path: Path) -> None:
    """Two files that are each other's setup are refused at the second one."""
    (tmp_path / "a.yaml").write_text("setup: b.yaml\nsteps: [{op: list}]\n")
    (tmp_path / "b.yaml").write_text("setup: a.yaml\nsteps: [{op: list}]\n")

    with pytest.raises(MalformedError, match=r"b\.yaml:1: setup: a\.yaml runs itself"):
        read_file(tmp_path / "a.yaml")


def test_a_file_that_is_nested_too_deeply() -> None:
    """Ten thousand brackets end in a message, not in a crash."""
    with pytest.raises(MalformedError, match="nested too deeply"):
        read_text("steps: " + "[" * 10_000)


def test_damaged_files_are_read_or_refused() -> None:
    """A file with a few characters changed is a scenario or is refused with one line; nothing else happens."""
    whole = Path(impl.scenario.__file__).with_name("example.yaml").read_text(encoding="utf-8")
    chance = random.Random(17)
    messages = []
    for _ in range(100):
        text = whole
        for _ in range(chance.randrange(1, 4)):
            place = chance.randrange(len(text))
            text = text[:place] + chance.choice("{}[]:,-09\"' \n#&*!|>?@%~nx.<") + text[place + chance.randrange(3) :]
        messages += refusals(text)

    assert 0 < len(messages) < 100
    assert all(message.startswith("scenario.yaml:") and "\n" not in message for message in messages)


def refusals(text: str) -> list[str]:
    """The message about a text, if it is refused."""
    try:
        read_text(text)
    except MalformedError as error:
        return [str(error)]
    return []
