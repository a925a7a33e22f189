"""The allowed imports: cli -> records -> check -> runs -> trace -> lower -> ir <- lang.

Models import only the language and their parts. The implementation imports only itself, so that the models can judge it
independently; its folder ``bridge`` alone knows both.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("holdfast", "impl", "models", "reports", "spark")
SOURCES = sorted(path for folder in PACKAGES for path in (ROOT / folder).rglob("*.py"))

ENGINE = ["holdfast.check", "holdfast.runs", "holdfast.trace", "holdfast.lower", "holdfast.ir"]

ALLOWED = {
    "holdfast.testing": ["holdfast.check", "holdfast.runs", "holdfast.trace", "holdfast.lower", "holdfast.ir"],
    "holdfast.pytest": ["holdfast.check", "holdfast.runs", "holdfast.trace", "holdfast.lower", "holdfast.ir"],
    "holdfast.cli": ["holdfast.cli", "holdfast.records", *ENGINE],
    "holdfast.records": ["holdfast.records", *ENGINE],
    "holdfast.check": ENGINE,
    "holdfast.runs": ["holdfast.runs", "holdfast.trace", "holdfast.lower", "holdfast.ir"],
    "holdfast.trace": ["holdfast.trace", "holdfast.lower", "holdfast.ir"],
    "holdfast.lower": ["holdfast.lower", "holdfast.ir", "holdfast.lang"],
    "holdfast.lang": ["holdfast.lang", "holdfast.ir.marks"],
    "holdfast.ir": ["holdfast.ir"],
    "impl.cli": ["impl", "holdfast.cli", "holdfast.records", "holdfast.check", "holdfast.ir"],
    "impl.bridge": ["impl", "holdfast.check", "holdfast.runs", "holdfast.trace", "holdfast.lower", "holdfast.ir"],
    "impl": ["impl"],
    "models": ["holdfast.lang", "models.parts"],
    "reports": ["reports", "holdfast.records", "holdfast.ir"],
    "spark": ["spark", "reports.page", "holdfast.records", *ENGINE],
}
"""For each package, the most specific first: the modules of this repository that it may import."""

EXCEPTIONS = {
    "holdfast.__main__": ["holdfast.cli"],
    "holdfast.cli.starter": ["holdfast.lang"],  # the model that `holdfast new` writes
    "spark.campaign.balancer_target": ["impl"],  # campaigns know the implementation here
    "spark.campaign.cluster_target": ["impl"],  # and here
    "spark.cli.cluster_options": ["impl.cli.cluster_settings", "impl.cli.question"],
    "spark.cli.look": ["holdfast.cli"],
    "spark.cli.run": ["holdfast.cli"],
}

EXTENDED = {
    "models.cancellation": "models.reassignment",
}
"""Models that extend another model. No other model may import a model."""

SHARED = {
    "holdfast.cli": "a command parses and prints",
    "holdfast.lower": "all lowerings of a system stand side by side",
    "holdfast.records": "all answers become records in one place, and no verb may import it",
}
"""Packages whose modules stay there even if only one verb needs them, with the reason."""

COMMANDS = {"check": "search", "rule": "rules"}
"""The commands that have another name than the folder of their verb."""

LAYERS = {
    "holdfast.lower": ["outcome", "statistics", "map_text", "element_names", "scope_limits", "layout", "renaming_group",
                       "canonical_form", "symmetry", "random_runs",
                       "python", "graph", "provenance", "kernel", "smt", "tla"],
    "holdfast.runs": ["selection", "where", "starts", "rebuilding", "judge", "lasso_judge", "replay", "matching",
                      "missing", "with_rules", "shrink", "why", "loading", "explorer", "refusals"],
    "holdfast.check": ["json_values", "interrupt", "temporary_folder", "budget", "handover", "worker_pool", "result",
                       "figures", "summary", "java", "search", "walk", "live", "prove", "diff", "tlc", "mutate",
                       "rules", "conform", "verify"],
    "spark": ["cluster", "campaign", "search", "cli"],
    "holdfast.check.conform": ["logs", "dumps", "mappings", "judge", "answer", "walks", "dump_log", "judge_log"],
}  # fmt: skip
"""The folders and modules of each package, lowest first: each may import only the earlier ones."""

SINGLE = {
    "boto3": "one module of a package",  # files of campaigns, and objects of nodes
    "hypothesis": "one module",
    "jinja2": "one module",
    "networkx": "one module",
    "llvmlite": "holdfast.lower.kernel.llvm",
    "moto": "one module",
    "obstore": "one module",
    "pyarrow": "spark",
    "pyspark": "one module",
    "pytest": "one module",
    "scipy": "one module",
    "textual": "holdfast.cli.explorer",
    "z3": "holdfast.lower.smt",
}
"""Libraries that are optional or slow to load, and the package or module that may import each."""


def module_name(path: Path) -> str:
    """The dotted name of a source file of this repository."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(source: str) -> tuple[tuple[int, str], ...]:
    """Every module or name that the source imports, with its line. Imports within functions count too."""
    return tuple(_imports(ast.parse(source)))


