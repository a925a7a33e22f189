"""The run that explains a log exists for every judged log, and can be replayed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.check.conform.answer.run import lines_of
from holdfast.cli.app import main
from tests.conform.walked_logs import Line, judged_log, lines, system

MODELS = ("ownership", "fast_close", "reassignment", "route_epoch")
HEADER: Line = {"holdfast": "log", "version": 1, "literals": {"NodeEpoch": {"1": 7}}}
P = ["n1", 7]


def event(seq: int, action: str, source: str = "a", t: object = None, **more: object) -> Line:
    """A line."""
    return {"source": source, "seq": seq, "t": seq if t is None else t, "action": action, **more}


OPENED = [
    HEADER,
    event(1, "register", p=P),
    event(2, "reserve", p=P),
    event(3, "open", p=P, s="s1", e=5, heard=True),
]


def steps(log: list[Line], path: Path, model: str = "ownership", **options: object) -> list[str]:
    """The steps of the run that explains a log, after ``replay`` has followed it to its end."""
    command = said(log, path, model, **options)[-1]
    assert command.startswith("replay: holdfast replay '"), command
    line = command.split("'")[1]
    assert main(["replay", line]) == 0
    return line.split(" -: ")[1].split()


def said(log: list[Line], path: Path, model: str = "ownership", **options: object) -> tuple[str, ...]:
    """The output about the run."""
    with judged_log(model, log, path / "a.log", **options) as (opened, judgement):
        return lines_of(system(model), opened, judgement, path / "explained.py", lambda _: None)


@pytest.mark.parametrize(
    "model", [pytest.param(each, marks=pytest.mark.slow) if each == "fast_close" else each for each in MODELS]
)
@pytest.mark.parametrize("sources", [1, 3])
def test_a_log_that_conforms_has_a_run(model: str, sources: int, tmp_path: Path) -> None:
    """The run has exactly the log's taken steps, of all streams together, in any valid order."""
    log = lines(model, 3, 120, sources=sources)
    found = steps(log, tmp_path, model)
    taken = [line["action"] for line in log[1:] if "error" not in line]
    assert sorted(step.split("(")[0] for step in found if not step.startswith("init")) == sorted(taken)
    if sources == 1:
        assert [step.split("(")[0] for step in found if not step.startswith("init")] == taken


def test_an_impossible_log_has_the_run_before(tmp_path: Path) -> None:
    """The run has the events before the impossible one, and no others."""
    log = [*OPENED, event(4, "open", p=P, s="s1", e=4, heard=False)]
    assert steps(log, tmp_path) == ["init(False)", "register(p1)", "reserve(p1)", "open(p1,s1,1,True)"]


def test_an_impossible_log_of_several_sources(tmp_path: Path) -> None:
    """With several sources, the run goes as far as the best order."""
    log = [
        HEADER,
        event(1, "register", t=[1, 9], p=P),
        event(1, "reserve", "b", t=[1, 9], p=P),
        event(2, "open", "b", t=[11, 12], p=P, s="s1", e=5, heard=True),
        event(3, "open", "b", t=[13, 14], p=P, s="s1", e=4, heard=False),
    ]
    found = steps(log, tmp_path)
    assert sorted(found[1:3]) == ["register(p1)", "reserve(p1)"]
    assert found[3:] == ["open(p1,s1,1,True)"]


def test_a_hidden_step_is_a_step_of_the_run(tmp_path: Path) -> None:
    """A hidden step is part of the run, before the event that needs it."""
    log = [HEADER, event(1, "register", p=P), event(2, "register", p=["n1", 9])]
    log.append(event(3, "open", p=["n1", 9], s="s1", e=5, heard=True))
    found = steps(log, tmp_path, hidden=("reserve",))
    assert found[-3:] == ["register(p2)", "reserve(p2)", "open(p2,s1,1,True)"]


def test_a_span_is_a_step_for_each_number_within(tmp_path: Path) -> None:
    """A span is one step for each mentioned number in it, even if the log mentions the number later."""
    log = [
        *OPENED,
        event(4, "append", p=P, s="s1", span=[0, 100]),
        event(5, "commit", p=P, s="s1", a=0, b=40),
        event(6, "commit", p=P, s="s1", a=40, b=100),
    ]
    assert steps(log, tmp_path)[4:] == ["append(p1,s1)", "append(p1,s1)", "commit(p1,s1,0,1)", "commit(p1,s1,1,2)"]


