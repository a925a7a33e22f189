"""The statements of docs/architecture.md about the repository: its folders, paths, functions, and import rule."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache

import pytest

from tests.docs.fences import ROOT, blocks
from tests.docs.test_pages import prose
from tests.repo.test_imports import ALLOWED, SINGLE, imports, within

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")

WALKS = (
    "A model's source to a verdict",
    "A state through the kernel",
    "A counterexample to the terminal and to ITF",
    "A seed to a finding on a page",
)
"""The sections whose numbered steps each name a function or a class."""

SPAN = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"\S*/\S*|\S+\.(?:md|py|toml)")
NAMED = re.compile(r"`([^`\s]+\.py)`\s+`([\w.]+)`((?:,\s+`[\w.]+`)*)")
"""A file and, directly after it, one name or several: `` `spark/cluster/ship.py` `code_archive`, `kernels` ``."""

INNER = re.compile(r"\.github/.|tests/[^/]+/.")
"""Folders that the tree leaves out: the parts of ``.github/``, and test data inside the folders of ``tests/``."""


def section(page: str, title: str) -> str:
    """The text below a heading of the page, up to the next heading."""
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def files() -> list[str]:
    """The files of the repository, including new files that git does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def folders(names: Iterable[str]) -> list[str]:
    """The folders with one of these files directly in them, except for folders that the page's tree leaves out."""
    found = {name.rpartition("/")[0] for name in names}
    return sorted(folder for folder in found if folder and not INNER.match(folder))


def wrong_folders(page: str, wanted: Iterable[str]) -> list[str]:
    """Folders that the tree lacks, has twice, or has although they are gone; and lines that name no folder."""
    [tree] = [block for block in blocks(section(page, "The tree")) if block.language == "text"]
    lines = [re.fullmatch(r"(\S+)/ {2,}\S.*", line) for line in tree.lines]
    shown = [line[1] for line in lines if line is not None]
    wrong = [f"no folder: {text}" for text, line in zip(tree.lines, lines, strict=True) if line is None]
    wrong += [f"lacks {name}" for name in wanted if name not in shown]
    wrong += [f"gone: {name}" for name in shown if name not in wanted]
    return wrong + [f"twice: {name}" for name in sorted(set(shown)) if shown.count(name) > 1]


def wrong_paths(page: str) -> list[str]:
    """Texts in backquotes with the form of a path that is not in the repository."""
    return [span for span in SPAN.findall(prose(page)) if PATH.fullmatch(span) and not (ROOT / span).exists()]


def named(text: str) -> Iterator[tuple[str, str]]:
    """Each file of a text, with a name that the text says is defined in it."""
    for file, first, others in NAMED.findall(text):
        for name in (first, *SPAN.findall(others)):
            yield file, name


@cache
def definitions(file: str) -> frozenset[str]:
    """The functions, classes and constants of a file, and the methods of its classes, as ``Class.method``."""
    found = set()
    for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name):
                found.add(name)
            case ast.ClassDef(name=name, body=body):
                found |= {name, *(f"{name}.{each.name}" for each in body if isinstance(each, ast.FunctionDef))}
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.Assign(targets=targets):
                found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(found)


def wrong_names(page: str) -> list[str]:
    """Names directly after a file on the page that the file does not define. Missing files are reported as paths."""
    pairs = [(file, name) for file, name in named(prose(page)) if (ROOT / file).exists()]
    return [f"{file}: {name}" for file, name in pairs if name not in definitions(file)]


def steps(page: str, title: str) -> list[str]:
    """The numbered steps of a section."""
    return re.split(r"^\d+\. ", section(page, title), flags=re.MULTILINE)[1:]


def vague_steps(page: str) -> list[str]:
    """The steps of the walks that name no function or class."""
    return [step.partition(". ")[0] for title in WALKS for step in steps(page, title) if not any(named(step))]


def first_files(page: str) -> list[str]:
    """The files to read first, each with a sentence."""
    return re.findall(r"^\d+\. `([^`]+)`: \S.*$", section(page, "Ten files to read first"), flags=re.MULTILINE)


