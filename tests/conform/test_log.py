"""Reading logs."""

from __future__ import annotations

import io
import json
import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.check.conform.logs.events import UNKNOWN, LogEvent
from holdfast.check.conform.logs.log import Log
from holdfast.check.conform.logs.own_format import Header
from holdfast.check.conform.mappings.mapping_file import mapping_of
from holdfast.ir.errors import Place, UsageError
from tests.conform import foreign_log
from tests.conform.log_lines import HEADER, MIB, line, lines, problem, raw, survey


def test_an_event_has_what_its_line_says(file: Callable[..., str]) -> None:
    """Every key of a line becomes a part of the event, and an unreserved key becomes an argument."""
    path = file(
        lines(
            line("b", 1, 5),
            line("a", 1, [5, 9], cause=["b", 1], error="?", span=[3, 7], pre={"x": 1}, post={"y": {"s1": 2}}, p=[1, 7]),
            line("a", 2, 9, error="FENCED", s="s1", heard=True, e=None),
        )
    )
    first, second, third = survey(path)
    assert first == LogEvent(Place(path, 1), "b", 1, 5, 5, None, "open", {})
    assert second == LogEvent(
        Place(path, 2), "a", 1, 5, 9, ("b", 1), "open", {"p": [1, 7]}, UNKNOWN, (3, 7), {"x": 1}, {"y": {"s1": 2}}
    )
    assert third == LogEvent(
        Place(path, 3), "a", 2, 9, 9, None, "open", {"s": "s1", "heard": True, "e": None}, "FENCED"
    )


def test_null_stands_for_an_optional_key_that_is_not_there(file: Callable[..., str]) -> None:
    """A null stands for a missing optional key, for writers that write every key."""
    nulls = dict.fromkeys(("cause", "error", "span", "pre", "post"))
    assert survey(file(lines(line(**nulls)), "b.log"))[0].args == {}
    assert survey(file(lines(line(**nulls))))[0] == survey(file(lines(line())))[0]


def test_the_events_of_a_source_are_read_by_their_places(file: Callable[..., str]) -> None:
    """After the survey each source's events come in order, however sources are interleaved and split into files."""
    rng = random.Random(4)
    counts: dict[str, int] = {}
    files: list[str] = []
    for part in range(3):
        texts = []
        for _ in range(200):
            source = rng.choice("abcde")
            counts[source] = counts.get(source, 0) + 1
            texts.append(line(source, counts[source], len(texts) + 1000 * part, note="é" * rng.randrange(40)))
        files.append(file("\n\n".join(texts), f"{part}.log"))
    with Log(files) as log:
        seen: list[LogEvent] = []
        log.survey(seen.append)
        assert log.sources == tuple(dict.fromkeys(event.source for event in seen))
        iterators = {source: log.events_of(source) for source in log.sources}
        found: dict[str, list[LogEvent]] = {source: [] for source in log.sources}
        for source in (source for _ in range(max(counts.values())) for source in iterators):
            found[source] += [event for event in [next(iterators[source], None)] if event]
        for source in log.sources:
            assert found[source] == [event for event in seen if event.source == source]
            assert [event.number for event in found[source]] == list(range(1, log.count(source) + 1))


def test_a_header_names_model_variants_and_literals(file: Callable[..., str]) -> None:
    """The header is known before the survey, and is no event."""
    header = {"holdfast": "log", "version": 1, "model": "m", "variants": ["v"], "literals": {"E": {"1": 1000}}}
    path = file(lines(json.dumps(header), line()))
    with Log([path]) as log:
        assert log.header == Header(Place(path, 1), "m", ("v",), {"E": {1: 1000}})
    assert len(survey(path)) == 1
    with Log([file(lines(line()), "none.log")]) as log:
        assert log.header is None


def test_every_file_may_have_the_header(file: Callable[..., str]) -> None:
    """Further files of a log may repeat the first file's header, but may have no other header."""
    first = file(lines(HEADER, line()), "1.log")
    assert len(survey(first, file(lines(HEADER, line(seq=2)), "2.log"))) == 2
    other = file(lines('{"holdfast": "log", "version": 1, "model": "x"}', line(seq=2)), "3.log")
    assert problem(first, other).startswith(f"{other}:1: the header differs from that of {first};")
    bare = file(lines(line()), "4.log")
    assert "the header differs" in problem(bare, file(lines(HEADER, line(seq=2)), "5.log"))


