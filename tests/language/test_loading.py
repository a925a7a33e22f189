"""Finding models by name and path, importing them, and reading their text."""

from __future__ import annotations

import logging
import os
import py_compile
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.ir import load
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import ModelError, UsageError
from holdfast.ir.load import load_model, model_names
from holdfast.lang import Model
from tests.language.writing import HEADER, disagreement, errors_of

LAMP = f"""{HEADER}
class Lamp(Model):
    lit: bool

    tiny = Scope({{}})

    @init
    def start_dark(self) -> None:
        self.lit = False

    @action
    def press(self) -> None:
        self.lit = not self.lit
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working directory. Modules that the test imports are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def test_a_bare_name_is_looked_for_in_the_folder_models(folder: Path) -> None:
    """The bare name ``lamp`` means ``models/lamp.py`` in the working directory, and the folder's models are listed."""
    (folder / "models").mkdir()
    (folder / "models" / "lamp.py").write_text(LAMP)
    (folder / "models" / "_private.py").write_text(LAMP)

    assert load_model("lamp").__name__ == "Lamp"
    assert load_model("lamp:Lamp") is load_model("lamp")
    assert "lamp" in model_names()
    assert "_private" not in model_names()


def test_a_path_ends_in_py(folder: Path) -> None:
    """A path may be absolute or relative, and its file is loaded once."""
    (folder / "lamp.py").write_text(LAMP)

    assert load_model("lamp.py") is load_model(str(folder / "lamp.py")) is load_model("./lamp.py:Lamp")


def test_files_of_one_name_are_different_models(folder: Path) -> None:
    """The loader returns the model of the requested file, not of another file of the same name."""
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "lamp.py").write_text(LAMP.replace("Lamp", name.title()))

    assert [load_model(f"{name}/lamp.py").__name__ for name in ("one", "two", "one")] == ["One", "Two", "One"]


def test_a_module_is_named_after_its_file(folder: Path) -> None:
    """Messages and written files name a model's module after its file. Only a second file of the name has a hash.

    No other test has a file of this name, which would be the first one.
    """
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "lantern.py").write_text(LAMP)

    first, second = (load_model(f"{name}/lantern.py").__module__ for name in ("one", "two"))
    assert first == "_model_lantern"
    assert second.startswith("_model_lantern_")


@pytest.mark.parametrize("loaded", ["lamp.py", "pack/lamp.py", "pack/room.py"])
def test_a_compiled_file_of_another_text_is_not_loaded(folder: Path, loaded: str) -> None:
    """Python takes a compiled file for that of a source with the same time and size; the loader reads the source."""
    (folder / "pack").mkdir()
    (folder / "pack" / "__init__.py").write_text("")
    (folder / "pack" / "room.py").write_text("from pack.lamp import Lamp\n\n\nclass Room(Lamp):\n    pass\n")
    changed = folder / loaded.replace("room", "lamp")
    for size in (3, 9):
        changed.write_text(LAMP.replace("Scope({})", f"Scope({{}}, depth={size})"))
        os.utime(changed, (1e9, 1e9))
        if size == 3:
            py_compile.compile(str(changed))

    assert compile_model(load_model(loaded)).scope("tiny").depth == 9
    assert not (folder / "pack" / "__pycache__" / f"room.{sys.implementation.cache_tag}.pyc").exists()


def test_a_model_is_no_neighbour_of_another_folder(folder: Path) -> None:
    """A model imports the module beside it, also if a model of the module's name was loaded from another folder."""
    for name in ("one", "two"):
        (folder / name).mkdir()
    (folder / "one" / "lamp.py").write_text(LAMP)
    (folder / "two" / "lamp.py").write_text("WATTS = 40\n")
    (folder / "two" / "room.py").write_text(LAMP.replace("class Lamp", "from lamp import WATTS\n\n\nclass Lamp"))

    assert load_model("one/lamp.py").__name__ == "Lamp"
    load_model("two/room.py")
    assert sys.modules["lamp"].WATTS == 40