def rows(page: str, header: str) -> Iterator[list[str]]:
    """The cells of each row of the table whose first column has that header."""
    table = page.partition(f"\n| {header} |")[2].partition("\n\n")[0]
    for line in table.splitlines()[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def full_name(name: str) -> str:
    """A package's full name, as the import test uses it: the page leaves out ``holdfast.``."""
    return name if name.partition(".")[0] in ("impl", "models", "reports", "spark") else f"holdfast.{name}"


def import_rule(page: str) -> dict[str, set[str]]:
    """For each package, the packages that the page allows it to import."""
    rule = {}
    for packages, others, _ in rows(page, "package"):
        allowed = {full_name(name) for name in SPAN.findall(others)}
        for package in SPAN.findall(packages):
            rule[full_name(package)] = allowed
    return rule


def wrong_libraries(page: str) -> list[str]:
    """Libraries that the page lacks or lists at the wrong place."""
    pairs = [
        (library, place)
        for libraries, places, _ in rows(page, "library")
        for library, place in zip(SPAN.findall(libraries), SPAN.findall(places), strict=True)
    ]
    wrong = [f"lacks {library}" for library in SINGLE if library not in dict(pairs)]
    for library, place in pairs:
        wanted = SINGLE.get(library)
        if wanted in ("one module", "one module of a package"):
            right = place.endswith(".py") and any(
                within(name, [library]) for _, name in imports((ROOT / place).read_text(encoding="utf-8"))
            )
        else:
            right = wanted is not None and place == f"{wanted.replace('.', '/')}/"
        wrong += [] if right else [f"{library}: {place}"]
    return wrong


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a clone says which folders belong to the repository")
def test_the_tree_has_every_folder() -> None:
    """Each folder with a file of its own has a line in the tree, and each line is such a folder."""
    wanted = folders(files())
    assert len(wanted) > 50
    assert wrong_folders(PAGE, wanted) == []


def test_every_path_exists() -> None:
    """Every text in backquotes with the form of a path is a file or a folder."""
    assert wrong_paths(PAGE) == []


def test_every_name_stands_in_its_file() -> None:
    """A name directly after a file is a function, class, method or constant of that file."""
    assert wrong_names(PAGE) == []


def test_every_step_names_what_takes_it() -> None:
    """Each numbered step of the four walks names a function or class with its file."""
    assert all(len(steps(PAGE, title)) > 5 for title in WALKS)
    assert vague_steps(PAGE) == []


def test_there_are_ten_files_to_read_first() -> None:
    """The page names ten different files, and all of them exist."""
    files = first_files(PAGE)
    assert len(files) == len(set(files)) == 10
    assert [file for file in files if not (ROOT / file).is_file()] == []


def test_the_import_rule_is_the_one_that_is_checked() -> None:
    """The table has the import test's packages, and allows each package the same imports as the test."""
    assert import_rule(PAGE) == {package: set(names) - {package} for package, names in ALLOWED.items()}


def test_every_library_has_its_place() -> None:
    """The table has the import test's libraries, each at the place that imports it."""
    assert wrong_libraries(PAGE) == []


SAMPLE = """
## The tree

```text
spark/cluster/  tasks
tests/lost/  a folder that is gone
tests/lost/  the same again
not a folder
```

## Who may import whom

| package | may also import | why |
|---|---|---|
| `lang` | `ir` | too much |
| `reports`, `models` | `models.parts` | two packages in one row |

| library | place | why there |
|---|---|---|
| `llvmlite`, `scipy` | `spark/`, `spark/campaign/work.py` | neither is right |

## A seed to a finding on a page

1. Right. `spark/cluster/ship.py` `code_archive`, `kernels` and `spark/campaign/config.py` `Config.seed_of`.
2. Wrong. `spark/cluster/ship.py`
   `code_archive`, `airmail` and `spark/campaign/config.py` `Config.tree_of`, by `holdfast campaign --out runs/a`.
3. Gone. `spark/post.py` `send`, `docs/lost/`, `LOST.md`.
4. Vague. `spark/cluster/ship.py` does it.

## Ten files to read first

1. `spark/cluster/ship.py`: a sentence.
2. `spark/campaign/work.py`:
"""


def test_what_is_wrong_is_seen() -> None:
    """The checks find a wrong folder, path, name, step, file, import and library, and accept right ones."""
    names = ["README.md", "spark/cluster/ship.py", ".ci/run", "tests/docs/a.py", "tests/docs/golden/b.md", "tests/c.py"]
    wanted = folders(names)

    assert wanted == [".ci", "spark/cluster", "tests", "tests/docs"]
    assert wrong_folders(SAMPLE, wanted) == [
        "no folder: not a folder",
        *("lacks .ci", "lacks tests", "lacks tests/docs"),
        *("gone: tests/lost", "gone: tests/lost", "twice: tests/lost"),
    ]
    assert wrong_paths(SAMPLE) == ["spark/post.py", "docs/lost/", "LOST.md"]
    assert wrong_names(SAMPLE) == ["spark/cluster/ship.py: airmail", "spark/campaign/config.py: Config.tree_of"]
    assert vague_steps(SAMPLE) == ["Vague"]
    assert first_files(SAMPLE) == ["spark/cluster/ship.py"]
    assert import_rule(SAMPLE) == {
        "holdfast.lang": {"holdfast.ir"},
        "reports": {"models.parts"},
        "models": {"models.parts"},
    }
    assert wrong_libraries(SAMPLE) == [
        *(f"lacks {library}" for library in SINGLE if library not in ("llvmlite", "scipy")),
        *("llvmlite: spark/", "scipy: spark/campaign/work.py"),
    ]
