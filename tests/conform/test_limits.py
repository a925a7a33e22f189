"""Budgets, signals, inputs and outputs of the verb ``conform``."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from holdfast.cli.app import main
from tests.cli.test_interrupt import read_some
from tests.conform.test_small_models import model
from tests.conform.walked_logs import Line

HEADER: Line = {"holdfast": "log", "version": 1, "literals": {"NodeEpoch": {"1": 7}}}
CONFORM = [sys.executable, "-m", "holdfast", "conform", "ownership"]
RUNS: list[Line] = [
    {"source": "a", "seq": 1, "t": 1, "action": "register", "p": ["n1", 7]},
    {"source": "a", "seq": 2, "t": 2, "action": "open", "p": ["n1", 7], "s": "s1", "e": 5, "heard": False},
]
IMPOSSIBLE = [*RUNS, {"source": "a", "seq": 3, "t": 3, "action": "delete", "s": "s1"}]
OPEN = [*RUNS, {"source": "a", "seq": 3, "t": 3, "action": "trim", "p": ["n1", 7], "s": "s1", "q": 9}, IMPOSSIBLE[-1]]
OPEN[-1] = {**OPEN[-1], "seq": 4}
VERDICTS = [("conforms", 0, RUNS), ("impossible", 12, IMPOSSIBLE), ("unknown", 20, OPEN)]


def write(path: Path, lines: list[Line], header: Line = HEADER) -> str:
    """Write a log."""
    path.write_text("".join(f"{json.dumps(line)}\n" for line in [header, *lines]))
    return str(path)


def long_log(path: Path, events: int) -> str:
    """Write a log in which a process registers again and again."""
    one = '{"source": "a", "seq": %d, "t": %d, "action": "register", "p": ["n1", 7]}\n'
    with path.open("w") as file:
        file.write(f"{json.dumps(HEADER)}\n")
        file.writelines(one % (number, number) for number in range(1, events + 1))
    return str(path)


# Budgets ------------------------------------------------------------------------------------------------------------


def test_a_limit_of_steps_says_what_was_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A limit of steps counts two for each event here, since the node may be registered at the start or not."""
    assert main(["conform", "ownership", long_log(tmp_path / "a.log", 500), "--budget", "100states", "--json"]) == 20
    found = json.loads(capsys.readouterr().out)
    assert found["reason"] == "stopped by a limit (states: more than 100)"
    assert (found["judged"], found["events"]) == (51, 500)