def test_causes_may_stand_later_in_the_files(file: Callable[..., str]) -> None:
    """A cause may stand in a later file, since a log often has one file for each source."""
    one = file(lines(line("a", 1, [1, 9], cause=["b", 2])), "a.log")
    two = file(lines(line("b", 1, 1), line("b", 2, 5), line("b", 3, 9, cause=["a", 1])), "b.log")
    assert [event.cause for event in survey(one, two)] == [("b", 2), None, None, ("a", 1)]


def test_many_causes_in_both_directions_are_in_order(file: Callable[..., str]) -> None:
    """With one file for each source, the causes of a run are accepted, and a reversed cause is found."""
    rng = random.Random(7)
    order = [rng.choice("abcd") for _ in range(400)]
    counts = dict.fromkeys("abcd", 0)
    texts: dict[str, list[dict[str, Any]]] = {source: [] for source in "abcd"}
    done: list[tuple[str, int]] = []
    for source in order:
        counts[source] += 1
        more = {"cause": rng.choice(done)} if done and rng.random() < 0.6 else {}
        texts[source].append({"source": source, "seq": counts[source], "t": [0, 9], "action": "x", **more})
        done.append((source, counts[source]))

    def write() -> list[str]:
        return [file(lines(*map(json.dumps, texts[source])), f"{source}.log") for source in "dbca"]

    assert len(survey(*write())) == 400
    first, last = done[0], next(each for each in reversed(done) if each[0] != done[0][0])
    texts[first[0]][0]["cause"] = last
    texts[last[0]][last[1] - 1]["cause"] = first
    assert "the causes go round" in problem(*write())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\ufeff" + lines(line()), id="a byte order mark"),
        pytest.param(lines("\ufeff" + HEADER, line()), id="a byte order mark before the header"),
        pytest.param(line() + "\r\n", id="CRLF"),
        pytest.param(line(), id="no line end"),
        pytest.param(f"\n  \r\n{line()}\n\n", id="blank lines"),
        pytest.param(f"  \t{line()}  \t\n", id="spaces around"),
        pytest.param(line().replace(":", " :\t"), id="spaces within"),
        pytest.param(line() + " " * (MIB - len(line())) + "\r\n", id="exactly 1 MiB"),
        pytest.param(lines(raw('"x": "\u2028\u0085"')), id="line ends of Unicode"),
        pytest.param(lines(raw('"x": "\\ud83d\\ude00"')), id="a surrogate pair"),
        pytest.param(lines(raw('"x": "a\\nb\\u0000"')), id="escapes"),
        pytest.param(lines(raw('"x": 1e3, "y": -0.0, "z": 1E-400')), id="floats"),
        pytest.param(lines(raw('"x": ' + "[" * 31 + "]" * 31)), id="32 levels"),
        pytest.param(lines(raw('"x": [' + "[],{}," * 50 + "0]")), id="many brackets"),
        pytest.param(lines(line(t=-(2**62))), id="a time before the clock's zero"),
        pytest.param(lines(line(t=2**63 - 1)), id="the last time"),
        pytest.param(lines(line(t=[1, 1])), id="an instant as a pair"),
        pytest.param(lines(line(span=[4, 4])), id="an empty span"),
        pytest.param(lines(raw('"\\u0073ource2": 1')), id="a key with an escape"),
        pytest.param(lines(line(Seq=1, T=2)), id="keys are case-sensitive"),
        pytest.param(lines(line(**{"": 1, "a.b": 2, "-": 3})), id="odd names of arguments"),
    ],
)
def test_logs_that_only_look_wrong_are_read(file: Callable[..., str], text: str) -> None:
    """Lines with unusual but valid JSON are read."""
    path = file(text)
    with Log([path]) as log:
        seen: list[LogEvent] = []
        log.survey(seen.append)
        assert list(log.events_of("a")) == seen
    assert [event.source for event in seen] == ["a"]


def test_large_numbers_and_names_in_unicode_are_kept(file: Callable[..., str]) -> None:
    """Integers of any size and all Unicode letters are kept."""
    (event,) = survey(file(lines(line("brøker-Ω", x=2**63, y=-(2**70), span=[2**63, 2**64], größe="中"))))
    assert (event.source, event.span) == ("brøker-Ω", (2**63, 2**64))
    assert event.args == {"x": 2**63, "y": -(2**70), "größe": "中"}


