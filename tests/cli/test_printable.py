"""Nothing in the text of a command controls a terminal or a CI server, wherever the text comes from."""

from __future__ import annotations

import io
import json
import re
import warnings
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.table import Table
from textual.color import Color

from holdfast.cli import output
from holdfast.cli.explorer.printable_text import PrintableText
from holdfast.ir.printable import one_line, printable, without_commands
from tests.cli.running import Run
from tests.cli.samples import COUNTER

ESC, OVERRIDE = "\x1b[31mred", "\u202egnp.exe"
TAG = "\U000e0041"
NASTY = f"a{ESC}b{OVERRIDE}c{TAG}d"
COMMAND = "::error file=a.py::planted"

RAW = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
"""The characters that no output has: controls, marks of direction, invisible ones, separators, surrogates."""

CONTROLS = st.sampled_from(
    [*map(chr, range(160)), *"\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufeff", TAG]
)
TEXTS = st.text(st.one_of(CONTROLS, st.characters(exclude_categories=["Cs"])))


# The filter -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ünïcödé, 漢字, 🔒\nsecond line", "plain, ünïcödé, 漢字, 🔒\nsecond line"),
        ("a\x1b[2Jb", r"a\u001b[2Jb"),
        ("a\rb\tc\x00\x7f\x9b", r"a\u000db\u0009c\u0000\u007f\u009b"),
        ("user\u202egnp.exe", r"user\u202egnp.exe"),
        ("a\u2028b\u2066c\u200bd\ufeff", r"a\u2028b\u2066c\u200bd\ufeff"),
        (TAG, r"\udb40\udc41"),
        ("\udc80", r"\udc80"),
    ],
)
def test_characters_that_are_not_shown_are_escaped(text: str, shown: str) -> None:
    """Controls, bidirectional characters, separators and surrogates become escapes; letters stay."""
    assert printable(text) == shown


def test_a_line_feed_is_escaped_where_one_line_is_wanted() -> None:
    """A name stays on one line."""
    assert one_line("a\nb\x1b") == r"a\u000ab\u001b"


@given(TEXTS)
def test_nothing_raw_is_left(text: str) -> None:
    """The filtered text holds no character that is not shown, and filtering it again changes nothing."""
    found = printable(text)
    assert not RAW.search(found)
    assert printable(found) == found


@given(st.recursive(TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)))
def test_json_stays_the_same_json(value: object) -> None:
    """JSON that passes the filter means the same."""
    for ascii_only in (True, False):
        text = json.dumps(value, ensure_ascii=ascii_only, indent=1)
        assert json.loads(without_commands(printable(text))) == value


@given(st.lists(st.sampled_from(["::", ":", "##[", "##", "#", "[", "vso[", "teamcity[", "x", " ", "\u00a0", "\n"])))
def test_no_line_is_a_command(parts: list[str]) -> None:
    """No line begins with ``::``, also behind blanks, and none holds the signs of an older command."""
    found = without_commands(printable("".join(parts)))
    assert not any(line.strip().startswith("::") for line in found.split("\n"))
    assert not re.search(r"##(vso|teamcity)?\[", found)


# Where text leaves ----------------------------------------------------------------------------------------------------


def test_both_streams_are_filtered(capsys: pytest.CaptureFixture[str]) -> None:
    """Results, notes and Python's warnings pass the filter; only annotations may be commands."""
    output.say(f"{NASTY}\n  {COMMAND}")
    output.note(f"{NASTY}\n{COMMAND}")
    output.say(f"{COMMAND}{ESC}", commands=True)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = output._note_warning
        warnings.warn(f"{NASTY}\n{COMMAND}", stacklevel=1)
    out, err = capsys.readouterr()
    assert not RAW.search(out + err)
    assert [line for line in (out + err).splitlines() if line.strip().startswith("::")] == [f"{COMMAND}\\u001b[31mred"]
    assert "UserWarning: a\\u001b[31mredb" in err