def _imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield node.lineno, "." * node.level + (node.module or "")
            else:
                # `from holdfast import check` imports holdfast.check, so the name counts as well.
                for alias in node.names:
                    yield node.lineno, f"{node.module}.{alias.name}"


def within(name: str, packages: Sequence[str]) -> bool:
    """Whether the dotted name is one of the packages or is inside one."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def faults(module: str, source: str) -> list[str]:
    """The forbidden imports of a module, as ``module:line imports name``."""
    allowed = next((names for package, names in ALLOWED.items() if within(module, [package])), [])
    # The lemmas of a model extend it; where it extends another model, they extend that one's.
    model = module.removesuffix("_proof")
    extended = [model] if model != module else []
    if model in EXTENDED:
        extended.append(EXTENDED[model] + module.removeprefix(model))
    allowed = ["holdfast.__version__", *allowed, *extended, *EXCEPTIONS.get(module, [])]
    return [
        f"{module}:{line} imports {name}"
        for line, name in imports(source)
        if within(name, [*PACKAGES, "tests"]) or name.startswith(".")
        if not within(name, allowed)
    ]


def test_imports_point_down() -> None:
    """Every module imports only lower layers."""
    assert [fault for path in SOURCES for fault in faults(module_name(path), path.read_text())] == []


def upward(package: str, layers: Sequence[str], sources: Mapping[str, str]) -> list[str]:
    """The imports of a package's folders that are not lower in its list."""
    found = []
    for module, source in sources.items():
        layer = module.removeprefix(f"{package}.").partition(".")[0]
        if within(module, [package]) and layer in layers:
            below = [f"{package}.{name}" for name in layers[: layers.index(layer) + 1]]
            found += [
                f"{module}:{line} imports {name}"
                for line, name in imports(source)
                if within(name, [package]) and not within(name, below)
            ]
    return found


