"""``holdfast show``: a run in columns, as a diagram and as a picture, and the explanation of its end."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.cli.running import Run

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests" / "check" / "models" / "table.py"
FOREIGN = """{"vars": ["at", "holder"], "loop": 1, "states": [
 {"at": {"#bigint": "0"}, "holder": {"#map": [["n1_OF_NODE", false], ["n2_OF_NODE", true]]}},
 {"at": {"#bigint": "1"}, "holder": {"#map": [["n1_OF_NODE", true], ["n2_OF_NODE", false]]}},
 {"at": {"#bigint": "0"}, "holder": {"#map": [["n1_OF_NODE", false], ["n2_OF_NODE", true]]}}]}"""


@pytest.fixture
def handover(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holdfast: Run) -> str:
    """A working directory with the file run.itf.json, and the same run's line: two processes hold one stream."""
    monkeypatch.chdir(tmp_path)
    Path("table.py").write_text(TABLE.read_text())
    Path("foreign.itf.json").write_text(FOREIGN)
    ran = holdfast("check", "table.py", "--scope", "tiny", "--without", "ST-14", "--itf", "run.itf.json")
    (line,) = re.findall(r"^replay: +holdfast replay '(.*)'$", ran.out, re.MULTILINE)
    return line


def test_a_file_and_its_line_show_the_same(holdfast: Run, handover: str) -> None:
    """A file and its line show the same columns, and the removed rule that the run got past."""
    from_file = holdfast("show", "run.itf.json", "--model", "table.py")
    from_line = holdfast("show", handover)

    assert (from_file.code, from_line.code) == (0, 0)
    assert (
        "  #  who  action           whose  what changed\n  1  p1   open(s=s1, e=1)  p1     handle[p1" in from_line.out
    )
    assert from_line.out.count("     ! ST-14 (STREAM_NOT_CLOSED), which is removed, refuses this step\n") == 1
    table = from_line.out[from_line.out.index("  #  who") : from_line.out.index("\nwhat one_handle reads")]
    assert table in from_file.out


def test_a_removed_effect_is_told_too(holdfast: Run) -> None:
    """A step that the complete model takes to another state is marked as such."""
    ran = holdfast("check", "ownership", "--scope", "tiny", "--without", "ST-44.lift")
    (line,) = re.findall(r"^replay: +holdfast replay '(.*)'$", ran.out, re.MULTILINE)
    assert "! with ST-44.lift in place the step leads to another state" in holdfast("show", line).out


def test_why(holdfast: Run, handover: str) -> None:
    """--why shows the chain of causes to the claim, or to the named property, in any order of the arguments."""
    shown = holdfast("show", handover, "--why").out

    assert shown.startswith("Why one_handle (INV-01) is violated after 2 steps: all of them led to it.\n")
    assert "who  action" not in shown
    assert holdfast("show", "--why", handover).out == shown
    assert holdfast("show", handover, "--why", "one_handle").out == shown
    assert holdfast("show", "--why", "INV-01", handover).out == shown
    assert holdfast("show", handover, "--why", "closed_before").out.startswith("Why closed_before (INV-01) is violated")


def test_refused(holdfast: Run, handover: str) -> None:
    """--refused lists the refused actions of the start, and at each step those whose answer changed."""
    lines = holdfast("show", handover, "--refused").out.split("\n")

    assert "       open   4 possible; ST-12 2" in lines
    assert "       close  0 possible; CK-02.epoch 6" in lines
    assert lines.index("     now") > lines.index("       close  0 possible; CK-02.epoch 6")
    assert "       open   2 possible; ST-12 4" in lines


def test_only_some_cells(holdfast: Run, handover: str) -> None:
    """--only leaves out the other cells, in the columns and in the diagram."""
    columns = holdfast("show", handover, "--only", "owner", "--only", "epoch").out
    table = columns[columns.index("  #  who") : columns.index("\nwhat one_handle")]
    assert set(re.findall(r"\b(\w+)\[", table)) == {"owner", "epoch"}
    assert "handle[" not in holdfast("show", handover, "--only", "owner", "--diagram").out


