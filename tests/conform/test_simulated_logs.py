"""Logs of simulated clusters conform to the models, whatever the faults; edited logs and faulty code do not."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from holdfast.ir.errors import UsageError
from impl.bridge.log_models import OF_STREAMS
from tests.conform.simulated_logs import (
    Line,
    judged,
    reasons,
    renumbered,
    simulated,
    with_another_node_epoch,
    with_another_stream_epoch,
    without_an_open,
)

FAULTS = ("pause", "replace", "crash_fast", "crash_slow", "epoch_equal", "epoch_back")
Edit = Callable[[random.Random, Sequence[Line]], list[Line]]
EDITS = (without_an_open, with_another_stream_epoch, with_another_node_epoch)


def all_conform(version: str, seeds: range, folder: Path) -> Counter[str]:
    """Judge the logs of some seeds by each model; returns the number of runs with each kind of fault."""
    happened: Counter[str] = Counter()
    for seed in seeds:
        checked, lines = simulated(seed, version)
        assert not checked.violations
        happened.update({kind for kind in FAULTS if checked.run.happened.get(kind)})
        for name in OF_STREAMS[version]:
            found = judged(name, lines, folder)
            assert found.kind == "conforms", (version, seed, reasons(name, found))
            assert found.judged == found.events > 100
    return happened


@pytest.mark.parametrize("version", ["legacy", "V6"])
def test_logs_conform(version: str, tmp_path: Path) -> None:
    """The logs conform, and each kind of process fault occurs in some run."""
    assert all_conform(version, range(6), tmp_path).keys() >= {"pause", "replace", "crash_fast", "crash_slow"}


@pytest.mark.parametrize(
    ("version", "seed", "kind"),
    [
        # A recovery closes a stream that a late repetition of an open has opened once more.
        ("V6", 94, "recovery.closing:unused"),
        # Three processes overwrite each other's reservation: two old ones overwrite the newest's, and one goes on.
        ("legacy", 64, "wal.reserved.unused"),
        # A recovery commits what the next owner has trimmed meanwhile.
        ("V6", 22, "COMMIT_STREAM_SET_OBJECT:trimmed"),
        # An open is taken after the storage of its sender has failed.
        ("legacy", 270, "OPEN_STREAM:unused"),
        # The storage fails while the process shuts down, and closes its streams.
        ("V6", 209, "storage.failed"),
        # The answer to an open is heard after the storage has failed.
        ("V6", 95, "storage.failed"),
        # A dead process has sent a late request with the living process's node epoch.
        ("legacy", 225, "OPEN_STREAM:refused"),
        ("legacy", 388, "COMMIT_STREAM_SET_OBJECT:refused"),
        # An old process puts an object where a newer one has put its own.
        ("V6", 516, "wal.reserved.unused"),
    ],
)
def test_rare_ways_conform(version: str, seed: int, kind: str, tmp_path: Path) -> None:
    """Logs conform that have events found in about one log of two hundred."""
    _, lines = simulated(seed, version)
    assert kind in {line["kind"] for line in lines}
    all_conform(version, range(seed, seed + 1), tmp_path)


@pytest.mark.parametrize(("version", "seed", "name"), [("legacy", 284, "stream_log"), ("V6", 73, "fast_close")])
def test_an_unused_lease_is_not_used(version: str, seed: int, name: str, tmp_path: Path) -> None:
    """The models leave out a late repetition's renewal of a lease, yet an append under that lease is impossible."""
    _, lines = simulated(seed, version)
    place, opened = next((at, line) for at, line in enumerate(lines) if line["kind"] == "OPEN_STREAM:unused")
    end = opened["state"]["end"]
    append = {**opened, "event": "append.accepted", "kind": "append.accepted", "base": end, "end": end + 1}
    found = judged(name, renumbered([*lines[: place + 1], append, *lines[place + 1 :]]), tmp_path)
    assert found.kind == "impossible"
    assert "CL-02 refuses append" in reasons(name, found)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["legacy", "V6"])
def test_fifty_logs_conform(version: str, tmp_path: Path) -> None:
    """The logs conform, with many runs in which processes pause, are replaced, crash, or start with wrong epochs."""
    happened = all_conform(version, range(50), tmp_path)
    assert all(happened[kind] >= 12 for kind in FAULTS), happened
    assert happened["pause"] >= 25
    assert happened["replace"] >= 20


