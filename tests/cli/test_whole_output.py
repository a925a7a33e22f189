"""The whole output of commands equals the files in ``golden/``: every figure and sentence, as text and as JSON."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from textwrap import indent

import pytest

from tests.cli.running import Run
from tests.cli.samples import COUNTER
from tests.docs.fences import ROOT
from tests.prove.conftest import HEADER
from tests.prove.samples import TRAP

GOLDEN = Path(__file__).with_name("golden")

MODELS = (
    "docs/examples/two_phase_commit.py",
    "tests/lower/models/gauges.py",
    "tests/lower/models/streams.py",
    "tests/check/models/table.py",
    "tests/check/models/sampler.py",
    "tests/live/models/lease.py",
    "tests/live/models/alternating_bit.py",
    "tests/tla/models/lamp.py",
)

COMMANDS = (
    "check counter.py --scope tiny",
    "check table.py --scope tiny",
    "check table.py --without ST-14 --keep-going",
    "check sampler.py --keep-going",
    "check streams.py --scope tiny --budget 20states",
    "check counter.py --scope tiny --json",
    "check table.py --scope tiny --without ST-14 --keep-going --json",
    "walk counter.py --scope tiny --seed 3 --runs 50",
    "walk table.py --without ST-14 --seed 3 --runs 50",
    "walk table.py --without ST-14 --seed 3 --runs 50 --no-shrink --pct 2",
    "walk sampler.py --seed 3 --runs 50 --json",
    "walk lease.py --seed 2 --runs 20 --depth 4 --no-swarm",
    "live lease.py",
    "live lease.py --without LS-08",
    "live alternating_bit.py",
    "live lamp.py --json",
    "prove two_phase_commit.py --explain",
    "prove two_phase_commit.py --seeds 2 --property final",
    "prove two_phase_commit.py --without TP-02",
    "prove two_phase_commit.py --depth 2",
    "prove two_phase_commit.py --depth 3 --without TP-02 --property promises_are_kept",
    "prove two_phase_commit.py --fragment",
    "prove two_phase_commit.py --json",
    "prove bare.py",
    "prove bare.py --no-suggest --json",
    "prove trap.py --k 2 --explain",
    "prove trap.py --no-suggest",
    "prove idle.py",
    "prove gauges.py --fragment",
    "mutate two_phase_commit.py",
    "mutate counter.py --operators",
    "mutate counter.py --json",
    "mutate two_phase_commit.py --prove",
    "diff table.py table.py-ST-14 --scope tiny",
    "diff table.py-ST-14 table.py --scope tiny",
    "diff lease.py lease.py-LS-08 --json",
    "diff counter.py counter.py",
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory with the models of the goldens."""
    monkeypatch.chdir(tmp_path)
    for model in MODELS:
        shutil.copy(ROOT / model, Path(model).name)
    bare, _, _ = Path("two_phase_commit.py").read_text().partition("    @lemma\n")
    trap = f"{HEADER}class Trap(Model):\n{indent(TRAP, '    ')}"
    idle = trap.replace('Mode.TRAP, "TR-02"', 'Mode.BAD, "TR-02"')
    for name, text in {"counter": COUNTER, "bare": bare, "trap": trap, "idle": idle}.items():
        Path(f"{name}.py").write_text(text)


def kept(out: str) -> str:
    """The output without times, rates and memory, which differ from run to run."""
    if not out.startswith(("{", "[")):
        return re.sub(r"\b[\d,]*\.?\d+( m?s\b)", r"-\1", out)
    return json.dumps(_timeless(json.loads(out)), indent=1) + "\n"


def _timeless(value: object) -> object:
    if isinstance(value, list):
        return [_timeless(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: "-" if key in ("timing", "seconds", "slowest") else _timeless(each) for key, each in value.items()}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_whole_output(holdfast: Run, command: str, update_golden: bool) -> None:
    """A command ends with the stored exit code and prints the stored text."""
    ran = holdfast(*command.split())
    said = f"$ holdfast {command}\n{kept(ran.out)}# exit code {ran.code}\n"
    path = GOLDEN / (re.sub(r"[^\w+]+", "-", command) + ".txt")
    if update_golden:
        path.write_text(said)
    assert said == path.read_text(), "renew it with `pytest tests/cli --update-golden`"


def test_nothing_else_is_kept() -> None:
    """Each file in ``golden/`` belongs to a command."""
    assert {path.stem for path in GOLDEN.iterdir()} == {re.sub(r"[^\w+]+", "-", command) for command in COMMANDS}