def test_diagram_and_picture(holdfast: Run, handover: str) -> None:
    """--diagram prints a diagram, --svg writes well-formed XML, and other views are not printed."""
    ran = holdfast("show", handover, "--diagram")
    assert "  1    ●────┼────▶   open(s1, 1)\n" in ran.out
    assert "who  action" not in ran.out

    ran = holdfast("show", handover, "--svg", "run.svg")
    assert (ran.code, ran.out) == (0, "")
    assert ET.parse("run.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - it was written here


def test_several_views_at_once(holdfast: Run, handover: str) -> None:
    """Several views are printed one below the other, each once."""
    out = holdfast("show", handover, "--why", "--diagram", "--full").out
    assert out.startswith("Why one_handle")
    assert out.index("●") < out.index("who  action")
    assert "     now\n" in out


def test_a_run_without_a_model(holdfast: Run, handover: str) -> None:
    """A file of another tool is shown and drawn, loop included; a view that needs a model says so."""
    assert handover
    ran = holdfast("show", "foreign.itf.json")
    assert "  1       step  n1     holder[n1]  False -> True\n" in ran.out
    assert "and then back to the state after step 1, for ever" in ran.out
    assert "and then back to the state after step 1, for ever" in holdfast("show", "foreign.itf.json", "--diagram").out
    for option in ("--why", "--refused"):
        ran = holdfast("show", "foreign.itf.json", option)
        assert (ran.code, ran.out) == (2, "")
        assert f"holdfast: {option} needs the model behind foreign.itf.json; name it with --model\n" == ran.err


def test_lines_fit_eighty_columns(holdfast: Run, handover: str) -> None:
    """Without a terminal every view is eighty columns wide, except for commands to copy."""
    for options in ((), ("--full",), ("--refused",), ("--why",), ("--diagram",)):
        lines = holdfast("show", handover, *options).out.split("\n")
        assert [x for x in lines if len(x) > 80 and not x.startswith(("reproduce:", "replay:"))] == []


def test_the_picture_is_the_same_again(holdfast: Run, handover: str) -> None:
    """Two pictures of one run are equal, byte for byte."""
    for name in ("one.svg", "two.svg"):
        holdfast("show", handover, "--svg", name)
    assert Path("one.svg").read_bytes() == Path("two.svg").read_bytes()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "no run is given; name a file, or give a line as `holdfast replay` takes it"),
        (["none.json"], "there is no file 'none.json'"),
        (
            ["run.itf.json", "--model", "table.py", "--only", "ownr"],
            "--only ownr: Table has no field or cell of that name; did you mean owner?",
        ),
        (
            ["run.itf.json", "--model", "table.py", "--why", "one_hand"],
            "Table has no property 'one_hand' that a run shows; did you mean",
        ),
        (
            ["run.itf.json", "--model", "table.py", "--why", "epochs_grow"],
            "--why epochs_grow: it is violated nowhere in this run",
        ),
        (["run.itf.json", "--why", "a", "b"], "--why a b: these are 2 properties; name one"),
        (["run.itf.json", "--svg", "no/run.svg"], "no/run.svg: cannot be written: No such file or directory"),
        (["cut.itf.json"], "cut.itf.json"),
        (["empty.itf.json"], "empty.itf.json: is empty"),
        (["binary.itf.json"], "binary.itf.json: is no text"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_arguments(holdfast: Run, handover: str, argv: list[str], said: str) -> None:
    """A wrong file, name or option ends with code 2 and one line; nothing is printed or written."""
    assert handover
    whole = Path("run.itf.json").read_bytes()
    Path("cut.itf.json").write_bytes(whole[: len(whole) // 2])
    Path("empty.itf.json").write_bytes(b"")
    Path("binary.itf.json").write_bytes(bytes(range(256)))
    before = sorted(Path().iterdir())

    ran = holdfast("show", *argv)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("holdfast: ")
    assert ran.err.count("\n") == 1
    assert said.lower() in ran.err.lower()
    assert sorted(Path().iterdir()) == before