def test_a_limit_of_steps_counts_spans(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each step of a span counts towards a limit of steps."""
    (tmp_path / "small.py").write_text(model("self.clock = self.clock + 1"))
    log = [{"source": "a", "seq": n, "t": n, "action": "go", "span": [5 * n - 5, 5 * n]} for n in range(1, 100)]
    path = write(tmp_path / "a.log", log, {"holdfast": "log", "version": 1})
    assert main(["conform", str(tmp_path / "small.py"), path, "--budget", "50states", "--json"]) == 20
    assert json.loads(capsys.readouterr().out)["reason"] == "stopped by a limit (states: more than 50)"


@pytest.mark.parametrize("limit", ["1MB", "0.000001s"])
def test_a_limit_holds_while_the_log_is_read(limit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If a limit ends the reading of the log, after its first event, no event was judged."""
    assert main(["conform", "ownership", long_log(tmp_path / "a.log", 500), "--budget", limit]) == 20
    out = capsys.readouterr().out
    assert "unknown after 0 of 1 events: stopped by a limit (" in out
    assert "a.log:2, before the log was judged" in out


def test_a_limit_holds_for_the_run_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If a limit ends the search for the run, the verdict stands, and a line says why there is no run."""
    log = write(tmp_path / "a.log", [*RUNS, *({**RUNS[0], "seq": n, "t": n} for n in range(3, 80))])
    assert main(["conform", "ownership", log, "--run", str(tmp_path / "b.py"), "--budget", "1000states"]) == 0
    assert "No run is written" not in capsys.readouterr().out
    assert main(["conform", "ownership", log, "--run", str(tmp_path / "c.py"), "--budget", "79states"]) == 20
    assert not (tmp_path / "c.py").exists()


# Signals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing_behind(signal_number: int, tmp_path: Path) -> None:
    """Ctrl-C and SIGTERM end with 20 and the result so far, and the copy of standard input is deleted."""
    log = long_log(tmp_path / "a.log", 300_000)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    ours, theirs = pty.openpty()
    with (
        Path(log).open() as file,
        subprocess.Popen(
            [*CONFORM, "-"],
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
            env={**os.environ, "TMPDIR": str(scratch)},
        ) as process,
    ):
        os.close(theirs)
        # Progress is shown on a terminal only, and only once the log is being read.
        assert b"events read" in os.read(ours, 4096)
        process.send_signal(signal_number)
        while read_some(ours):
            pass
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(ours)
    assert list(scratch.iterdir()) == []
    assert process.returncode == 20
    assert "stopped by a limit (interrupted) at <stdin>:" in out


# Ways in ------------------------------------------------------------------------------------------------------------


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Standard input is read twice, like a file."""
    text = Path(write(tmp_path / "a.log", IMPOSSIBLE)).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main(["conform", "ownership", "-"]) == 12
    assert "<stdin>:4, delete" in capsys.readouterr().out


def test_an_option_that_is_none_is_no_log(capsys: pytest.CaptureFixture[str]) -> None:
    """The name of a log may be -, but no other name may begin with it."""
    assert main(["conform", "ownership", "--windows", "Offset=3"]) == 2
    assert "unknown option '--windows'" in capsys.readouterr().err


def test_several_files_are_one_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A source may continue in the next file; with the files swapped, a line is missing."""
    one, two = write(tmp_path / "1.log", RUNS), write(tmp_path / "2.log", IMPOSSIBLE[2:])
    assert main(["conform", "ownership", one, two]) == 12
    assert "2.log:2, delete" in capsys.readouterr().out
    assert main(["conform", "ownership", two, one]) == 2
    assert '2.log:2: "a" begins with seq 3' in capsys.readouterr().err


def test_a_mapping_reads_a_foreign_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A foreign log with its mapping gets the same verdict as the same log in our own format."""
    mapping = tmp_path / "map.yaml"
    mapping.write_text(
        "model: ownership\n"
        "source: {format: ndjson, when: what, time: at, seq: n, source: who}\n"
        "literals: {NodeEpoch: {1: 7}}\n"
        "events:\n"
        "  registered: {action: register, p: [node, life]}\n"
        "  opened: {action: open, p: [node, life], s: stream, e: epoch, heard: false}\n"
        "  deleted: {action: delete, s: stream}\n"
    )
    log = tmp_path / "foreign.log"
    rows: list[dict[str, Any]] = [
        {"what": "registered", "node": "n1", "life": 7},
        {"what": "opened", "node": "n1", "life": 7, "stream": "s1", "epoch": 5},
        {"what": "deleted", "stream": "s1"},
    ]
    for count, code in ((2, 0), (3, 12)):
        lines = [{"at": number, "n": number, "who": "a", **row} for number, row in enumerate(rows[:count], start=1)]
        log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        assert main(["conform", "ownership", str(log), "--map", str(mapping)]) == code
    assert "ST-51 refuses delete with STREAM_NOT_CLOSED" in capsys.readouterr().out


# Reports ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "code", "lines"), VERDICTS)
def test_every_report_of_every_verdict(
    kind: str, code: int, lines: list[Line], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All reports agree with the exit code, and name the line if there is one."""
    log = write(tmp_path / "a.log", lines)
    junit, sarif = tmp_path / "a.xml", tmp_path / "a.sarif"
    assert main(["conform", "ownership", log, "--junit", str(junit), "--sarif", str(sarif), "--github"]) == code
    out = capsys.readouterr().out
    suite = ET.parse(junit).getroot()  # noqa: S314 - our own file
    tags = {each.tag for case in suite.iter("testcase") for each in case}
    assert bool(tags & {"failure", "error", "skipped"}) == (kind != "conforms")
    assert ("failure" in tags) == (kind == "impossible")
    results = json.loads(sarif.read_text())["runs"][0]["results"]
    assert bool(results) == (kind != "conforms")
    assert ("::error" in out) == (kind == "impossible")
    if kind == "impossible":
        place = results[0]["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"].endswith("a.log")
        assert place["region"]["startLine"] == 4
    assert main(["conform", "ownership", log, "--json"]) == code
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["exit_code"]) == (kind, code)
    assert (found["line"] is None) == (kind != "impossible")


def test_the_verdict_of_an_impossible_log_is_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The verdict has the line, the guard and its place, the possible culprits, possible steps, and earlier events."""
    assert main(["conform", "ownership", write(tmp_path / "a.log", IMPOSSIBLE)]) == 12
    out = capsys.readouterr().out
    assert 'a.log:4, delete(s="s1")' in out
    assert "ST-51 refuses delete with STREAM_NOT_CLOSED (models/parts/streams.py:" in out
    assert "wrong: the model (the guard is too strict), the code (it lacks the guard), or the log" in out
    assert "close(p=[n1,7,false], s=s1, e=5) makes the event possible" not in out  # Nobody has sent a close.
    assert 'a.log:3  open(p=["n1", 7], s="s1", e=5, heard=false)' in out
    assert "--run FILE.py" in out


def test_steps_that_would_be_possible_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The verdict suggests a missing line, or the right action for a line."""
    late = [RUNS[0], {**RUNS[1], "p": ["n1", 9]}, {**RUNS[1], "seq": 3, "t": 3, "error": "NODE_EPOCH_EXPIRED"}]
    assert main(["conform", "ownership", write(tmp_path / "a.log", late)]) == 12
    assert "register(p=[n1,9,false]) makes the event possible, if it comes before it" in capsys.readouterr().out
    wrong = [*RUNS, {**RUNS[1], "seq": 3, "t": 3, "action": "trim", "q": 9, "post": {"end_offset": {"s1": 9}}}]
    del wrong[2]["heard"]
    wrong[2] |= {"action": "commit", "a": 9, "b": 9}
    del wrong[2]["q"], wrong[2]["e"]
    assert main(["conform", "ownership", write(tmp_path / "a.log", wrong)]) == 12
    assert "trim(p=[n1,7,false], s=s1, e=5, q=9) gives the cells of the event" in capsys.readouterr().out


def test_choices_of_each_world_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If each stream chooses its own outcome of a request, the table says that this is weaker than one run."""
    two = [*RUNS, {**RUNS[0], "seq": 3, "t": 3, "error": "?"}, {**RUNS[1], "seq": 4, "t": 4, "s": "s2"}]
    assert main(["conform", "ownership", write(tmp_path / "a.log", two)]) == 0
    chosen = "chosen by each world:   unknown outcomes, the numbers that a count goes over: weaker"
    assert chosen in capsys.readouterr().out
    assert main(["conform", "ownership", write(tmp_path / "a.log", two), "--joint", "all"]) == 0
    assert "chosen by each world" not in capsys.readouterr().out
