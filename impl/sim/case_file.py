"""A run in a file: everything that decides it, so that ``holdfast simulate FILE`` makes it again.

The file is JSON. Each operation and each fault has a line of its own. Nothing in the file is executed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from impl.oracles.verdict import Violation
from impl.rules import guards
from impl.scenario.suggest import unknown, unknown_id
from impl.scenario.switches import switches
from impl.sim.check import Question
from impl.sim.controller_settings import SETTINGS
from impl.sim.faults import NAMED
from impl.sim.options import Options
from impl.sim.script import ScriptOperation, unique_values
from impl.sim.tape import Fault

PACKAGES = ("broker", "controller", "metadata", "zone")
"""The packages of ``impl`` that a simulation runs."""
MOST_NODES, MOST_STREAMS = 50, 1_000
OF_STREAMS = ("append", "fetch", "trim", "move", "create", "destroy")
OF_PARTITIONS = ("append", "fetch", "move", "swap", "cancel", "elect")
OF_OPERATORS = ("move", "swap", "cancel", "elect")
"""The operations on streams, the operations on partitions, and those among them that operators do, not clients."""


class CaseError(Exception):
    """The file is no valid case. The message has the file, the place, the value and the remedy."""


class SimulationCase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of a file. ``violation``: the violation that its run showed when the file was written."""

    format: Literal["holdfast-simulation"]
    version: Literal[1]
    seed: int
    cluster: Literal["legacy", "V6"]
    brokers: int
    controllers: int
    streams: int
    partitions: int = 0
    zones: int = 0
    generation: Literal["G0", "G1"] = "G1"
    without: tuple[str, ...]
    switches: tuple[str, ...]
    settings: tuple[str, ...] = ()
    violation: Violation
    script: tuple[ScriptOperation, ...]
    faults: tuple[Fault, ...]

    def question(self, *, mended: bool = False) -> Question:
        """The question that makes the run of the file. ``mended``: with all rules, and without built-in defects."""
        options = Options(
            brokers=self.brokers,
            controllers=self.controllers,
            streams=self.streams,
            partitions=self.partitions,
            zones=self.zones,
            faults="none",
            recorded=self.faults,
            operations_of=self.script,
        )
        return Question(
            seed=self.seed,
            options=options,
            version=self.cluster,
            generation=self.generation,
            without=() if mended else self.without,
            switches=() if mended else self.switches,
            settings=self.settings,
        )


def case_of(question: Question, violation: Violation) -> SimulationCase:
    """The case of a question that has a script and recorded faults."""
    options = question.options
    return SimulationCase(
        format="holdfast-simulation",
        version=1,
        seed=question.seed,
        cluster="V6" if question.version == "V6" else "legacy",
        brokers=options.brokers,
        controllers=options.controllers,
        streams=options.streams,
        partitions=options.partitions,
        zones=options.zones,
        generation=question.generation,
        without=question.without,
        switches=question.switches,
        settings=question.settings,
        violation=violation,
        script=options.operations_of or (),
        faults=options.recorded or (),
    )


def text(case: SimulationCase) -> str:
    """The text of a file. It lacks the fields for partitions, zones and settings if the case has none."""
    fields: dict[str, Any] = msgspec.to_builtins(case)
    if not case.partitions:
        del fields["partitions"], fields["generation"]
    if not case.zones:
        del fields["zones"]
    if not case.settings:
        del fields["settings"]
    return "{\n" + ",\n".join(f"  {_json(name)}: {_value(fields[name])}" for name in fields) + "\n}\n"


def _value(value: Any) -> str:
    """A value as JSON in one line; for a list of operations or faults, one line for each."""
    if isinstance(value, list | tuple) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"    {_json(each)}" for each in value) + "\n  ]"
    return _json(value)


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()


