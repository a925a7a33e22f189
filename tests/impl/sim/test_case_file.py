"""Runs in files: the round trip, and errors of one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from impl.oracles.verdict import Violation
from impl.sim.case_file import CaseError, SimulationCase, case_of, read_case, text
from impl.sim.check import Question
from impl.sim.options import Options
from impl.sim.script import ScriptOperation
from impl.sim.tape import Fault

SCRIPT = (ScriptOperation(0, 10, "append", 1, value=7, count=2), ScriptOperation(-1, 20, "move", 1, hop=2))
FAULTS = (Fault("process/1", 3, "pause", 0.25, 99),)
QUESTION = Question(
    seed=5,
    options=Options(brokers=2, faults="none", recorded=FAULTS, operations_of=SCRIPT),
    version="legacy",
    without=("ST-14",),
    switches=("AM-03",),
)
VIOLATION = Violation("lost", 1, "value 7 is lost")


def written(tmp_path: Path, case: SimulationCase | dict[str, Any] | bytes) -> Path:
    """A file with a case, or with any other content."""
    path = tmp_path / "case.json"
    data = (
        case
        if isinstance(case, bytes)
        else text(case).encode()
        if isinstance(case, SimulationCase)
        else json.dumps(case)
    )
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def test_a_case_is_read_as_it_was_written(tmp_path: Path) -> None:
    """A file has the question, and one line for each operation and fault."""
    case = case_of(QUESTION, VIOLATION)
    path = written(tmp_path, case)
    assert read_case(path, "f") == case
    assert case.question() == QUESTION
    assert [line for line in path.read_text().splitlines() if line.startswith("    ")] == [
        '    {"client": 0, "at": 10, "f": "append", "key": 1, "value": 7, "count": 2},',
        '    {"client": -1, "at": 20, "f": "move", "key": 1, "hop": 2}',
        '    {"site": "process/1", "index": 3, "kind": "pause", "value": 0.25, "at": 99}',
    ]


def test_a_mended_case_has_all_rules() -> None:
    """A mended case has all rules, and is otherwise unchanged."""
    case = case_of(QUESTION, VIOLATION)
    assert case.question(mended=True) == msgspec.structs.replace(QUESTION, without=(), switches=())


def changed(**fields: Any) -> Callable[[dict[str, Any]], None]:
    """Give fields of a file other values."""
    return lambda file: file.update(fields)


def in_script(**fields: Any) -> Callable[[dict[str, Any]], None]:
    """Give fields of the first operation other values."""
    return lambda file: file["script"][0].update(fields)


def in_faults(**fields: Any) -> Callable[[dict[str, Any]], None]:
    """Give fields of the first fault other values."""
    return lambda file: file["faults"][0].update(fields)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed(format="other"), r"Invalid enum value 'other' - at `\$\.format`; give a file that"),
        (changed(version=2), r"Invalid enum value 2 - at `\$\.version`"),
        (changed(more=1), r"unknown field `more`"),
        (lambda file: file.pop("seed"), r"missing required field `seed`"),
        (changed(seed="1"), r"Expected `int`, got `str` - at `\$\.seed`"),
        (changed(cluster="\x1b[31m"), r"Invalid enum value '\\x1b\[31m'"),
        (changed(brokers=0), "brokers is 0; give 1 to 50"),
        (changed(controllers=51), "controllers is 51; give 1 to 50"),
        (changed(streams=10**9), "streams is 1000000000; give 1 to 1000"),
        (changed(without=["ST-99"]), "without: unknown label ST-99; known: ST-"),
        (changed(without=["CA-02"]), "without: unknown label CA-02"),
        (changed(switches=["AM-77"]), "switches: unknown switch AM-77"),
        (in_faults(kind="explosion"), r"faults\[0\]\.kind: unknown kind of fault explosion"),
        (in_faults(value=1.0), r"faults\[0\]\.value is 1\.0"),
        (in_script(f="drop"), r"Invalid enum value 'drop' - at `\$\.script\[0\]\.f`"),
        (in_script(at=-1), r"script\[0\]: give at and key from 0 on"),
        (in_script(client=-1), r"script\[0\]\.client is -1"),
        (in_script(value=0), r"script\[0\]\.value is 0"),
        (lambda file: file["script"].append(file["script"][0]), "two appends write the same value"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, change: Callable[[dict[str, Any]], None], message: str) -> None:
    """An error is one printable line, with the file, the place and the value."""
    file = json.loads(text(case_of(QUESTION, VIOLATION)))
    change(file)
    with pytest.raises(CaseError, match=message) as error:
        read_case(written(tmp_path, file), "the file")
    assert str(error.value).startswith("the file: ")
    assert str(error.value).isprintable()


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b'{"a": 1}\n{}', b"[]", b"null"])
def test_what_is_no_case_at_all(tmp_path: Path, data: bytes) -> None:
    """Bytes that are not JSON, or not an object, are refused."""
    with pytest.raises(CaseError, match=r"^f: .*; give a file that `holdfast simulate` has kept$"):
        read_case(written(tmp_path, data), "f")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A missing file is reported with the system's message."""
    with pytest.raises(
        CaseError, match=r"^x: cannot be read: No such file or directory; mend that, or name another file$"
    ):
        read_case(tmp_path / "x", "x")


def test_a_number_out_of_bounds_is_no_crash(tmp_path: Path) -> None:
    """Numbers of any size, which JSON allows, cause no crash."""
    file = text(case_of(QUESTION, VIOLATION)).replace('"seed": 5', f'"seed": {"9" * 5_000}')
    with pytest.raises(CaseError, match=r"^f: "):
        read_case(written(tmp_path, file.encode()), "f")