def noticed(edit: Edit, seeds: range, times: int, folder: Path) -> Counter[tuple[str, str]]:
    """The numbers of rejected and accepted edited logs for each model. An accepted edit must leave a good log."""
    found: Counter[tuple[str, str]] = Counter()
    for version, names in OF_STREAMS.items():
        for seed in seeds:
            _, lines = simulated(seed, version)
            for name in names:
                for number in range(times):
                    edited = edit(random.Random(f"{seed} {number}"), lines)
                    kind = judged(name, edited, folder).kind
                    found[name, kind] += 1
                    assert kind == "impossible" or is_sent_again(lines, edited), (name, seed, number)
    return found


def is_sent_again(lines: Sequence[Line], edited: Sequence[Line]) -> bool:
    """Whether a line was removed whose request the next line about the stream repeats.

    Such a log is right: it belongs to a run in which the first request was lost on its way.
    """
    if len(edited) == len(lines):
        return False
    place = next(number for number, line in enumerate(renumbered(lines)) if edited[number] != line)
    fields = ("event", "node", "nodeEpoch", "failover", "stream", "streamEpoch", "error", "state")
    gone = lines[place]
    later = next(line for line in lines[place + 1 :] if line.get("stream") == gone["stream"])
    return all(later.get(field) == gone[field] for field in fields)


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_edits_are_noticed(edit: Edit, tmp_path: Path) -> None:
    """The lines of an edited log are renumbered, so the model must detect the edit, and does."""
    found = noticed(edit, range(2), 2, tmp_path)
    assert found == {(name, "impossible"): 4 for names in OF_STREAMS.values() for name in names}


def test_a_missing_line_is_damage(tmp_path: Path) -> None:
    """Without renumbering, the log itself shows that a line is missing."""
    _, lines = simulated(0, "V6")
    with pytest.raises(UsageError, match="is missing"):
        judged("fast_close", lines[:40] + lines[41:], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_nearly_all_edits_are_noticed(edit: Edit, tmp_path: Path) -> None:
    """Nearly all of five edits in each of five logs are detected."""
    found = noticed(edit, range(5), 5, tmp_path)
    for name in ("ownership", "stream_log", "fast_close"):
        assert found[name, "impossible"] >= 24, found


@pytest.mark.parametrize(
    ("rule", "version", "seed", "name", "named"),
    [
        ("ST-14", "legacy", 0, "ownership", "ST-14 refuses open"),
        ("ST-14", "legacy", 0, "stream_log", "ST-14 refuses open"),
        ("ST-14", "V6", 0, "fast_close", "ST-14 refuses open"),
        ("CL-07.flag", "legacy", 0, "ownership", "CL-02 refuses append"),
        ("CL-07.wait", "legacy", 0, "stream_log", "CL-02 refuses append"),
        ("CL-08", "legacy", 0, "ownership", "CL-08 refuses send_close"),
        ("CL-08", "legacy", 0, "stream_log", "CL-08 refuses send_close"),
        ("WL-05.verify", "legacy", 14, "ownership", "WL-05 refuses append"),
        ("WL-05.verify", "legacy", 14, "stream_log", "WL-05 refuses ack"),
        ("WL-05.verify", "V6", 14, "fast_close", "WL-09 refuses put"),
        ("CK-02.epoch_old", "legacy", 67, "ownership", "CK-02.epoch_old refuses close"),
        ("CK-01.expired", "legacy", 1, "ownership", "CK-01.expired answers NODE_EPOCH_EXPIRED"),
        ("RC-05", "legacy", 0, "stream_log", "RC-05 refuses end_recovery"),
        ("PL-25", "legacy", 8, "stream_log", "PL-25 refuses trim_wal"),
        ("FO-06.barrier", "legacy", 0, "stream_log", "RC-05.reset refuses reset_wal"),
    ],
)
def test_faulty_code_is_noticed(rule: str, version: str, seed: int, name: str, named: str, tmp_path: Path) -> None:
    """If the code lacks a rule and an oracle objects, the model names the rule or a consequence of its absence."""
    checked, lines = simulated(seed, version, (rule,))
    assert checked.violations
    found = judged(name, lines, tmp_path)
    assert found.kind == "impossible"
    assert named in reasons(name, found)
