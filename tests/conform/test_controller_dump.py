"""Dumps of ``impl``'s controller conform; faulty controllers and edited dumps are detected if a dump shows it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from holdfast.check.budget import Budget, Meter
from holdfast.check.conform.answer.verdict import headline, verdict_of
from holdfast.check.conform.dump_log import DumpLog
from holdfast.check.conform.judge.judge import Judgement, judge
from holdfast.check.conform.judge.setup import JudgeOptions
from holdfast.check.conform.mappings.mapping_file import read_mapping
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from impl import records as r
from impl.controller.streams import close_stream, create_stream, open_stream
from impl.metadata.dump import write_dump
from impl.metadata.log import MetadataBatch
from impl.metadata.snapshot import snapshot as records_of
from impl.rules import without
from tests.conform.controller_dump import Controller
from tests.conform.dump_edits import changed, moved, removed
from tests.conform.printed_dump import snapshot

MAPPING = read_mapping(Path("automq-metadata"))
TABLES = compile_model(load_model("controller_tables"))


def judged(folder: Path, *texts: str, joint: int | None = None) -> Judgement:
    """The answer on dumps, each in a file of its own."""
    paths = [folder / f"{place}.txt" for place in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    with DumpLog([str(path) for path in paths], MAPPING) as log:
        found = judge(TABLES, log, {}, JudgeOptions(joint=joint), Meter(Budget(), lambda now: None))
        log.conclude(found)
    return found


def printed(batches: Iterable[MetadataBatch], begin: int = 0) -> str:
    """The dump of batches."""
    return "\n".join([*write_dump(batches, begin), ""])


# Good dumps ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_what_the_controller_writes_conforms(tmp_path: Path, seed: int) -> None:
    """A dump of 500 operations conforms; the refused requests include every error."""
    controller = Controller(seed).operations(500)
    found = judged(tmp_path, controller.text())
    assert (found.kind, found.judged) == ("conforms", found.events), found.reason
    assert found.tally.peak <= len(TABLES.sorts) * 4
    assert controller.answers >= {"NONE", "STREAM_FENCED", "STREAM_NOT_CLOSED", "NODE_FENCED", "OFFSET_NOT_MATCHED"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_ten_thousand_operations_conform(tmp_path: Path, seed: int) -> None:
    """A dump with more streams than can be judged together conforms."""
    found = judged(tmp_path, Controller(seed, nodes=8, streams=40).operations(10_000).text())
    assert (found.kind, found.judged) == ("conforms", found.events), found.reason


def test_streams_are_judged_one_at_a_time_or_together(tmp_path: Path) -> None:
    """Judging a good dump one stream at a time, which is the default, or all streams together gives the same answer."""
    text = Controller(9, streams=3).operations(150).text()
    apart, together = judged(tmp_path, text), judged(tmp_path, text, joint=0)
    assert (apart.kind, together.kind, together.worlds) == ("conforms", "conforms", 1)
    assert apart.worlds == apart.streams > 1
    assert apart.together is None


def test_every_operation_of_the_mapping_is_met(tmp_path: Path) -> None:
    """The dumps contain every operation of the mapping, so a wrong one cannot stay unnoticed."""
    met: Counter[str] = Counter()
    for seed in range(6):
        (tmp_path / "d.txt").write_text(Controller(seed).operations(400).text(), encoding="utf-8")
        with DumpLog([str(tmp_path / "d.txt")], MAPPING) as log:
            log.survey(lambda event: None)
            met.update(log.operations)
    assert MAPPING.records is not None
    assert {operation.name for operation in MAPPING.records.operations} == set(met)


@pytest.mark.parametrize("seed", range(3))
def test_a_dump_may_begin_with_a_snapshot(tmp_path: Path, seed: int) -> None:
    """A snapshot sets the tables, even if a stream's records stand in two of its batches."""
    controller = Controller(seed).operations(200)
    batches, state = len(controller.batches), records_of(controller.image)
    end = sum(len(each.records) for each in controller.batches)
    rest = printed(controller.operations(500).batches[batches:], end)
    half = len(state) // 2
    first, second = (
        list(write_dump([MetadataBatch(part)], at)) for part, at in ((state[:half], 1), (state[half:], 1 + half))
    )
    found = judged(tmp_path, rest, snapshot(end, first, second))
    assert found.kind == "conforms", found.reason
    assert found.seen["(state)"] > 5
    alone = judged(tmp_path, rest)
    assert alone.kind == "unknown"
    assert f"the log begins at offset {end}, and what was before is not known" in str(alone.reason)
    late = judged(tmp_path, printed(controller.batches[:3]), snapshot(end, first, second), rest)
    assert late.kind == "unknown"
    assert "segments are missing before it" in str(late.reason)


def test_a_snapshot_is_believed(tmp_path: Path) -> None:
    """The snapshot is trusted: with another owner in it, the log after it is impossible."""
    controller = Controller(0)
    epoch = controller.image.nodes[1].epoch
    controller.run(create_stream, 1, epoch)
    controller.run(open_stream, 1, epoch, 0, 3)
    state, batches = records_of(controller.image), len(controller.batches)
    end = sum(len(each.records) for each in controller.batches)
    controller.run(close_stream, 1, epoch, 0, 3, 5)
    rest = printed(controller.batches[batches:], end)
    good = list(write_dump([MetadataBatch(state)], 1))
    assert judged(tmp_path, snapshot(end, good), rest).kind == "conforms"
    bad = [line.replace('"nodeId":1', '"nodeId":2') if '"RANGE_RECORD' in line else line for line in good]
    assert bad != good
    assert judged(tmp_path, snapshot(end, bad), rest).kind == "impossible"


