"""Opening a run executes no model that only the run names: the user names it, or it comes along with Holdfast."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.check.verify.manifest import MANIFEST, read_manifest
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_model, model_names
from holdfast.ir.trust import FOLDER, UntrustedModelError, check_bundled, is_bundled
from holdfast.runs.loading import RunSource, open_trace
from tests.cli.running import Run
from tests.cli.samples import COUNTER
from tests.conform.walked_logs import lines

STEPS = "tiny #0000000000000000 -: grow(n1,1)"

Forms = pytest.mark.parametrize("form", ["itf", "line", "command"])


@pytest.fixture(autouse=True)
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the model evil.py writes when it is executed. The working directory is the model's folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "canary"
    Path("evil.py").write_text(f"{COUNTER}\nopen({str(path)!r}, 'w').close()\n")
    return path


def run_file(form: str, target: str) -> str:
    """A file with a run of this model, in one of the forms that name a model."""
    path = Path(f"run.{form}")
    if form == "itf":
        meta = {"fingerprint": "f", "source": target, "scope": "tiny"}
        path.write_text(json.dumps({"#meta": meta, "vars": ["value"], "states": [{"value": {"#map": [["n1", 0]]}}]}))
    else:
        path.write_text(f"{'replay:    holdfast replay ' if form == 'command' else ''}'{target} {STEPS}'\n")
    return str(path)


@Forms
@pytest.mark.parametrize("verb", ["show", "replay", "shrink", "explore"])
def test_a_file_does_not_choose_what_is_executed(holdfast: Run, canary: Path, form: str, verb: str) -> None:
    """A file that names another model is one line, which says what to add; nothing of the model is executed."""
    file = run_file(form, "evil.py")
    ran = holdfast(verb, file)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"holdfast: {file}: names the model evil.py, which does not come along with holdfast, and a file does not "
        "choose what is executed; add --model evil.py if you trust that model\n"
    )
    assert not canary.exists()


def test_nor_does_standard_input(holdfast: Run, canary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line on standard input counts as a file: the output of a command may be foreign."""
    monkeypatch.setattr("sys.stdin", io.StringIO(f"evil.py {STEPS}\n"))
    ran = holdfast("replay", "-")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("holdfast: standard input: names the model evil.py, ")
    assert not canary.exists()


def test_nor_does_a_file_of_a_scenario(holdfast: Run, canary: Path) -> None:
    """Making a scenario of a file follows the same rule."""
    ran = holdfast("scenario", "from-trace", run_file("line", "evil.py"), "--out", "out.yaml")
    assert (ran.code, ran.out) == (2, "")
    assert "add --model evil.py" in ran.err
    assert not canary.exists()


@Forms
def test_the_user_may_name_the_model(canary: Path, form: str) -> None:
    """With ``--model`` the model is executed; so the tests above look at the right file."""
    assert open_trace(run_file(form, "evil.py"), model="evil.py").trace.length == (0 if form == "itf" else 1)
    assert canary.exists()


def test_a_line_that_the_user_writes_names_its_model(canary: Path) -> None:
    """On the command line the user writes the line, and so names the model."""
    assert open_trace(f"evil.py {STEPS}").trace.length == 1
    assert canary.exists()


@pytest.mark.parametrize("target", ["ownership", str(FOLDER / "ownership.py"), f"{FOLDER}/ownership.py:Ownership"])
def test_models_that_come_along_may_be_named(target: str) -> None:
    """A file may name a model of the package, by name or by path."""
    Path("run.txt").write_text(f"'{target} tiny -ST-14 #0000000000000000 -: init(True)'")
    assert open_trace("run.txt").trace.length == 0


def test_all_models_of_the_package_come_along() -> None:
    """The folder of the package is the one in which bare names are found, and a missing model is not bundled."""
    assert all(is_bundled(name) for name in model_names())
    assert not is_bundled("no_such_model")


def test_a_model_of_the_working_directory_does_not_come_along(canary: Path) -> None:
    """A file's bare name that means a model of the working directory is refused, also if the package has that name."""
    Path("models").mkdir()
    Path("models/ownership.py").write_bytes(Path("evil.py").read_bytes())
    with pytest.raises(UntrustedModelError, match=r"names the model ownership, .* add --model ownership if"):
        open_trace(run_file("line", "ownership"))
    assert not canary.exists()