def test_a_model_imports_its_neighbours(folder: Path) -> None:
    """A model may extend a model of a neighbouring file, also in a package. Only its own classes are its models."""
    (folder / "pack").mkdir()
    (folder / "pack" / "__init__.py").write_text("")
    for place in ("", "pack."):
        path = folder / place.replace(".", "/")
        (path / f"part_of_{place[:-1]}.py").write_text(LAMP)
        (path / "whole.py").write_text(
            f"from {place}part_of_{place[:-1]} import Lamp\n\nclass Whole(Lamp):\n    pass\n"
        )

    assert load_model("whole.py").__name__ == load_model("pack/whole.py").__name__ == "Whole"


def test_a_package_that_another_one_hides_is_a_usage_error(folder: Path) -> None:
    """The loader never takes a file for a module of the same dotted name that was imported from elsewhere."""
    for name in ("here", "there"):
        (folder / name / "pack").mkdir(parents=True)
        (folder / name / "pack" / "__init__.py").write_text("")
        (folder / name / "pack" / "lamp.py").write_text(LAMP)
    load_model("here/pack/lamp.py")

    with pytest.raises(UsageError, match=r"there/pack/lamp.py is hidden by .*here/pack/lamp.py"):
        load_model("there/pack/lamp.py")


def test_the_model_that_extends_the_others_is_the_one(folder: Path) -> None:
    """If the models in a file form a chain, the last one is loaded. If several are last, the user has to name one."""
    (folder / "lamp.py").write_text(f"{LAMP}\nclass Spot(Lamp):\n    pass\n")
    (folder / "lamps.py").write_text(f"{LAMP}\nclass Spot(Lamp):\n    pass\n\nclass Torch(Lamp):\n    pass\n")

    assert load_model("lamp.py").__name__ == "Spot"
    assert load_model("lamps.py:Lamp").__name__ == "Lamp"
    with pytest.raises(UsageError, match=r"defines several models; name one: lamps.py:Spot, lamps.py:Torch"):
        load_model("lamps.py")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lamb", "there is no model 'lamb'; did you mean lamp?"),
        ("lam", "there is no model 'lam'; did you mean lam.py, lamp?"),
        ("zzz", "there is no model 'zzz'; `holdfast models` lists all models"),
        ("", "there is no model ''; "),
        ("..", "there is no model '..'; "),
        ("nowhere.py", "there is no model file nowhere.py; give a path to a .py file"),
        ("models/", "there is no model file models/; "),
        ("models/lamp.py:Torch", "models/lamp.py has no model 'Torch'; it has: Lamp"),
        ("empty.py", "empty.py defines no model; write a class of holdfast.lang.Model"),
        ("empty.py:Lamp", "empty.py has no model 'Lamp'; it has: none"),
    ],
)
def test_what_is_not_there_is_a_usage_error(folder: Path, text: str, message: str) -> None:
    """The message names the model that was asked for, and the remedy."""
    (folder / "models").mkdir()
    (folder / "models" / "lamp.py").write_text(LAMP)
    (folder / "lam.py").write_text(LAMP)
    (folder / "empty.py").write_text("from holdfast.lang import Model\n")

    with pytest.raises(UsageError) as refused:
        load_model(text)

    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("class Lamp(Model:\n    pass\n", "broken.py:1:17: class Lamp(Model:: invalid syntax"),
        (
            "x = 1\ny = x / 0\n",
            "broken.py:2:1: y = x / 0: ZeroDivisionError: division by zero; correct the error that the import raises",
        ),
        ("import nothing_of_this_name\n", "broken.py:1:1: import nothing_of_this_name: ModuleNotFoundError: No module"),
        ("def f():\n    raise SystemExit\nf()\n", "broken.py:2:1: raise SystemExit: SystemExit; correct"),
        ("raise ValueError('one\\ntwo')\n", "broken.py:1:1: raise ValueError('one\\ntwo'): ValueError: one; correct"),
        ("x = 'a\x00b'\n", "broken.py:1:1: "),
    ],
)
def test_a_file_that_fails_on_import_is_a_model_error(folder: Path, source: str, message: str) -> None:
    """The message is one line and names the line of the model that fails."""
    (folder / "broken.py").write_text(source)

    with pytest.raises(ModelError) as refused:
        load_model("broken.py")

    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