@pytest.mark.parametrize("package", LAYERS)
def test_folders_import_downwards(package: str) -> None:
    """A module of a package imports only earlier ones of the list, and the list is complete."""
    inside = (ROOT / package.replace(".", "/")).iterdir()
    names = {path.stem for path in inside if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert names - {"__init__"} == set(LAYERS[package])
    assert upward(package, LAYERS[package], {module_name(path): path.read_text() for path in SOURCES}) == []


def test_an_upward_import_between_folders_is_seen() -> None:
    """The test finds an upward import between folders, and one of a module beside the folders."""
    sources = {"p.low.a": "import p.high.b\nimport p.low.c\nimport p.top\n", "p.high.b": "import p.low.a\n"}
    assert upward("p", ["low", "high"], sources) == ["p.low.a:1 imports p.high.b", "p.low.a:3 imports p.top"]


def circle(sources: Mapping[str, str]) -> list[str]:
    """The modules of one import circle, or none. Imports for types alone count, too."""
    arrows: dict[str, set[str]] = {}
    for module, source in sources.items():
        targets = {name if name in sources else name.rpartition(".")[0] for _, name in imports(source)}
        arrows[module] = {name for name in targets if name in sources and name != module}
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_needs_itself() -> None:
    """There is no circle of imports."""
    assert circle({module_name(path): path.read_text() for path in SOURCES}) == []


def test_a_circle_is_seen() -> None:
    """The test finds a circle of three modules: by name, by module and for types alone."""
    types = "if TYPE_CHECKING:\n    from p.a import A\n"
    assert circle({"p.a": "from p import b", "p.b": "from p.c import C", "p.c": types}) != []
    assert circle({"p.a": "from p import b", "p.b": "from p.c import C", "p.c": ""}) == []


def owner(module: str, verbs: Collection[str], commands: Collection[str]) -> str | None:
    """The verb to which a module belongs, or its command, or its package outside ``holdfast``; None if to none."""
    package, room, name = [*module.split("."), "", ""][:3]
    if package != "holdfast":
        return package
    if room == "cli" and name in commands:
        return COMMANDS.get(name, name)
    return name if room == "check" and name in verbs else None


def only_for(sources: Mapping[str, str], verbs: Collection[str]) -> dict[str, str]:
    """The modules that, directly or through others, only one verb needs, with the verb. Its folder does not count."""
    # The command names its verbs as text, so that it imports a verb only when the verb is called.
    (names,) = re.findall(r"^VERBS = (\([^)]*\))", sources["holdfast.cli.app"], re.MULTILINE)
    commands = set(ast.literal_eval(names))
    users: dict[str, set[str]] = {module: set() for module in sources}
    for module, source in sources.items():
        for _, name in imports(source):
            target = name if name in sources else name.rpartition(".")[0]
            if target in sources and target != module:
                users[target].add(module)
    found = {}
    for module in sources:
        if owner(module, verbs, commands) is not None or within(module, list(SHARED)):
            continue
        owners, seen, left = set(), {module}, [module]
        while left:
            for user in users[left.pop()] - seen:
                seen.add(user)
                verb = owner(user, verbs, commands)
                if verb is None:
                    left.append(user)
                else:
                    owners.add(verb)
        if len(owners) == 1 and owners <= set(verbs):
            found[module] = owners.pop()
    return found


def test_the_folder_of_a_verb_holds_what_only_it_needs() -> None:
    """No module outside ``holdfast/check/VERB`` serves only that verb, except those of SHARED packages."""
    verbs = [path.parent.name for path in (ROOT / "holdfast" / "check").glob("*/__init__.py")]
    assert only_for({module_name(path): path.read_text() for path in SOURCES}, verbs) == {}


def test_a_module_for_one_verb_is_seen() -> None:
    """The test finds a module that one verb needs, directly or through others, and none that two verbs need."""
    sources = {
        "holdfast.check.search.engine": "import holdfast.runs.a\n",
        "holdfast.cli.app": 'VERBS = ("check", "walk")\n',
        "holdfast.cli.check": "from holdfast.cli.helper import help\n",
        "holdfast.cli.helper": "from holdfast.runs.a import A\n",
        "holdfast.runs.a": "from holdfast.ir import b\nimport holdfast.ir.c\nimport holdfast.lower.d\n",
        "holdfast.check.walk.engine": "import holdfast.ir.c\n",
        **dict.fromkeys(["holdfast.ir.b", "holdfast.ir.c", "holdfast.lower.d"], ""),
    }
    assert only_for(sources, ["search", "walk"]) == {"holdfast.runs.a": "search", "holdfast.ir.b": "search"}


@pytest.mark.parametrize("library", SINGLE)
def test_a_heavy_library_has_one_place(library: str) -> None:
    """Each of these libraries is imported in its own package, or by at most one module.

    The implementation is separate, so it may have a module of its own for a library.
    """
    users = [
        module_name(path) for path in SOURCES if any(within(name, [library]) for _, name in imports(path.read_text()))
    ]
    place = SINGLE[library]
    if place == "one module of a package":
        assert len({user.partition(".")[0] for user in users}) == len(users)
        return
    assert len(users) <= 1 or all(within(user, [place]) for user in users)


WRONG = """
from __future__ import annotations
import holdfast.check.search.engine
from holdfast import cli
from holdfast.ir.system import System
from . import sibling
def late():
    from holdfast.lang.rules import require
"""


def test_wrong_directions_are_seen() -> None:
    """The test finds an upward import in each form: plain, from, relative and inside a function."""
    assert faults("holdfast.trace.text", WRONG) == [
        "holdfast.trace.text:3 imports holdfast.check.search.engine",
        "holdfast.trace.text:4 imports holdfast.cli",
        "holdfast.trace.text:6 imports .",
        "holdfast.trace.text:8 imports holdfast.lang.rules.require",
    ]


def test_only_the_bridge_and_the_commands_of_the_implementation_know_models() -> None:
    """No other module of the implementation may import a model's engine, or the bridge."""
    engine = "from holdfast.lower.layout import Layout\n"
    assert faults("impl.bridge.pairing", engine) == []
    assert faults("impl.scenario.runner", engine) == ["impl.scenario.runner:1 imports holdfast.lower.layout.Layout"]
    others = [path for path in SOURCES if within(module_name(path), ["impl"])]
    users = {name for path in others if imports_bridge(path.read_text()) for name in [module_name(path)]}
    assert all(within(user, ["impl.bridge", "impl.cli"]) for user in users)


def imports_bridge(source: str) -> bool:
    """Whether a source imports the bridge."""
    return any(within(name, ["impl.bridge"]) for _, name in imports(source))


def test_models_know_the_language_alone() -> None:
    """A model may import the language, the parts and the model that it extends, and nothing else of the repository."""
    assert faults("models.ownership", "from holdfast.lang import Model\nfrom models.parts.nodes import Nodes") == []
    assert faults("models.ownership", "import holdfast.ir\nimport models.wal") == [
        "models.ownership:1 imports holdfast.ir",
        "models.ownership:2 imports models.wal",
    ]