def test_a_link_into_another_folder_does_not_count(canary: Path) -> None:
    """A path counts by the file that it leads to, through links and through dots."""
    Path("link").symlink_to(FOLDER)
    check_bundled("link/ownership.py", "run.txt")
    with pytest.raises(UntrustedModelError):
        check_bundled(f"{FOLDER}/../../{'../' * len(FOLDER.parts)}{canary.with_name('evil.py')}", "run.txt")


def test_the_remedy_can_be_pasted(canary: Path) -> None:
    """The name of a model with blanks is quoted for a shell, and ``--model`` takes it."""
    Path("my evil.py").write_bytes(Path("evil.py").read_bytes())
    with pytest.raises(UntrustedModelError, match=r"add --model 'my evil\.py' if"):
        open_trace(run_file("itf", "my evil.py"))
    assert RunSource.parse("my evil.py") == RunSource("my evil.py")
    assert not canary.exists()


def test_naming_the_same_model_keeps_the_rest_of_the_run(holdfast: Run) -> None:
    """With the model that the file names, the run has the same command and seed as without ``--model``."""
    Path("broken.py").write_text(COUNTER.replace("self.value[n] > Count(0) for n", "self.value[n] < Count(2) for n"))
    holdfast("check", "broken.py", "--scope", "tiny", "--keep-going", "--itf", "broken.itf.json")
    opened = open_trace("broken.itf.json", model="broken.py")
    assert opened.trace.options == ("--keep-going",)
    assert open_trace("broken.itf.json", model="broken.py default").trace.options is None


def test_a_manifest_names_models_of_its_folder(canary: Path) -> None:
    """An entry of a manifest names a file of the folder; it cannot lead to another folder."""
    folder = Path("somewhere")
    folder.mkdir()
    entry = {"model": "../evil", "scope": "tiny", "verdict": "exhausted", "exit_code": 0}
    (folder / MANIFEST).write_text(json.dumps([entry]))
    with pytest.raises(UsageError, match=r"manifest\.json: is no manifest \('\.\./evil' is no name of a model\)"):
        read_manifest(folder)
    assert not canary.exists()


# What is executed beside a model -------------------------------------------------------------------------------------


def test_a_model_alone(canary: Path) -> None:
    """Alone, a model is imported without the package and the modules around it."""
    folder = Path("package")
    folder.mkdir()
    (folder / "__init__.py").write_bytes(Path("evil.py").read_bytes())
    (folder / "counted.py").write_text(COUNTER)
    before = list(sys.path)
    assert load_model("package/counted.py", alone=True).__name__ == "Counter"
    assert sys.path == before
    assert not canary.exists()


def test_a_package_of_the_same_name_is_not_executed(canary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If Python would find another package of that name first, the model is refused before that one is executed."""
    for folder in (Path("first/boxed"), Path("second/boxed")):
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_bytes(Path("evil.py").read_bytes() if folder.parent.name == "first" else b"")
        (folder / "counted.py").write_text(COUNTER)
    monkeypatch.setattr(sys, "path", [str(Path("first").resolve()), str(Path("second").resolve()), *sys.path])
    with pytest.raises(UsageError, match=r"is hidden by .*first/boxed, which is imported as boxed too"):
        load_model("second/boxed/counted.py")
    assert not canary.exists()


def test_conform_executes_nothing_beside_its_run(canary: Path) -> None:
    """``conform --run`` writes a model file and compiles it; other files of that folder stay unexecuted."""
    folder = Path("theirs")
    folder.mkdir()
    for name in ("__init__.py", "ownership.py", "json.py", "difflib.py"):
        (folder / name).write_text(f"open({str(canary)!r}, 'w').close()\n")
    (folder / "log.ndjson").write_text("".join(f"{json.dumps(line)}\n" for line in lines("ownership", 2, 20)))
    words = [sys.executable, "-m", "holdfast", "conform", "ownership", "theirs/log.ndjson", "--run", "theirs/run.py"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ran.returncode, "replay: " in ran.stdout) == (0, True), ran.stderr
    assert not canary.exists()
