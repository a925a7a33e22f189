"""A file that is only read executes nothing: hostile runs, logs, mappings, tables and checkpoints, with every verb."""

from __future__ import annotations

import io
import pickle
import re
import sys
from pathlib import Path

import pytest

import spark.cli.run
from holdfast.ir.load import load_model
from tests.cli.conftest import holdfast
from tests.cli.running import Run
from tests.hostile.planted_code import (
    CAMPAIGNS,
    EVIL,
    FILES,
    HostileFile,
    PickleBomb,
    campaign_in,
    of_tables,
    surroundings,
)
from tests.spark.running import here

__all__ = ["holdfast"]

ENDS = {0, 2, 10, 11, 12, 13, 20}
"""The exit codes of commands that have answered or refused."""

RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f]")


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that code writes if anything executes it. The working directory is full of such code."""
    path = tmp_path / "canary"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(spark.cli.run, "start_cluster", here)
    monkeypatch.setattr(sys, "path", list(sys.path))
    surroundings(tmp_path, code_of(path))
    Path("linked.py").symlink_to(EVIL)
    return path


def code_of(canary: Path) -> str:
    """The expression that writes the canary."""
    return f"__import__('pathlib').Path({str(canary)!r}).touch()"


def refuses_or_answers(run: Run, canary: Path, *words: object) -> None:
    """The command ends as commands end, in words that control nothing, and the canary is not written."""
    ran = run(*words)
    said = f"{words}: {ran.code}: {ran.out[:500]}{ran.err[:500]}"
    assert not canary.exists(), said
    assert ran.code in ENDS | ({1} if words[0] == "verify" else set()), said
    assert "internal error" not in ran.err, said
    assert "Traceback" not in ran.out + ran.err, said
    assert not RAW.search(ran.out + ran.err), said
    if ran.code == 2:
        assert len(ran.err.splitlines()) >= 1, said


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_file_executes_nothing(
    holdfast: Run, canary: Path, monkeypatch: pytest.MonkeyPatch, file: HostileFile
) -> None:
    """Each verb that reads the file refuses it or answers, and executes nothing that it names, holds or spells."""
    path = Path(file.name)
    path.parent.mkdir(exist_ok=True)
    if path.parent.name == "models":
        # The models of the working directory are the user's own; here only the files beside them are hostile.
        Path("counter.py").rename("models/counter.py")
        Path("models/reassignment.py").unlink()
        Path("models/guards.toml").write_text("table = []\n")
    path.write_bytes(file.content(code_of(canary)))
    text = path.read_bytes().decode("utf-8", "replace")
    for words in file.verbs(file.name):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        refuses_or_answers(holdfast, canary, *words)


@pytest.mark.parametrize("kind", CAMPAIGNS)
def test_tables_execute_nothing(holdfast: Run, canary: Path, kind: str) -> None:
    """The same for the tables of a campaign."""
    campaign_in(Path("runs"), kind, code_of(canary))
    for words in of_tables("runs"):
        refuses_or_answers(holdfast, canary, *words)


def test_there_are_thirty(canary: Path) -> None:
    """At least thirty hostile files are tried; a name occurs once."""
    del canary
    assert len({file.name for file in FILES}) == len(FILES)
    assert len(FILES) + len(CAMPAIGNS) >= 30


def test_the_code_would_be_noticed(canary: Path) -> None:
    """The code writes the canary if it is executed: as a model, as a pickled object, as an expression."""
    load_model(EVIL)
    assert canary.exists()
    canary.unlink()
    pickle.loads(pickle.dumps(PickleBomb(code_of(canary))))  # noqa: S301 - it was written here
    assert canary.exists()
    canary.unlink()
    eval(code_of(canary))  # noqa: S307 - as above
    assert canary.exists()
