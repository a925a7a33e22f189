"""The record of the tests: the lines that each test reaches, and its duration."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import attrs
from coverage import CoverageData

from mutants.faults import PlantedFault

Key = TypeVar("Key", str, int)

WORDS = re.compile(rb"[A-Za-z_]\w*")


@attrs.frozen
class CoverageRecord:
    """The tests, and which of them reach which lines. In a bit mask of tests, bit N stands for ``tests[N]``.

    ``seconds``: the duration of each test, with the shared fixtures that it uses. ``lines[file][line]``: a bit mask of
    the tests that run this line. ``reads[file]``: of the tests that read the file as text. ``uses[word]``: of the tests
    that run a line that contains this word. ``failed``: tests that failed without any fault; ``tests`` does not include
    them.
    """

    tests: list[str]
    seconds: list[float]
    lines: Mapping[str, Mapping[int, int]]
    reads: Mapping[str, int]
    uses: Mapping[str, int]
    failed: list[str]

    def reaching(self, fault: PlantedFault) -> int:
        """The bit mask of the tests that reach a fault.

        For a fault in a function: the tests that run one of the fault's lines, or else a line of its statement. For a
        fault outside of functions, which runs at an import: the tests that run a line that mentions a name that the
        statement defines, or else any line of the file.
        """
        lines = self.lines.get(fault.file, {})
        if fault.at_import:
            anywhere = _any(lines.values())
            # Prefer tests that use a name and run the file, then any that use it.
            found = _any(self.uses.get(name, 0) for name in fault.at_import)
            found = (found & anywhere) or found or anywhere
        else:
            found = _among(lines, fault.lines) or _among(lines, fault.statement)
        return found | self.reads.get(fault.file, 0)

    def chosen(self, mask: int) -> list[int]:
        """The tests of a bit mask, the fastest first."""
        tests = [index for index in range(len(self.tests)) if mask >> index & 1]
        return sorted(tests, key=lambda index: (self.seconds[index], index))

    def without(self, files: Collection[str]) -> CoverageRecord:
        """The record without the tests in these files."""
        kept = [index for index, test in enumerate(self.tests) if test.partition("::")[0] not in files]
        return CoverageRecord(
            [self.tests[index] for index in kept],
            [self.seconds[index] for index in kept],
            {file: _moved(lines, kept) for file, lines in self.lines.items()},
            _moved(self.reads, kept),
            _moved(self.uses, kept),
            [test for test in self.failed if test.partition("::")[0] not in files],
        )

    def with_more(self, other: CoverageRecord) -> CoverageRecord:
        """The record of the tests of both records. Both must be of the same engine, and have no test in common."""
        assert not {*self.tests, *self.failed} & {*other.tests, *other.failed}
        shift = len(self.tests)
        files = dict.fromkeys([*self.lines, *other.lines])
        return CoverageRecord(
            [*self.tests, *other.tests],
            [*self.seconds, *other.seconds],
            {file: _joined(self.lines.get(file, {}), other.lines.get(file, {}), shift) for file in files},
            _joined(self.reads, other.reads, shift),
            _joined(self.uses, other.uses, shift),
            sorted([*self.failed, *other.failed]),
        )

    def write(self, path: Path) -> None:
        """Write the record as JSON."""
        as_text = {file: {line: hex(mask) for line, mask in lines.items()} for file, lines in self.lines.items()}
        fields = attrs.asdict(self, recurse=False) | {
            "lines": as_text,
            "reads": {file: hex(mask) for file, mask in self.reads.items()},
            "uses": {word: hex(mask) for word, mask in self.uses.items()},
        }
        path.write_text(json.dumps(fields), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> CoverageRecord:
        """The record that ``write`` has written."""
        fields = json.loads(path.read_text(encoding="utf-8"))
        for name in ("reads", "uses"):
            fields[name] = {key: int(mask, 16) for key, mask in fields[name].items()}
        fields["lines"] = {
            file: {int(line): int(mask, 16) for line, mask in lines.items()} for file, lines in fields["lines"].items()
        }
        return cls(**fields)


def _moved(masks: Mapping[Key, int], kept: Sequence[int]) -> dict[Key, int]:
    """The bit masks restricted to the kept tests, whose bits move to their new places."""
    # Visit only the bits that are set: `rest & -rest` is the lowest of them.
    places = {1 << old: 1 << new for new, old in enumerate(kept)}
    found: dict[Key, int] = {}
    for key, mask in masks.items():
        found[key], rest = 0, mask
        while rest:
            lowest = rest & -rest
            found[key] |= places.get(lowest, 0)
            rest ^= lowest
    return found


def _joined(masks: Mapping[Key, int], more: Mapping[Key, int], shift: int) -> dict[Key, int]:
    """The bit masks of both. The bits of ``more`` move up by ``shift``, the number of tests of the first."""
    found = dict(masks)
    for key, mask in more.items():
        found[key] = found.get(key, 0) | mask << shift
    return found


def gather(folder: Path, root: Path) -> CoverageRecord:
    """The record from the files that ``mutants.recorder`` has written to a folder, for a tree at ``root``."""
    tests: dict[str, dict[str, object]] = {}
    fixtures: dict[str, float] = {}
    reads: dict[str, set[str]] = {}
    for path in sorted(folder.glob("tests-*.json")):
        part = json.loads(path.read_text(encoding="utf-8"))
        tests |= part["tests"]
        for name, seconds in part["fixtures"].items():
            # Each process sets up the fixtures that it needs, so several may have measured the same one.
            fixtures[name] = max(seconds, fixtures.get(name, 0.0))
        for context, files in part["reads"].items():
            reads.setdefault(context, set()).update(files)
    names = sorted(name for name, test in tests.items() if test["passed"])
    contexts = _contexts(names, tests, fixtures)
    lines = _lines(folder, root, contexts)
    read = {f"holdfast/{file}": 0 for files in reads.values() for file in files}
    for context, files in reads.items():
        for file in files:
            read[f"holdfast/{file}"] |= contexts.get(context, 0)
    seconds = [
        float(str(tests[name]["seconds"])) + sum(fixtures[fixture] for fixture in _shared(name, tests, fixtures))
        for name in names
    ]
    failed = sorted(name for name, test in tests.items() if not test["passed"])
    return CoverageRecord(names, seconds, lines, read, _uses(root, lines), failed)


def _shared(name: str, tests: Mapping[str, Mapping[str, object]], fixtures: Mapping[str, float]) -> list[str]:
    """The shared fixtures that a test uses."""
    asked = tests[name]["fixtures"]
    assert isinstance(asked, list)
    found = []
    for fixture in fixtures:
        place, _, argument = fixture.rpartition("::")
        if argument in asked and name.startswith(place):
            found.append(fixture)
    return found


def _contexts(
    names: list[str], tests: Mapping[str, Mapping[str, object]], fixtures: Mapping[str, float]
) -> dict[str, int]:
    """For each context of the recorder: a bit mask of the tests that it counts for."""
    found: dict[str, int] = {}
    for index, name in enumerate(names):
        file = name.partition("::")[0]
        shared = [f"fixture {fixture}" for fixture in _shared(name, tests, fixtures)]
        for context in (f"test {name}", f"file {file}", *shared):
            found[context] = found.get(context, 0) | 1 << index
    return found


def _lines(folder: Path, root: Path, contexts: Mapping[str, int]) -> dict[str, dict[int, int]]:
    """For each file of the engine and each of its lines: a bit mask of the tests that run it."""
    found: dict[str, dict[int, int]] = {}
    for path in sorted(folder.glob("lines-*")):
        data = CoverageData(str(path))
        data.read()
        for measured in sorted(data.measured_files()):
            file = Path(measured).relative_to(root).as_posix()
            lines = found.setdefault(file, {})
            for line, names in data.contexts_by_lineno(measured).items():
                mask = _any(contexts.get(name, 0) for name in names)
                if mask:
                    lines[line] = lines.get(line, 0) | mask
    return found


def _uses(root: Path, lines: Mapping[str, Mapping[int, int]]) -> dict[str, int]:
    """For each word: a bit mask of the tests that run a line that contains it, outside of comments."""
    found: dict[str, int] = {}
    for file, masks in lines.items():
        for number, line in enumerate((root / file).read_bytes().splitlines(), 1):
            if mask := masks.get(number, 0):
                for word in WORDS.findall(line.partition(b"#")[0]):
                    name = word.decode()
                    found[name] = found.get(name, 0) | mask
    return found


def _among(lines: Mapping[int, int], span: tuple[int, int]) -> int:
    return _any(lines.get(line, 0) for line in range(span[0], span[1] + 1))


def _any(masks: Iterable[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found
