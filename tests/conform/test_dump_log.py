"""Dumps on the command line: exit codes, files, standard input, and records that do not fit."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from holdfast.cli.app import main
from impl.metadata.dump import write_dump
from tests.conform.controller_dump import Controller
from tests.conform.printed_dump import FEATURE, LEADER, batch, bootstrap, payload, segment

NODE = payload("NODE_WALMETADATA_RECORD", 0, '{"nodeId":1,"nodeEpoch":1000,"failoverMode":false}')
ID = payload("ASSIGNED_STREAM_ID_RECORD", 0, '{"assignedStreamId":0}')
CREATED = payload(
    "S3_STREAM_RECORD", 1, '{"streamId":0,"epoch":-1,"rangeIndex":-1,"startOffset":0,"streamState":0,"tags":[]}'
)


def stream(epoch: int, index: int, state: int) -> str:
    """The record of stream 0."""
    fields = {"streamId": 0, "epoch": epoch, "rangeIndex": index, "startOffset": 0, "streamState": state}
    return payload("S3_STREAM_RECORD", 1, json.dumps(fields))


def range_of(epoch: int, index: int, node: int = 1) -> str:
    """The record of an empty range of stream 0."""
    fields = {"streamId": 0, "epoch": epoch, "rangeIndex": index, "startOffset": 0, "endOffset": 0, "nodeId": node}
    return payload("RANGE_RECORD", 0, json.dumps(fields))


OPENED = [LEADER, batch(1, FEATURE, NODE), batch(3, ID, CREATED), batch(5, stream(3, 0, 1), range_of(3, 0))]
"""Offsets 0 to 6: node 1 registers, and opens stream 0 under epoch 3."""


def conform(path: Path, *texts: str, more: tuple[str, ...] = ()) -> int:
    """The exit code for dumps, each in a file of its own."""
    paths = [path / f"{place}.txt" for place in range(len(texts))]
    for each, text in zip(paths, texts, strict=True):
        each.write_text(text, encoding="utf-8")
    return main(["conform", "controller_tables", *map(str, paths), "--map", "automq-metadata", *more])


def test_a_dump_conforms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The verdict counts the records of Kafka, without the quorum's."""
    assert conform(tmp_path, segment(0, *OPENED)) == 0
    text = capsys.readouterr().out
    assert "conforms: ControllerTables allows all 3 events" in text
    assert "5 records were divided into operations; not about the model: 1 (FEATURE_LEVEL_RECORD 1)" in text
    assert "requests that the controller refused" in text


def test_files_may_be_named_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files may be given in any order, standard input among them."""
    late = segment(7, batch(7, stream(3, 0, 0)))
    assert conform(tmp_path, late, segment(0, *OPENED), bootstrap(batch(0, FEATURE))) == 0
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(segment(0, *OPENED).encode())))
    assert conform(tmp_path, late, more=("-",)) == 0
    assert conform(tmp_path, late) == 20


def test_a_second_owner_is_impossible(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second owner is impossible, and the verdict names the guard and the record's offset."""
    log = segment(0, *OPENED, batch(7, stream(4, 1, 1), range_of(3, 0), range_of(4, 1)))
    assert conform(tmp_path, log) == 12
    text = capsys.readouterr().out
    assert "(offset 7), open(s=0, e=5, n=1)" in text
    assert "ST-14 refuses open with STREAM_NOT_CLOSED" in text
    assert conform(tmp_path, log, more=("--json",)) == 12
    assert json.loads(capsys.readouterr().out)["line"]["offset"] == 7