def test_files_that_cannot_be_read_are_one_line(file: Callable[..., str], tmp_path: Path) -> None:
    """A missing file, a folder, an impossible name and no name at all are usage errors."""
    assert "No such file" in problem(file(lines(line())), str(tmp_path / "no.log"))
    for path, words in (
        (tmp_path / "no.log", "No such file"),
        (tmp_path, "is a folder"),
        (tmp_path / "a\0b", "null byte"),
    ):
        assert words in problem(str(path))
    assert "no log is given" in problem()
    assert "given twice" in problem("-", "-")


def test_a_file_that_is_given_twice_repeats_its_events(file: Callable[..., str]) -> None:
    """A file given twice is damage, since its events are repeated."""
    path = file(lines(line()))
    assert problem(path, path).startswith(f"{path}:1: seq 1 of")


def test_standard_input_is_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is stored, so that each source's events can be read after the survey."""

    class Input:
        buffer = io.BytesIO(lines(HEADER, line(), line("b"), line(seq=2)).encode())

    monkeypatch.setattr("sys.stdin", Input)
    with Log(["-"]) as log:
        log.survey(lambda event: None)
        assert [str(event.at) for event in log.events_of("a")] == ["<stdin>:2:1", "<stdin>:4:1"]


def test_damage_in_standard_input_has_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in standard input names it as a file."""

    class Input:
        buffer = io.BytesIO(lines(line(), "x").encode())

    monkeypatch.setattr("sys.stdin", Input)
    assert problem("-").startswith("<stdin>:2: ")


def test_a_pipe_is_read_twice(tmp_path: Path) -> None:
    """A pipe without seeking, such as a shell's ``<(zcat a.log.gz)``, is stored like standard input."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(lines(line(), line(seq=2)),))
    writer.start()
    with Log([str(path)]) as log:
        writer.join()
        log.survey(lambda event: None)
        assert [event.number for event in log.events_of("a")] == [1, 2]


def test_a_file_that_changes_is_noticed(file: Callable[..., str]) -> None:
    """If a log is rewritten between the survey and the search, the change is detected."""
    path = file(lines(line(), line(seq=2)))
    with Log([path]) as log:
        log.survey(lambda event: None)
        Path(path).write_text(lines(line(), line(seq=3)))
        with pytest.raises(UsageError, match="changed since the survey"):
            list(log.events_of("a"))


def test_kept_events_are_those_that_are_read_again(file: Callable[..., str]) -> None:
    """A log in memory gives the events of a log that is read twice; one that is too long is read twice."""
    text = lines(line(), line("b", cause=["a", 1]), line(seq=2), line("b", seq=2, cause=["a", 2]))
    ignored = [foreign_log.line("heartbeat"), foreign_log.line("heartbeat", n=2), foreign_log.line("heartbeat", n=3)]
    acks = [
        foreign_log.line("ack", 5, n, node=1, node_epoch=1, stream=1, base=n, end=n + 1, broker=broker, after=after)
        for n, broker, after in ((1, 5, None), (4, 4, [5, 1]), (2, 5, [4, 2]), (5, 4, [5, 2]), (3, 5, [4, 4]))
    ]
    path, foreign = file(text), file("".join(f"{json.dumps(each)}\n" for each in (*ignored, *acks)), "foreign.log")
    mapping = mapping_of(foreign_log.SKETCH, "foreign.yaml")
    for paths, format_ in (([path], None), ([foreign], mapping)):
        found = []
        for keep in (0, 3, 100):
            with Log(paths, format_, keep) as log:
                # The second survey forgets the events of the first.
                for _ in range(2):
                    log.survey(lambda event: None)
                found.append([event for source in log.sources for event in log.events_of(source)])
        assert found[0] == found[1] == found[2]
        assert len(found[0]) > 3
    with Log([path], None, 100) as log:
        log.survey(lambda event: None)
        Path(path).write_text("")
        assert len(list(log.events_of("a"))) == 2


def test_a_log_can_be_surveyed_again(file: Callable[..., str]) -> None:
    """A second survey gives the same events and forgets the first."""
    with Log([file(lines(line(), line("b", cause=["a", 1])))]) as log:
        first: list[LogEvent] = []
        second: list[LogEvent] = []
        log.survey(first.append)
        log.survey(second.append)
        assert first == second
        assert log.sources == ("a", "b")
