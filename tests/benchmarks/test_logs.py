"""The benchmark of campaigns over logs: its edits are found, and nothing else."""

from __future__ import annotations

import attrs
import pytest

from benchmarks.logs import WrittenLogs, judged, lines, write_logs


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> WrittenLogs:
    """A few short logs."""
    return write_logs(tmp_path_factory.mktemp("logs"), logs=12, recorded=3, operations=50)


def test_copies_and_edits_are_logs(written: WrittenLogs) -> None:
    """Copies are equal but for six edits, three of each kind, and have names of their own."""
    texts = {path.name: path.read_bytes() for path in written.folder.iterdir()}
    assert len(texts) == 12
    assert sorted(written.wrong.values()) == ["damaged"] * 3 + ["impossible"] * 3
    assert len({text for name, text in texts.items() if name not in written.wrong}) == 3
    assert len({texts[name] for name in written.wrong}) == 6


def test_the_six_are_named(written: WrittenLogs) -> None:
    """The six wrong logs are the findings, and the events of all logs are counted."""
    found = judged(written)
    assert (found.logs, found.recorded) == (12, 3)
    assert all(events > 500 for events in found.events)
    assert "six" in next(lines(found))


@pytest.mark.parametrize("kind", ["damaged", "impossible"])
def test_a_log_that_is_not_found_fails_the_benchmark(written: WrittenLogs, kind: str) -> None:
    """No rate is given if a good log is said to be wrong, or a wrong one to be good."""
    name = next(name for name, each in sorted(written.wrong.items()) if each == kind)
    fewer = {other: each for other, each in written.wrong.items() if other != name}
    with pytest.raises(RuntimeError, match=name):
        judged(attrs.evolve(written, wrong=fewer))
    good = next(path.name for path in sorted(written.folder.iterdir()) if path.name not in written.wrong)
    with pytest.raises(RuntimeError, match=good):
        judged(attrs.evolve(written, wrong={**written.wrong, good: kind}))