def test_records_that_are_no_operation_are_impossible(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Records that form no operation are impossible, not damaged; the offset and each operation's problem are named."""
    log = segment(0, *OPENED, batch(7, stream(3, 0, 0)), batch(8, range_of(3, 0)))
    assert conform(tmp_path, log) == 12
    text = capsys.readouterr().out
    assert "0.txt:17 (offset 8) are no operation of" in text
    assert "no operation begins with a RANGE_RECORD" in text
    assert "fast_close" not in text.splitlines()[0]
    assert conform(tmp_path, segment(0, *OPENED, batch(7, stream(4, 2, 1), range_of(3, 1), range_of(4, 2)))) == 12
    assert "rangeIndex is 2, and last.rangeIndex? + 1 is 1" in capsys.readouterr().out


def test_an_earlier_event_that_is_impossible_comes_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An impossible event before the records that do not fit is reported first."""
    log = segment(0, *OPENED, batch(7, stream(4, 1, 1), range_of(3, 0), range_of(4, 1)), batch(10, range_of(3, 0)))
    assert conform(tmp_path, log) == 12
    assert "(offset 7)" in capsys.readouterr().out.splitlines()[0]


def test_a_value_that_no_model_has_is_impossible(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An epoch below -1 is impossible; a text in its place means a wrong mapping or a damaged dump."""
    log = segment(0, *OPENED, batch(7, stream(-5, 1, 1), range_of(3, 0), range_of(-5, 1)))
    assert conform(tmp_path, log) == 12
    assert "(offset 7) are no operation" in capsys.readouterr().out
    text = log.replace('"nodeEpoch":1000', '"nodeEpoch":"x"')
    assert conform(tmp_path, text) == 2
    assert 'e is "x"; it is a number of NodeEpoch' in capsys.readouterr().err


def test_a_dump_is_read_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A dump is read to its end even after records that do not fit, since a damaged dump proves nothing."""
    log = segment(0, *OPENED, batch(7, range_of(3, 0)), batch(9, range_of(3, 0)))
    assert conform(tmp_path, log) == 2
    assert "8 is missing" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["S3_STREAMS_RECORD", "ABORT_TRANSACTION_RECORD", "REMOVE_NODE_WALMETADATA_RECORD"])
def test_a_record_that_the_mapping_does_not_know_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    """A record that the mapping does not know is named and nothing is judged: it may change other records' meaning."""
    assert conform(tmp_path, segment(0, *OPENED, batch(7, payload(kind, 0, "{}")))) == 2
    said = capsys.readouterr().err
    assert f"0.txt:15: {kind} at offset 7 is neither in records nor in ignore of" in said
    assert said.count("\n") == 1


def test_a_dump_without_operations_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A dump without operations is refused, since it would always conform."""
    assert conform(tmp_path, segment(0, LEADER, batch(1, FEATURE))) == 2
    assert "no record says anything about the model" in capsys.readouterr().err


def test_the_names_of_a_mapping_are_checked_before_the_dump(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong name in a mapping is reported with its line before the dump is opened."""
    assert main(["conform", "ownership", str(tmp_path / "none.txt"), "--map", "automq-metadata"]) == 2
    said = capsys.readouterr().err
    assert "automq-metadata.yaml:" in said
    assert said.count("\n") == 1


def test_the_begin_of_a_dump_has_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run that explains the log before the impossible record can be replayed."""
    text = "\n".join([*write_dump(Controller(0, streams=2).operations(30).batches), ""])
    assert conform(tmp_path, text, more=("--run", str(tmp_path / "prefix.py"))) == 0
    out = capsys.readouterr().out
    line = next(line for line in out.splitlines() if line.startswith("replay: "))
    assert main(["replay", line.split("'")[1]]) == 0


def test_records_that_do_not_fit_have_a_run_before_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run to the records that are no operation is written and can be replayed, and the log stays impossible."""
    log = segment(0, *OPENED, batch(7, stream(3, 0, 0)), batch(8, range_of(3, 0)))
    assert conform(tmp_path, log, more=("--run", str(tmp_path / "prefix.py"))) == 12
    out = capsys.readouterr().out
    line = next(line for line in out.splitlines() if line.startswith("replay: "))
    assert main(["replay", line.split("'")[1]]) == 0
    assert "close(s=s1" in capsys.readouterr().out


def test_only_a_snapshot_sets_the_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In our own format a line that looks like a snapshot's is damaged."""
    line = {"source": "a", "seq": 1, "t": 1, "action": "(state)", "post": {"exists": {"s": True}}}
    (tmp_path / "a.log").write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert main(["conform", "controller_tables", str(tmp_path / "a.log")]) == 2
    assert 'action is "(state)"' in capsys.readouterr().err