def read_case(path: Path, name: str) -> SimulationCase:
    """The case in a file. ``name``: the name of the file in messages. Raises CaseError."""
    try:
        if path.exists() and not path.is_file():
            # A pipe may wait for ever, and a device such as /dev/zero has no end.
            raise CaseError(f"{name}: is no plain file; give a file that `holdfast simulate` has kept")
        data = path.read_bytes()
    except OSError as error:
        raise CaseError(f"{name}: cannot be read: {error.strerror}; mend that, or name another file") from None
    return parse_case(data, name)


def parse_case(data: bytes | str, name: str) -> SimulationCase:
    """The case in the bytes or the text of a file. ``name``: the file's name in messages. Raises CaseError."""
    try:
        case = msgspec.json.decode(data, type=SimulationCase)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        remedy = "give a file that `holdfast simulate` has kept"
        raise CaseError(f"{name}: {_printable(str(error))}; {remedy}") from None
    problem = _problem(case)
    if problem:
        raise CaseError(f"{name}: {_printable(problem)}")
    return case


def _problem(case: SimulationCase) -> str:
    """The first problem of a case; "" if there is none."""
    return next((problem for problem in (*_problems_of_cluster(case), *_problems_of_run(case)) if problem), "")


def _problems_of_cluster(case: SimulationCase) -> Iterator[str]:
    ranges = {"brokers": (case.brokers, MOST_NODES), "controllers": (case.controllers, MOST_NODES)}
    ranges["streams"] = case.streams, MOST_STREAMS
    for field, (value, most) in ranges.items():
        if not 1 <= value <= most:
            yield f"{field} is {value}; give 1 to {most}"
    if not 0 <= case.partitions <= MOST_STREAMS:
        yield f"partitions is {case.partitions}; give 1 to {MOST_STREAMS}, or 0 for streams without partitions"
    if not 0 <= case.zones <= case.brokers or (case.zones and not case.partitions):
        yield f"zones is {case.zones}; give 1 to the number of brokers, with partitions, or 0 for no zone routing"
    for label in case.without:
        if label not in labels():
            yield f"without: {unknown_id('label', label, labels())}"
    for switch in case.switches:
        if switch not in switches(PACKAGES):
            yield f"switches: {unknown('switch', switch, switches(PACKAGES))}"
    for setting in case.settings:
        if setting not in SETTINGS:
            yield f"settings: {unknown('setting', setting, list(SETTINGS))}"


def _problems_of_run(case: SimulationCase) -> Iterator[str]:
    for number, fault in enumerate(case.faults):
        if fault.kind not in NAMED:
            yield f"faults[{number}].kind: {unknown('kind of fault', fault.kind, NAMED)}"
        if not 0 <= fault.value < 1:
            yield f"faults[{number}].value is {fault.value}; give a number from 0 up to, and without, 1"
    for number, operation in enumerate(case.script):
        if min(operation.at, operation.key) < 0 or operation.count < 1 or not 0 <= operation.part <= 1:
            yield f"script[{number}]: give at and key from 0 on, count from 1 on, and part from 0 to 1"
        known = OF_PARTITIONS if case.partitions else OF_STREAMS
        if operation.f not in known:
            yield f"script[{number}].f is {operation.f!r}; give one of {', '.join(known)}"
        if (operation.f in OF_OPERATORS) != (operation.client == -1) or operation.client < -1:
            least = "-1 for moves, swaps, cancels and elections, and 0 or more for the others"
            yield f"script[{number}].client is {operation.client}; give {least}"
        if case.partitions and operation.key >= case.partitions:
            yield f"script[{number}].key is {operation.key}; give a partition below {case.partitions}"
        if operation.f == "append" and operation.value < 1:
            yield f"script[{number}].value is {operation.value}; give 1 or more"
    if not unique_values(case.script):
        yield "script: two appends write the same value; give each its own"


def labels(*more: str) -> list[str]:
    """The labels of the rules that a simulation runs, sorted. ``more``: further packages whose rules it runs."""
    packages = (*PACKAGES, *more)
    return [label for label, places in guards().items() if any(file.split("/")[0] in packages for file, _ in places)]


def _printable(message: str) -> str:
    """The message with all other characters escaped: a file from somebody else may hold control characters."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in message)
