"""Follows ``docs/ci.md``: its workflows are YAML, and each of its commands runs on a model and writes its reports."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import holdfast
from tests.cli.running import Run
from tests.docs.fences import ROOT, blocks
from tests.docs.transcript import Reader
from tests.reports.validating import read

__all__ = ["holdfast"]

PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
BLOCKS = list(blocks(PAGE))
WORKFLOWS = [yaml.safe_load(block.text) for block in BLOCKS if block.language == "yaml"]
MODEL = (ROOT / "docs/examples/two_phase_commit.py").read_text()
COMMIT = "0123456789abcdef0123456789abcdef01234567"
FEW = "400"
"""The number of runs, in place of the page's millions."""


def steps(workflow: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All steps of all jobs of a workflow."""
    for job in workflow["jobs"].values():
        yield from job["steps"]


COMMANDS = [step["run"] for each in WORKFLOWS for step in steps(each) if "holdfast " in step.get("run", "")]
COMMANDS += [
    line for block in BLOCKS if block.language == "sh" for line in block.lines if line.startswith("holdfast check ")
]


def test_workflows_are_workflows() -> None:
    """Each step does one thing. Steps that read reports run after a failure too, and the reports are kept."""
    assert len(WORKFLOWS) == 2
    for workflow in WORKFLOWS:
        # YAML 1.1 reads the key `on` as the boolean true.
        assert {"name", "permissions", "jobs"} <= set(workflow)
        assert workflow.get("on", workflow.get(True))
        assert workflow["permissions"]["security-events"] == "write"
        every = list(steps(workflow))
        assert all(("uses" in step) != ("run" in step) for step in every)
        readers = [step for step in every if "upload" in step.get("uses", "")]
        assert [step["uses"].partition("@")[0] for step in readers] == [
            "github/codeql-action/upload-sarif",
            "actions/upload-artifact",
        ]
        assert {step["if"] for step in readers} == {"${{ !cancelled() }}"}
        assert {step["with"].get("sarif_file", step["with"].get("path")) for step in readers} == {"out"}


def test_the_page_names_the_commands() -> None:
    """The page shows every verb with reports, and the seed is the commit's."""
    verbs = [re.findall(r"holdfast (\w+)", command)[0] for command in COMMANDS]
    assert verbs == ["check", "prove", "mutate", "walk", "campaign", "campaign", "check"]
    assert all('--seed "0x${GITHUB_SHA::16}"' in command for command in COMMANDS if "--runs" in command)
    assert [words(command)[5] for command in COMMANDS if "holdfast walk" in command] == [f"0x{COMMIT[:16]}"]


def shell(text: str) -> str:
    """The command as a shell runs it, with fewer runs."""
    return re.sub(r"--runs \d+", f"--runs {FEW}", text)


def words(command: str) -> list[str]:
    """The words into which bash splits a command, for the commit that GitHub names."""
    said = subprocess.run(
        ["/bin/bash", "-euc", f"holdfast() {{ printf '%s\\0' \"$@\"; }}; {shell(command)}"],
        env={"GITHUB_SHA": COMMIT},
        capture_output=True,
        text=True,
        check=True,
    )
    return said.stdout.split("\0")[:-1]


def check_files(command: str, folder: Path) -> None:
    """Check that the reports that a command names exist, and follow their schemas."""
    for name in re.findall(r"--junit (\S+)\.xml", command):
        read(folder / f"{name}.xml", folder / f"{name}.sarif")


@pytest.mark.parametrize("command", [command for command in COMMANDS if "campaign" not in command])
def test_commands_run(holdfast: Run, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command ends with 0 on a model that holds, and its reports follow their schemas."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "lease.py").write_text(MODEL)
    ran = holdfast(*words(command))
    assert ran.code == 0, ran
    check_files(command, tmp_path)


@pytest.mark.slow
def test_the_campaign_runs(tmp_path: Path) -> None:
    """The page's campaign runs on Spark and writes its page."""
    reader = Reader(tmp_path)
    (reader.folder / "lease.py").write_text(MODEL)
    (reader.folder / "out").mkdir()
    for command in COMMANDS:
        if "campaign" in command:
            subprocess.run(
                ["/bin/bash", "-euc", shell(command)],
                cwd=reader.folder,
                env=reader.environment | {"GITHUB_SHA": COMMIT},
                check=True,
                timeout=300,
            )
            check_files(command, reader.folder)
    assert (reader.folder / "out/campaign.html").stat().st_size > 0
    assert list((reader.folder / "out/campaign").iterdir())
