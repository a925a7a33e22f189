"""Whether the models allow a simulated run, by the logs of the run."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from holdfast.check.budget import Budget, Meter
from holdfast.check.conform.answer.verdict import call
from holdfast.check.conform.judge.judge import judge
from holdfast.check.conform.judge.setup import JudgeOptions
from holdfast.check.conform.logs.log import Log
from holdfast.check.conform.mappings.mapping import Mapping
from holdfast.check.conform.mappings.mapping_file import read_mapping
from holdfast.check.temporary_folder import TemporaryFolder
from holdfast.ir.errors import UsageError
from holdfast.ir.system import System
from holdfast.ir.variants import load_variant
from impl.sim.check import CheckResult, Question
from impl.sim.conformance.log import conform_log
from impl.sim.conformance.partitions import partition_logs

OF_STREAMS = {"legacy": ("ownership", "stream_log"), "V6": ("fast_close",)}
"""By version: the models that judge the log of all streams."""
OF_PARTITIONS = ("reassignment", "cancellation")
"""The models that judge the log of each partition."""


@cache
def _model(name: str, variants: tuple[str, ...]) -> tuple[Mapping, System]:
    """The mapping of a model, and the model with the mapping's variants and further ones."""
    mapping = read_mapping(Path(name))
    return mapping, load_variant(name, (*mapping.about.variants, *variants))


def objection(question: Question, checked: CheckResult) -> tuple[str, str] | None:
    """The first model that does not allow a run, and the event that is impossible there; None if all allow it.

    A model that cannot judge the run, such as one with a log that it cannot read, does not object.
    """
    variants = ("G1",) if question.generation == "G1" else ()
    for name, partition, text in _logs(question, checked):
        said = _impossible(name, variants if partition >= 0 else (), text)
        if said is not None:
            return name, said
    return None


def _logs(question: Question, checked: CheckResult) -> Iterator[tuple[str, int, bytes]]:
    """The logs of a run with the models that judge them. The log of all streams has the partition -1."""
    text = conform_log(checked.run.log)
    for name in OF_STREAMS[question.version]:
        yield name, -1, text
    if question.options.partitions:
        logs = partition_logs(checked.run.log, elects=question.generation == "G1")
        for number, of_partition in logs.items():
            for name in OF_PARTITIONS:
                yield name, number, of_partition


def _impossible(name: str, variants: tuple[str, ...], text: bytes) -> str | None:
    mapping, system = _model(name, variants)
    with TemporaryFolder("log") as folder:
        path = folder / "events.ndjson"
        path.write_bytes(text)
        try:
            with Log([str(path)], mapping) as log:
                options = JudgeOptions(hidden=tuple(mapping.hidden))
                judgement = judge(system, log, mapping.about.literals, options, Meter(Budget(), lambda _: None))
        except UsageError:
            return None  # An empty log, or one that the mapping cannot read.
    if judgement.kind != "impossible" or judgement.facts is None:
        return None
    return call(judgement.facts)
