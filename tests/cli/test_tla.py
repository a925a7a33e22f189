"""``holdfast tla``: files are written, kept and compared, and files written by hand are never overwritten."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from holdfast.cli import tla
from tests.cli.running import Run
from tests.cli.samples import COUNTER

ROOT = Path(__file__).parents[2]
FILES = ["counter.tla", "counter_tiny.cfg", "counter_tiny.tla"]


@pytest.fixture
def counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a model in models/."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "counter.py").write_text(COUNTER)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def kept(folder: Path) -> list[str]:
    """The names of the files in spec/."""
    return sorted(path.name for path in (folder / "spec").iterdir())


def test_a_model_is_written_once(holdfast: Run, counter: Path) -> None:
    """The first time every file is written, the second time none; --check then ends 0."""
    first = holdfast("tla", "counter")
    assert (first.code, kept(counter)) == (0, FILES)
    assert first.out == "".join(f"spec/{name}\n" for name in FILES) + "3 files written, 0 as they were\n"
    assert holdfast("tla", "counter").out == "0 files written, 3 as they were\n"
    checked = holdfast("tla", "counter", "--check")
    assert (checked.code, checked.out) == (0, "spec: 3 files are what the models say\n")


def test_check_names_each_difference(holdfast: Run, counter: Path) -> None:
    """A changed and a missing file end with 1, and nothing is written."""
    holdfast("tla", "counter")
    module, scope = counter / "spec" / "counter.tla", counter / "spec" / "counter_tiny.tla"
    changed = module.read_text().replace("c > value[n]", "c >= value[n]")
    module.write_text(changed)
    scope.unlink()
    found = holdfast("tla", "counter", "--check")
    assert found.code == 1
    assert found.out.splitlines()[:2] == [
        "spec/counter_tiny.tla: is missing",
        "spec/counter.tla: differs from the module generated from the model",
    ]
    assert module.read_text() == changed
    assert not scope.exists()


def test_a_changed_comparison_in_spec_is_noticed(holdfast: Run, tmp_path: Path) -> None:
    """If a comparison in a stored module is changed, the command that CI runs ends with 1."""
    shutil.copytree(ROOT / "spec", tmp_path / "spec")
    assert holdfast("tla", "ownership", "--check", "--out", tmp_path / "spec").code == 0
    module = tmp_path / "spec" / "ownership.tla"
    text = module.read_text()
    assert "    /\\ node_epoch[n] <= incarnation[p]  \\* CK-01.expired" in text
    module.write_text(text.replace("node_epoch[n] <= incarnation[p]", "node_epoch[n] < incarnation[p]", 1))
    found = holdfast("tla", "ownership", "--check", "--out", tmp_path / "spec")
    assert (found.code, f"{module}: differs from the module generated from the model" in found.out) == (1, True)


def test_what_is_left_over_goes(holdfast: Run, counter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--check names a module without a model, and writing removes it; other files stay."""
    monkeypatch.setattr(tla, "model_names", lambda: ["counter"])
    spec = counter / "spec"
    (counter / "models" / "other.py").write_text(COUNTER)
    holdfast("tla", "counter", "other")
    (spec / "Lease.tla").write_text("---- MODULE Lease ----\n====\n")
    found = holdfast("tla", "--check")
    assert (found.code, found.out.splitlines()[0]) == (1, "spec/other.tla: has no model any more")
    assert "spec/other.tla: removed\n" in holdfast("tla").out
    assert kept(counter) == ["Lease.tla", *FILES]
    assert holdfast("tla", "--check").code == 0


@pytest.mark.parametrize("name", ["counter.tla", "Counter.tla"])
def test_what_is_written_by_hand_is_not_overwritten(holdfast: Run, counter: Path, name: str) -> None:
    """A module that was not generated is not overwritten, also if its name differs from the model's in case only."""
    module = counter / "spec" / name
    module.parent.mkdir()
    module.write_text("---- MODULE counter ----\n====\n")
    refused = holdfast("tla", "counter")
    assert refused.code == 2
    assert refused.err == f"holdfast: spec/{name} was not generated and would be lost; rename it, or choose --out\n"
    assert kept(counter) == [name]


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["counter", "--without", "CT-01"], "spec/ holds the unchanged models"),
        (["counter", "--scope", "default"], "spec/ holds the unchanged models"),
        (["counter", "--scope", "huge", "--out", "x"], "Counter has no scope 'huge'; it has: tiny, default"),
        (["gone"], "there is no model 'gone'"),
        (["counter", "models/counter.py"], "another model of this command is written to counter.tla too"),
        (["counter", "--out", "models/counter.py/x"], "Not a directory"),
    ],
)
def test_wrong_arguments_are_one_line(holdfast: Run, counter: Path, argv: list[str], problem: str) -> None:
    """Each wrong argument ends with 2 and a line that names it."""
    assert counter.is_dir()
    refused = holdfast("tla", *argv)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert problem in refused.err


def test_a_file_that_is_no_text_is_named(holdfast: Run, counter: Path) -> None:
    """A binary file among the modules gives one line that names it."""
    (counter / "spec").mkdir()
    (counter / "spec" / "odd.tla").write_bytes(b"\xff\xfe")
    refused = holdfast("tla", "counter")
    assert (refused.code, "spec/odd.tla: is no text" in refused.err) == (2, True)


def test_another_version_goes_to_another_folder(holdfast: Run, counter: Path) -> None:
    """With --out, variants and models without rules are written too, in any scope."""
    assert holdfast("tla", "counter", "--without", "CT-01", "--scope", "default", "--out", "x").code == 0
    text = (counter / "x" / "counter.tla").read_text()
    assert "Without CT-01." in text
    assert "MaxCount = 3" in (counter / "x" / "counter_default.cfg").read_text()
