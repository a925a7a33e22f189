"""A command replaces no file of another kind, and writes no two results into one file."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.app import app, main
from holdfast.cli.output_files import FileKind

READ = {"conform --map", "simulate FILE", "campaign run --properties-file", "campaign resume --properties-file"}
"""Options that name a file to read."""

FOLDERS = {
    *("mutate --itf", "tla --out", "rule --pages", "simulate --keep", "scenario from-model --out"),
    *("cluster up --dir", "cluster produce --dir", "cluster consume --dir", "cluster topics --dir"),
    *("cluster reassign --dir", "cluster cancel --dir", "cluster elect --dir", "cluster status --dir"),
    "cluster test --out",
}
"""Options that name a folder."""

CONTINUED = {"mutate --resume", "simulate --resume"}
"""Options that name a file to which the command adds lines, after it has read it and found it to be its own."""

RUN = "check ownership --without ST-14 --scope tiny"
WRITERS = [
    (f"{RUN} --itf FILE", 12),
    (f"{RUN} --html FILE", 12),
    (f"{RUN} --junit FILE", 12),
    (f"{RUN} --sarif FILE", 12),
    ("check failover --scope tiny --graph FILE.dot", 0),
    ("check failover --scope tiny --graph FILE.graphml", 0),
    ("check stream_log --scope default --engine kernel --budget 20000states --checkpoint FILE", 20),
    ("walk ownership --log FILE --events 30", 0),
    ("simulate --seed 1 --log FILE", 0),
    ("simulate --seed 1 --partitions 1 --log FILE", 0),
    ("simulate --seed 1 --history FILE", 0),
    ("simulate --scenario migrate --history 1MB --tail 1MiB --generation G1 --plot FILE", 0),
    ("simulate --guards FILE", 0),
    ("mutate --guards FILE", 0),
    ("conform ownership LOG --run FILE.py", 0),
    ("conform ownership LOG --html FILE", 0),
    ("show RUN --svg FILE", 0),
    ("show RUN --html FILE", 0),
    ("scenario from-trace RUN --out FILE", 0),
]
"""Commands that write FILE, with their exit codes. LOG and RUN are files that other commands have written."""


def options() -> Iterator[tuple[str, Any]]:
    """Each option of each command: ``VERB --OPTION``, and what cyclopts knows of it."""

    def below(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
        yield words, command
        for word in command:
            if not word.startswith("-"):
                yield from below(command[word], (*words, word))

    for words, command in below(app, ()):
        if words and command.default_command is not None:
            for argument in command.assemble_argument_collection():
                yield f"{' '.join(words)} {argument.name}", argument


def kind_of(argument: Any) -> FileKind | None:
    """The kind of file that an option writes, or None if it writes none."""
    return next((each for each in argument.parameter.validator or () if isinstance(each, FileKind)), None)


def test_every_option_with_a_path_is_known() -> None:
    """An option that names a file to write has a kind; each other option with a path is one that is listed here."""
    paths = {name: kind_of(argument) for name, argument in options() if "Path" in str(argument.hint)}
    assert len(paths) > 60
    listed = READ | FOLDERS | CONTINUED
    assert {name for name, kind in paths.items() if kind is None} == listed


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log and a run."""
    folder = tmp_path_factory.mktemp("written")
    assert main(["walk", "ownership", "--log", str(folder / "LOG"), "--events", "20"]) == 0
    assert main([*shlex.split(f"{RUN} --itf"), str(folder / "RUN")]) == 12
    return folder


@pytest.mark.parametrize(("command", "code"), WRITERS, ids=[words for words, _ in WRITERS])
def test_a_file_is_replaced_by_one_of_its_kind(
    command: str, code: int, tmp_path: Path, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command replaces what it wrote before, and an empty file. It refuses a model, and changes no byte of it."""
    words = command.split()
    file = tmp_path / next(word for word in words if word.startswith("FILE"))
    names = {"LOG": str(written / "LOG"), "RUN": str(written / "RUN"), file.name: str(file)}
    argv = [names.get(word, word) for word in words]
    file.touch()
    assert main(argv) == code
    assert file.stat().st_size > 0
    assert main(argv) == code
    file.write_text("import mine\n")
    capsys.readouterr()
    assert main(argv) == 2
    assert f"{file}: the file exists, and is no " in capsys.readouterr().err
    assert file.read_text() == "import mine\n"


@pytest.mark.parametrize("option", sorted({f"{name.split()[-1]}" for name, each in options() if kind_of(each)}))
def test_each_kind_of_output_has_a_writer(option: str) -> None:
    """Each option that writes a file is tried above, in some command."""
    assert any(f" {option} FILE" in command for command, _ in WRITERS)


@pytest.mark.parametrize(
    ("command", "pair"),
    [
        (RUN, "--itf FILE --sarif FILE"),
        (RUN, "--html ./FILE --junit FILE"),
        (RUN, "--graph FILE.dot --itf FILE.dot"),
        (RUN, "--checkpoint FILE --itf FILE"),
        ("simulate", "--log FILE --history FILE"),
    ],
)
def test_two_options_name_no_file_both(
    command: str, pair: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One result would replace the other."""
    monkeypatch.chdir(tmp_path)
    assert main([*command.split(), *pair.split()]) == 2
    first, second = pair.split()[::2]
    said = capsys.readouterr().err
    assert first in said
    assert second in said
    assert "give each a file of its own" in said
    assert list(tmp_path.iterdir()) == []
