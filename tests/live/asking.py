"""Helpers that call ``live`` and read the runs in its answers."""

from __future__ import annotations

from pathlib import Path

from holdfast.check.live.engine import live
from holdfast.check.live.result import LiveResult
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import System
from holdfast.trace.trace import Trace

LEASE = Path(__file__).parent / "models" / "lease.py"


def answer(system: System, *properties: str, scope: str = "tiny") -> LiveResult:
    """The answer for these properties."""
    return live(system, system.scopes[scope], properties=properties or None)


def run(trace: Trace) -> tuple[list[str], list[str]]:
    """The steps of a lasso: those of the stem, and those of the loop."""
    steps = [f"{step.action}({','.join(str(value) for _, value in step.args)})" for step in trace.steps[1:]]
    assert trace.loop is not None
    assert trace.steps[trace.loop].code == trace.steps[-1].code
    return steps[: trace.loop], steps[trace.loop :]


def edited(folder: Path, *changes: tuple[str, str]) -> System:
    """The text of the lease service with some lines replaced."""
    text = LEASE.read_text()
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "edited.py").write_text(text)
    return compile_model(load_model(str(folder / "edited.py")))