def test_a_failure_in_a_neighbour_names_the_neighbour(folder: Path) -> None:
    """The error names the innermost line within the model's folder."""
    (folder / "part.py").write_text("\n\nLIMIT = int('many')\n")
    (folder / "whole.py").write_text("from part import LIMIT\n")

    with pytest.raises(ModelError, match=r"^part.py:3:1: LIMIT = int\('many'\): ValueError: "):
        load_model("whole.py")


def test_a_declared_encoding_is_respected(folder: Path) -> None:
    """The compiler reads the bytes that CPython ran."""
    (folder / "lamp.py").write_bytes(f"# -*- coding: latin-1 -*-\n{LAMP}    'Ein Lämpchen.'\n".encode("latin-1"))
    system = compile_model(load_model("lamp.py"))

    assert disagreement(system) is None


def test_a_class_that_no_file_holds_is_refused() -> None:
    """A class made with ``type`` or ``exec`` has no source text, so it is refused."""
    space: dict[str, type] = {"__name__": "nowhere"}
    exec(LAMP, space)  # noqa: S102 - the point of the test

    with pytest.raises(ModelError, match="class Lamp: its source file is unknown; write it to a file"):
        compile_model(space["Lamp"])


def test_a_class_that_a_file_does_not_spell_out_is_refused(folder: Path) -> None:
    """A class that a call makes has a file but no class text in it, so it is refused."""
    (folder / "lamp.py").write_text(f"{LAMP}\nTorch = type('Torch', (Lamp,), {{'__module__': __name__}})\n")

    with pytest.raises(ModelError, match=r"^lamp.py:1:1: class Torch: it is not at the top level of its file; move"):
        compile_model(load_model("lamp.py:Torch"))


def test_a_model_nested_beyond_all_measure_is_refused(folder: Path) -> None:
    """Nesting that Python imports, but that is too deep for the compiler, is refused in one line."""
    (folder / "lamp.py").write_text(
        f"{LAMP}\n    @invariant\n    def odd(self) -> bool:\n        return {'not ' * 900}self.lit\n"
    )

    with pytest.raises(ModelError, match=r"^lamp.py:2:1: class Lamp: an expression is nested too deeply"):
        compile_model(load_model("lamp.py"))


@pytest.mark.parametrize("before", ["self.lit", " and ".join(["self.lit"] * 400)], ids=["short", "wide"])
@pytest.mark.parametrize(("depth", "fits"), [(90, True), (105, False)])
def test_the_limit_of_nesting_is_the_same_everywhere(folder: Path, before: str, depth: int, fits: bool) -> None:
    """A nested expression is accepted or refused alike, however many expressions of its property stand before it."""
    (folder / "lamp.py").write_text(
        f"{LAMP}\n    @invariant\n    def odd(self) -> bool:\n        return {before} and {'not ' * depth}self.lit\n"
    )
    if fits:
        assert compile_model(load_model("lamp.py")).name == "Lamp"
    else:
        with pytest.raises(ModelError, match="an expression is nested too deeply"):
            compile_model(load_model("lamp.py"))


def test_a_model_keeps_its_module_when_another_file_of_its_name_is_loaded(folder: Path) -> None:
    """A loaded model keeps the sorts of its own file when another file of the same name is loaded."""
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "lamp.py").write_text(LAMP)
    one, two = load_model("one/lamp.py"), load_model("two/lamp.py")

    assert sys.modules[one.__module__].Lamp is one
    assert sys.modules[two.__module__].Lamp is two