def test_a_count_over_later_numbers_is_several_steps(tmp_path: Path) -> None:
    """One append leads to 100, and the log mentions 40 later, so the run has two steps."""
    log = [
        *OPENED,
        event(4, "append", p=P, s="s1", post={"next_offset": {'["n1",7]': {"s1": 100}}}),
        event(5, "commit", p=P, s="s1", a=0, b=40),
    ]
    assert steps(log, tmp_path)[4:] == ["append(p1,s1)", "append(p1,s1)", "commit(p1,s1,0,1)"]


def test_an_unknown_outcome_is_a_step_if_it_was_needed(tmp_path: Path) -> None:
    """A request with an unknown outcome is a step of the run if later events need it."""
    log = [HEADER, event(1, "register", p=P), event(2, "open", p=P, s="s1", e=5, heard=False, error="?")]
    closed = [*log, event(3, "delete", s="s1", error="STREAM_NOT_CLOSED")]
    assert "open(p1,s1,1,False)" in steps(closed, tmp_path)
    deleted = [*log, event(3, "delete", s="s1")]
    (tmp_path / "other").mkdir()
    assert "open(p1,s1,1,False)" not in steps(deleted, tmp_path / "other")


def test_each_stream_is_explained_where_all_together_are_not(tmp_path: Path) -> None:
    """If streams chose different outcomes, no run explains all; each stream has its own run, and the output says so."""
    log = [
        HEADER,
        event(1, "register", p=P),
        event(2, "register", p=["n1", 9], error="?"),
        event(3, "open", p=P, s="s1", e=5, heard=False),
        event(4, "open", p=P, s="s2", e=5, heard=False, error="NODE_EPOCH_EXPIRED"),
    ]
    with judged_log("ownership", log, tmp_path / "a.log") as (_, judgement):
        assert (judgement.kind, judgement.apart[0]) == ("conforms", "unknown outcomes")
    with judged_log("ownership", log, tmp_path / "a.log", joint=0) as (_, judgement):
        assert judgement.kind == "impossible"
    reason, *found = said(log, tmp_path)
    assert re.fullmatch(r"No run of all Streams together: no run explains .*a\.log:5; judge with --joint all\.", reason)
    assert found[::2] == [f"A run of Ownership for Stream {s} explains 4 events:" for s in ("s1", "s2")]
    for line in found[1::2]:
        assert main(["replay", line.split("'")[1]]) == 0
    assert found[1].endswith("register(p1) open(p1,s1,1,False)'")
    assert found[3].endswith("register(p1) register(p2)'")
    (tmp_path / "one").mkdir()
    assert steps(log, tmp_path / "one", streams=("s1",))[-1] == "open(p1,s1,1,False)"


def test_the_run_is_the_same_in_every_process(tmp_path: Path) -> None:
    """Two processes with different hash seeds print the same run."""
    log = tmp_path / "a.log"
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines("ownership", 2, 60, sources=3)))
    found = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-m", "holdfast", "conform", "ownership", log, "--run", tmp_path / "explained.py"],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert "replay: " in done.stdout
        found.add(done.stdout)
    assert len(found) == 1


def test_no_other_file_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that ``conform`` did not write is not overwritten, such as a user's own model."""
    log = tmp_path / "a.log"
    log.write_text("".join(f"{json.dumps(line)}\n" for line in OPENED))
    mine = tmp_path / "mine.py"
    mine.write_text("MINE = 1\n")
    assert main(["conform", "ownership", str(log), "--run", str(mine)]) == 2
    assert "is no model of a run" in capsys.readouterr().err
    assert mine.read_text() == "MINE = 1\n"
    assert main(["conform", "ownership", str(log), "--run", str(tmp_path / "run.txt")]) == 2
    assert "ends in .py" in capsys.readouterr().err
    for _ in range(2):
        assert main(["conform", "ownership", str(log), "--run", str(tmp_path / "own.py")]) == 0
