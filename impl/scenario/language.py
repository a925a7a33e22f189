"""Reads scenario files from YAML. Raises MalformedError, with file and line, for anything outside the language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import yaml

from impl.controller.view import Profile
from impl.scenario.matching import TOLERANCE, Fields
from impl.scenario.operation import ScenarioOperation
from impl.scenario.profile import read_profile
from impl.scenario.reading import MalformedError, Pairs, documents, inside, items, line_of, malformed, pairs, scalar
from impl.scenario.suggest import unknown
from impl.scenario.types import Integer, ListOf, Number, String, Struct, may
from impl.scenario.vocabulary import OPERATIONS

SCENARIO_KEYS = ("name", "profile", "clock", "absent", "setup", "steps")
STEP_KEYS = ("op", "expect", "repeat", "each", "tolerance")
CLOCK = Integer(low=0)
REPEAT = Integer(low=1, high=1_000_000)


class OperationCall(msgspec.Struct, frozen=True):
    """One call of an operation. ``arguments``: with defaults. ``expected``: the expectation about its result.

    ``said``: the arguments that the file gives, without defaults.
    """

    line: int
    arguments: dict[str, Any]
    expected: Fields
    said: dict[str, Any]


class ScenarioStep(msgspec.Struct, frozen=True):
    """A step: an operation, with one call for each of its argument maps. All calls run ``repeat`` times."""

    file: str
    line: int
    op: str
    calls: tuple[OperationCall, ...]
    repeat: int = 1
    tolerance: float = TOLERANCE


class Scenario(msgspec.Struct, frozen=True):
    """A scenario. ``steps``: the steps of its setup, then its own. ``clock``: its start time, in milliseconds.

    ``absent``: the object ids that are never prepared silently.
    """

    file: str
    line: int
    name: str
    steps: tuple[ScenarioStep, ...]
    profile: Profile = Profile()
    clock: int = 0
    absent: frozenset[int] = frozenset()


def read_file(path: Path, shown: str | None = None) -> list[Scenario]:
    """The scenarios of a file. ``shown``: the name of the file in messages. Raises MalformedError."""
    return _read(path, shown or str(path), ())


def read_text(text: str, file: str = "scenario.yaml", folder: Path = Path()) -> list[Scenario]:
    """The scenarios of a text. ``folder``: the folder of its ``setup`` files. Raises MalformedError."""
    return _scenarios(text, file, folder, ())


def _read(path: Path, file: str, chain: tuple[Path, ...]) -> list[Scenario]:
    try:
        if path.exists() and not path.is_file():
            # A pipe may wait for ever, and a device such as /dev/zero has no end.
            raise MalformedError(file, 1, "it is no plain file, but a pipe, a device or a folder; name a file")
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise MalformedError(file, line, "the file is not UTF-8; save it as UTF-8") from error
    except OSError as error:
        raise MalformedError(file, 1, f"cannot be read: {error.strerror}; make it readable, or name another") from error
    return _scenarios(text, file, path.parent, (*chain, path.resolve()))


def _scenarios(text: str, file: str, folder: Path, chain: tuple[Path, ...]) -> list[Scenario]:
    found = documents(text, file)
    if not found:
        raise MalformedError(file, 1, "the file holds no scenario; `holdfast scenario new NAME` writes one")
    return [_scenario(node, file, place, folder, chain) for place, node in enumerate(found, 1)]


def _scenario(node: yaml.Node, file: str, place: int, folder: Path, chain: tuple[Path, ...]) -> Scenario:
    given = pairs(node, "a scenario")
    for name, (key, _) in given.items():
        if name not in SCENARIO_KEYS:
            malformed(key, unknown("key", name, SCENARIO_KEYS), None)
    if "steps" not in given:
        malformed(node, "steps is missing", "add it")
    steps = [_step(each) for each in items(given["steps"][1], "a list of steps")]
    if not steps:
        malformed(given["steps"][0], "a scenario needs at least one step", "add one")
    absent = frozenset(ListOf(Integer()).value(given["absent"][1]) if "absent" in given else ())
    if "setup" in given:
        before = _setup(given["setup"][1], folder, chain)
        steps = [step for scenario in before for step in scenario.steps] + steps
        absent = absent.union(*(scenario.absent for scenario in before))
    return Scenario(
        file=file,
        line=line_of(node),
        name=String().value(given["name"][1]) if "name" in given else f"{Path(file).stem} {place}",
        steps=tuple(steps),
        profile=read_profile(given["profile"][1] if "profile" in given else None),
        clock=CLOCK.value(given["clock"][1]) if "clock" in given else 0,
        absent=absent,
    )


def _setup(node: yaml.Node, folder: Path, chain: tuple[Path, ...]) -> list[Scenario]:
    name = String().value(node)
    path = folder / name
    # The chain has the file that is being read, and all files whose setup led to it.
    if path.resolve() in chain:
        malformed(node, f"setup: {name} runs itself", "name another file")
    if not path.is_file():
        malformed(node, f"setup: there is no file {path}", "name one that is there")
    return _read(path, str(path), chain)


def _step(node: yaml.Node) -> ScenarioStep:
    given = pairs(node, "a step")
    # ``op`` and the control keys are taken out of ``given``; the rest are arguments.
    if "op" not in given:
        malformed(node, "op is missing", "add it")
    operation = _operation(given.pop("op")[1])
    control = {name: given.pop(name) for name in STEP_KEYS if name in given}
    if "each" in control:
        argument_maps = [pairs(each, "a map of arguments") for each in items(control["each"][1], "a list of maps")]
        nodes = items(control["each"][1], "a list of maps")
        if not argument_maps:
            malformed(control["each"][0], "each is empty, so the step would not run", "leave it out")
    else:
        argument_maps, nodes = [{}], [node]
    expected = _expectation(control.get("expect"))
    calls = []
    for own, place in zip(argument_maps, nodes, strict=True):
        both = expected | _expectation(own.pop("expect", None))
        calls.append(_call(operation, given | own, both, place))
    return ScenarioStep(
        file=node.start_mark.name,
        line=line_of(node),
        op=operation.name,
        calls=tuple(calls),
        repeat=REPEAT.value(control["repeat"][1]) if "repeat" in control else 1,
        tolerance=Number().value(control["tolerance"][1]) if "tolerance" in control else TOLERANCE,
    )


def _operation(node: yaml.Node) -> ScenarioOperation:
    name = scalar(node, "the name of an operation")
    if name not in OPERATIONS:
        malformed(node, unknown("operation", name, OPERATIONS), None)
    return OPERATIONS[name]


def _expectation(entry: tuple[yaml.Node, yaml.Node] | None) -> Pairs:
    return {} if entry is None else pairs(entry[1], "a map of results")


def _call(operation: ScenarioOperation, given: Pairs, expected: Pairs, place: yaml.Node) -> OperationCall:
    fields, found = dict(operation.arguments), dict(operation.results)
    # A missing selector is reported below, as any missing argument.
    if operation.variants and operation.selector in given:
        with inside(operation.selector):
            variant = fields[operation.selector].type.value(given[operation.selector][1])
        fields |= operation.variants[variant]
        found |= operation.variant_results.get(variant, {})
    arguments: dict[str, Any] = {}
    for name, (key, _) in given.items():
        if name not in fields:
            malformed(key, unknown(f"argument of {operation.name}", name, fields), None)
    for name, field in fields.items():
        if name in given:
            with inside(name):
                arguments[name] = field.type.value(given[name][1])
        elif field.required:
            malformed(place, f"{operation.name}: {name} is missing", "add it")
        else:
            arguments[name] = field.default
    results = Struct({name: may(each) for name, each in found.items()})
    patterns = {}
    for name, (key, each) in expected.items():
        if name not in results.fields:
            malformed(key, unknown(f"result of {operation.name}", name, results.fields), None)
        with inside(name):
            patterns[name] = results.fields[name].type.pattern(each)
    return OperationCall(line_of(place), arguments, Fields(patterns), {name: arguments[name] for name in given})