ODD = "class Odd({base}):\n    def __str__(self):\n        {does}\n\n\nraise Odd({text})\n"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (ODD.format(base="Exception", does="raise ValueError", text=""), "raise Odd(): Odd: its text cannot be made; "),
        (ODD.format(base="Exception", does="return 7", text=""), "raise Odd(): Odd: its text cannot be made; "),
        (ODD.format(base="BaseException", does="raise KeyboardInterrupt", text=""), "Odd: its text cannot be made; "),
        (ODD.format(base="BaseException", does="return 'a' * 5000", text=""), f"Odd: {'a' * 297}...; correct"),
        ("raise GeneratorExit\n", "raise GeneratorExit: GeneratorExit; correct the error"),
        ("assert 1 > 2\n", "assert 1 > 2: AssertionError; correct the error that the import raises"),
        ("raise SyntaxError\n", "broken.py:1:1: broken.py: no syntax; mend the syntax"),
        (
            "error = SyntaxError('x', ('a.py', -3, -1, 7))\nerror.lineno = 'x'\nraise error\n",
            "a.py:1:1: broken.py: x; mend the syntax",
        ),
    ],
)
def test_whatever_an_import_raises_is_a_model_error(folder: Path, source: str, message: str) -> None:
    """Any exception of a model's file is one line, also if it is no Exception, or if its text raises another one."""
    (folder / "broken.py").write_text(source)

    with pytest.raises(ModelError) as refused:
        load_model("broken.py")

    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_import_that_takes_long_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After some seconds a warning names the file whose import goes on."""
    said: list[str] = []

    class Noting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())
            late.set()

    late = threading.Event()
    monkeypatch.setattr(load, "LATE", 0.01)
    monkeypatch.setattr(threading, "late", late, raising=False)
    handler = Noting()
    monkeypatch.setattr(load._LOG, "propagate", False)
    load._LOG.addHandler(handler)
    (folder / "late.py").write_text(f"{LAMP}\n\nimport threading\nassert threading.late.wait(60)\n")
    load_model("late.py")
    load._LOG.removeHandler(handler)
    remedy = "end it with Ctrl-C, and look for a loop in the file"
    assert said == [f"late.py: its import has taken 0.01 s and goes on; {remedy}"]


def test_a_second_name_of_a_model_is_no_second_model(folder: Path) -> None:
    """A model that the module also has under another name is the only model."""
    (folder / "alias.py").write_text(f"{LAMP}\n\nAlias = Lamp\n")
    assert load_model("alias.py").__name__ == "Lamp"


@pytest.mark.parametrize("text", ["sys.stdout = sys.stderr = None", "sys.stdin = 7"])
def test_a_file_does_not_change_the_standard_streams(folder: Path, text: str) -> None:
    """A model's file that replaces the standard streams changes nothing for the command."""
    before = sys.stdin, sys.stdout, sys.stderr
    (folder / "lamp.py").write_text(f"{LAMP}\n\nimport sys\n{text}\n")
    load_model("lamp.py")
    assert (sys.stdin, sys.stdout, sys.stderr) == before


def test_the_names_that_are_taken_are_listed(tmp_path: Path) -> None:
    """The page of the language and the refusal list all names of ``Model``, and each of them is refused."""
    taken = sorted(name for name in {*vars(Model), *Model.__annotations__} if not name.startswith("_"))
    page = (Path(__file__).parents[2] / "docs" / "language.md").read_text(encoding="utf-8")

    assert taken == ["at", "copy", "holds", "refusal", "start", "take"]
    assert f"by-hand): {', '.join(f'`{name}`' for name in taken)}." in " ".join(page.split())
    for name in taken:
        folder = tmp_path / name
        folder.mkdir()
        [error] = errors_of(folder, f"class M(Table):\n    {name}: bool\n")
        assert error.endswith(
            f"{name}: Model itself has this name; give it another name; taken are: {', '.join(taken)}"
        )
