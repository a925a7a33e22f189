"""The files for GitHub and pre-commit: they parse, and the commands and files that they name exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def read(path: Path) -> dict[str, Any]:
    """The content of a YAML file."""
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def commands(workflow: dict[str, Any]) -> list[str]:
    """The commands of a workflow's steps."""
    return [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]


def targets() -> set[str]:
    """The targets of the Makefile."""
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_a_change_runs_what_ci_runs() -> None:
    """The workflow of a change runs ``.ci/run`` alone, on each Python that the Makefile looks for."""
    workflow = read(ROOT / ".github" / "workflows" / "change.yml")
    assert commands(workflow) == [".ci/run"]
    pythons = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert [f"python{each}" for each in pythons] == re.findall(r"python3\.\d+", makefile.partition("$(READY): ")[2])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_what_there_is(path: Path) -> None:
    """Workflows name existing targets and files, and every job has a time limit."""
    workflow = read(path)
    for command in commands(workflow):
        words = command.split()
        assert words[1] in targets() if words[0] == "make" else (ROOT / words[0]).is_file()
    assert all(job["timeout-minutes"] <= 120 for job in workflow["jobs"].values())


@pytest.mark.parametrize("path", [path for path in FORMS if path.stem != "config"], ids=lambda path: path.stem)
def test_forms_ask_for_something(path: Path) -> None:
    """Issue forms have a name, a description, and fields with an id and a label."""
    form = read(path)
    assert form["name"]
    assert form["description"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields) > 0
    assert all(field["attributes"]["label"] for field in fields)


def test_hooks_call_what_there_is() -> None:
    """Each file of tests that a hook of pre-commit runs exists."""
    [local] = read(ROOT / ".pre-commit-config.yaml")["repos"]
    entries = [hook["entry"] for hook in local["hooks"]]
    assert [entry.split()[2] for entry in entries] == ["ruff", "ruff", "pytest", "pytest"]
    named = [word for entry in entries for word in entry.split() if word.endswith(".py")]
    assert named
    assert all((ROOT / word).is_file() for word in named)