def test_the_verdict_says_what_no_dump_shows(tmp_path: Path) -> None:
    """The verdict has the mapping's sentences about unseen facts, and the number of records outside the model."""
    found = judged(tmp_path, Controller(0).operations(50).text())
    assert "records were divided into operations" in found.notes[0]
    assert "S3_OBJECT_RECORD" in found.notes[0]
    assert [text for text in found.notes if "CK-01" in text and "not judged" in text]


# Faulty controllers -------------------------------------------------------------------------------------------------

SEEN = (
    *("ST-12", "ST-14", "ST-15", "ST-22", "ST-23", "ST-17.seal", "ST-33", "ST-34", "ST-35", "ST-37.entry"),
    *("ST-37.end", "ST-41", "ST-42", "ST-44.lift", "ST-44.current", "ST-44.stop", "ST-44.remove", "ST-51"),
    *("CK-01.flag", "CK-02.node", "ND-01", "CS-06", "CS-22", "CS-26", "CS-28", "CS-30", "CS-35"),
)
"""Rules of the controller whose absence shows in a dump."""

UNSEEN = ("CK-01.expired", "CK-02.epoch_new", "CS-25", "CS-29a", "CS-29b")
"""Rules about facts that no dump shows: node and stream epochs of requests, and the begin of a committed range."""


@pytest.mark.parametrize("label", SEEN)
def test_a_controller_without_a_rule_is_caught(tmp_path: Path, label: str) -> None:
    """The answer names the offset of the impossible record, or of records that form no operation."""
    for seed in range(12):
        with without(label):
            text = Controller(seed).operations(400).text()
        found = judged(tmp_path, text)
        if found.kind == "impossible":
            assert "(offset " in headline(verdict_of(TABLES, found))
            return
    pytest.fail(f"no dump of a controller without {label} is impossible")


@pytest.mark.parametrize("label", UNSEEN)
def test_what_a_dump_does_not_show_is_not_judged(tmp_path: Path, label: str) -> None:
    """A controller without a rule that no dump shows conforms; the verdict says that the rule was not judged."""
    with without(label):
        text = Controller(1).operations(300).text()
    found = judged(tmp_path, text)
    assert found.kind in ("conforms", "impossible")
    if label in ("CK-01.expired", "CS-25", "CS-29a"):
        assert any(label.partition(".")[0].rstrip("ab") in text for text in found.notes)


def test_the_rule_that_refuses_is_named(tmp_path: Path) -> None:
    """A second owner before the first has closed is refused by ST-14, at the record of the open."""
    with without("ST-14"):
        controller = Controller(0).operations(200)
    found = judged(tmp_path, controller.text())
    verdict = verdict_of(TABLES, found)
    assert verdict.candidates[0].text.startswith("ST-14 refuses open with STREAM_NOT_CLOSED")
    assert found.facts is not None
    offset = found.facts.event.offset
    records = [record for batch in controller.batches for record in batch.records]
    assert offset is not None
    assert isinstance(records[offset], r.S3Stream)
    assert f"(offset {offset})" in headline(verdict)


# Edited dumps -------------------------------------------------------------------------------------------------------

ALWAYS = {
    ("removed", "ASSIGNED_STREAM_ID_RECORD"),
    *(("changed", "S3_STREAM_RECORD", name) for name in ("streamId", "epoch", "rangeIndex", "startOffset")),
    ("changed", "S3_STREAM_RECORD", "streamState"),
    *(("changed", "RANGE_RECORD", name) for name in ("streamId", "startOffset")),
    ("changed", "REMOVE_RANGE_RECORD", "streamId"),
    ("changed", "ASSIGNED_STREAM_ID_RECORD", "assignedStreamId"),
}
"""Edits that are always detected."""

NEVER = {
    ("removed", "REMOVE_RANGE_RECORD"),  # which old ranges go is not modelled (ST-18)
    ("changed", "REMOVE_RANGE_RECORD", "rangeIndex"),
    ("removed", "S3_STREAM_OBJECT_RECORD"),  # objects are not modelled, but for their ends
    *(("changed", "S3_STREAM_OBJECT_RECORD", name) for name in ("objectId", "startOffset")),
    *(("changed", "S3_STREAM_SET_OBJECT_RECORD", name) for name in ("objectId", "orderId", "dataTimeInMs")),
    ("changed", "REMOVE_STREAM_SET_OBJECT_RECORD", "objectId"),
}
"""Edits that no dump shows."""


def test_edits_are_seen_but_for_those_that_no_dump_shows(tmp_path: Path) -> None:
    """Edits are always, never or sometimes detected, as the page's table says."""
    found = edited(tmp_path, seed=1, count=40)
    assert found["seen"] > found["unseen"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 4))
def test_many_edits(tmp_path: Path, seed: int) -> None:
    """The same table holds for many more edits."""
    edited(tmp_path, seed=seed, count=100)


def edited(folder: Path, seed: int, count: int) -> Counter[str]:
    """Judge edited dumps; returns how many were detected and how many were not."""
    draw = random.Random(seed)
    batches = Controller(seed).operations(150).batches
    assert MAPPING.records is not None
    used = MAPPING.records.types
    found: Counter[str] = Counter()
    for _ in range(count):
        for edit in (removed, changed, moved):
            name, after = edit(draw, batches, used)
            if after == batches:
                continue
            answer = judged(folder, printed(after))
            assert answer.kind in ("conforms", "impossible"), (name, answer.reason)
            assert answer.kind == "impossible" or name not in ALWAYS, name
            assert answer.kind == "conforms" or name not in NEVER, name
            if answer.kind == "impossible":
                assert "(offset " in headline(verdict_of(TABLES, answer))
            found["seen" if answer.kind == "impossible" else "unseen"] += 1
    return found
