"""``holdfast simulate FILE --as-model MODEL``: the run of a model that explains the log of a simulation."""

from __future__ import annotations

from pathlib import Path

from holdfast.cli.conform import MODEL_OF_A_RUN, conform
from holdfast.cli.output import say, write
from holdfast.cli.output_files import LOG
from holdfast.ir.errors import UsageError
from impl.bridge.log_models import OF_STREAMS
from impl.scenario.suggest import unknown
from impl.sim.check import CheckResult, Question
from impl.sim.conformance.log import conform_log


def check_model(model: str, question: Question) -> None:
    """Raise UsageError unless the model judges the logs of such runs."""
    if question.options.partitions:
        raise UsageError(f"--as-model {model}: this run has a log for each partition; use --log")
    if model not in OF_STREAMS[question.version]:
        raise UsageError(f"--as-model: {unknown(f'model of {question.version}', model, OF_STREAMS[question.version])}")


def show(checked: CheckResult, file: Path, model: str) -> None:
    """Write the log of the run and the model's run beside ``file``, and print the verdict of ``holdfast conform``.

    The run goes up to the first event that the model does not allow. Raises UsageError if a file cannot be written.
    """
    beside = file.with_name(f"{file.stem}.{model}.ndjson")
    explained = file.with_name(f"{file.stem}.{model}.py")
    LOG.check(beside)
    MODEL_OF_A_RUN.check(explained)
    write(beside, conform_log(checked.run.log).decode())
    say(f"\n{beside} as a run of {model}:\n")
    conform(model, str(beside), map=Path(model), run=explained)