@pytest.mark.parametrize("terminal", [True, False])
def test_tables_are_filtered(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    """A cell of a table is text: no markup, no control. On a terminal the table's own colours remain."""
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    table = Table("name", header_style="bold")
    table.add_row(f"[bold]{ESC}{OVERRIDE}[/nothing] :lock:")
    output.show(table)
    found = stream.getvalue()
    assert ("\x1b[1m" in found) == terminal
    assert "\\u001b[31m" in found
    assert "[/nothing] :lock:" in found
    assert not RAW.search(re.sub("\x1b\\[[0-9;]*m", "", found).replace("\r", ""))
    assert "\x1b[31m" not in found


def test_the_progress_line_is_filtered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The progress line is one line, whatever the name of the model is."""
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", stream)
    output.Ticker().show(f"{NASTY}\n{COMMAND}")
    found = stream.getvalue().removeprefix(output.CLEAR_LINE)
    assert not RAW.search(found)
    assert "\n" not in found


def test_files_are_filtered(tmp_path: Path) -> None:
    """A file that a command writes for people holds no control either."""
    output.write(tmp_path / "run.svg", f"<text>{NASTY}</text>\n")
    assert not RAW.search((tmp_path / "run.svg").read_text(encoding="utf-8"))


def test_the_screen_is_filtered() -> None:
    """The explorer's lines pass the filter; their styles stay."""
    [found] = PrintableText().apply([Segment(NASTY)], Color(0, 0, 0))
    assert found.text == printable(NASTY)


# Commands -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model whose docstrings hold controls and a command; its invariant is violated."""
    monkeypatch.chdir(tmp_path)
    text = COUNTER.replace("self.value[n] > Count(0) for n", "self.value[n] < Count(2) for n")
    text = text.replace("Each node has a counter.", f"{COMMAND}\n\n    {NASTY}")
    text = text.replace("CT-10. A counter that is above one is above zero.", f"CT-10. {COMMAND} {NASTY}")
    path = Path("hostile.py")
    path.write_text(text, encoding="utf-8")
    return path


def test_docstrings_do_not_leave_raw(holdfast: Run, hostile: Path) -> None:
    """A check, its annotations and its reports show the docstrings of a model escaped."""
    ran = holdfast("check", hostile, "--scope", "tiny", "--junit", "a.xml", "--sarif", "a.sarif", "--github")
    assert ran.code == 12
    sarif = json.loads(Path("a.sarif").read_text(encoding="utf-8"))
    told = [node.text or "" for node in ET.parse("a.xml").iter()]  # noqa: S314 - it was written here
    for text in (ran.out, ran.err, Path("a.xml").read_text(encoding="utf-8"), json.dumps(sarif, ensure_ascii=False)):
        assert not RAW.search(text)
    assert any("\\u001b[31mred" in text for text in told)
    assert "\\u202egnp" in sarif["runs"][0]["results"][0]["message"]["text"]
    commands = [line for line in ran.out.splitlines() if line.strip().startswith("::")]
    assert len(commands) == 1
    assert commands[0].startswith("::error file=hostile.py,")


@pytest.mark.parametrize("error", ["import", "syntax", "language"])
def test_errors_do_not_leave_raw(holdfast: Run, hostile: Path, error: str) -> None:
    """An import error and a quoted line of source are escaped, on one line."""
    text = hostile.read_text(encoding="utf-8")
    broken = {
        "import": f"{text}\nraise RuntimeError({f'{NASTY}{chr(10)}{COMMAND}'!r})\n",
        "syntax": f"{text}\nx = '{ESC} {OVERRIDE}' +\n",
        "language": text.replace('require(c > self.value[n], "CT-01")', f'require(c > len("{OVERRIDE}"), "CT-01")'),
    }[error]
    Path("broken.py").write_text(broken, encoding="utf-8")
    ran = holdfast("check", "broken.py")
    assert ran.code == 150
    assert not RAW.search(ran.out + ran.err)
    assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize("place", ["options", "action", "variable", "value", "model"])
def test_names_of_a_file_do_not_leave_raw(holdfast: Run, tmp_path: Path, place: str) -> None:
    """Names in an ITF file are shown escaped, each on one line."""
    nasty = f"{NASTY}\n{COMMAND}"
    named = {each: nasty if each == place else "plain" for each in ("action", "variable", "value", "model")}
    variable = named["variable"]
    states = [{"#meta": {"action": named["action"]}, variable: value} for value in ("start", named["value"])]
    meta = {"model": named["model"], "options": [nasty]}
    path = tmp_path / "run.itf.json"
    path.write_text(json.dumps({"#meta": meta, "vars": [variable], "states": states}))
    for option in ((), ("--diagram",), ("--full",)):
        ran = holdfast("show", path, *option)
        assert ran.code == 0
        assert not RAW.search(ran.out + ran.err)
        assert not any(line.strip().startswith("::") for line in (ran.out + ran.err).splitlines())
        assert place == "options" or "planted" not in [line.strip() for line in ran.out.splitlines()]
