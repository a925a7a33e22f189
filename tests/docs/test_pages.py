"""The statements of pages about the repository: links, paths, commands and exit codes."""

from __future__ import annotations

import re

import pytest

from holdfast.cli.app import CODES
from holdfast.ir.load import PROOF, names_in
from tests.docs.fences import ROOT, blocks

PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/tutorial.md",
    "docs/language.md",
    "docs/examples.md",
    "docs/walk.md",
    "docs/traces.md",
    "docs/live.md",
    "docs/tlc.md",
    "docs/coming-from-tla.md",
    "docs/prove.md",
    "docs/ci.md",
    "docs/campaign.md",
    "docs/campaign-report.md",
    "docs/cluster.md",
    "docs/stores.md",
    "docs/scenarios.md",
    "docs/move.md",
    "docs/balance.md",
    "docs/spark.md",
    "docs/spark-search.md",
    "docs/trust.md",
    "docs/guards.md",
    "docs/impl-guards.md",
    "docs/hostile.md",
    "docs/architecture.md",
    *sorted(f"docs/protocol/{path.name}" for path in (ROOT / "docs/protocol").glob("*.md")),
    *sorted(f"docs/findings/{path.name}" for path in (ROOT / "docs/findings").glob("*.md")),
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
LONGEST = 120


def prose(page: str) -> str:
    """The page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)


def anchors(page: str) -> set[str]:
    """The anchors of a page: its headings, and the places that it marks."""
    headings = re.findall(r"^#+ (.*)$", prose(page), flags=re.MULTILINE)
    names = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return names | set(re.findall(r'<a id="([^"]+)"></a>', page))


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    """Every link leads to a file of the repository and, if it names one, to a heading of that file."""
    path = ROOT / name
    for link in LINK.findall(prose(path.read_text())):
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path

        assert target.exists(), link
        # A line number in a source file is no place in a page.
        assert not anchor or target.suffix == ".py" or anchor in anchors(target.read_text()), link


@pytest.mark.parametrize("name", PAGES)
def test_paths_exist(name: str) -> None:
    """Every text that looks like a path of the repository is one."""
    named = re.findall(r"`((?:models|holdfast|docs|tests|changelog\.d)/[\w./]*)`", prose((ROOT / name).read_text()))
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", PAGES)
def test_lines_are_short(name: str) -> None:
    """No line of a page is longer than 120 characters, except for output of commands and rows of tables."""
    page = (ROOT / name).read_text()
    printed = {line for block in blocks(page) if block.language == "console" for line in block.lines}
    long = [line for line in page.splitlines() if len(line) > LONGEST and line not in printed]
    assert [line for line in long if not line.startswith("| ")] == []


def test_no_finding_names_a_model_of_before() -> None:
    """No page of a finding shows that its model has changed since its line was written."""
    stale = [path.name for path in (ROOT / "docs/findings").glob("*.md") if "the model has changed" in path.read_text()]
    assert stale == []


def test_every_finding_is_in_the_index() -> None:
    """The index has a row for each finding's page, with its title and a command from the page."""
    index = (ROOT / "docs/findings/README.md").read_text()
    rows = re.findall(r"^\| \[([^]]+)\]\(([^)]+)\) \| ([^|]+) \| [^|]+ \| `([^`]+)` \|$", index, re.MULTILINE)
    pages = sorted(path.name for path in (ROOT / "docs/findings").glob("*-*.md"))
    assert sorted(file for _, file, _, _ in rows) == pages
    for number, file, title, command in rows:
        page = (ROOT / "docs/findings" / file).read_text()
        assert page.startswith(f"# {number}: {title}\n")
        assert f"\n$ {command}" in page


def test_the_packages_are_all_named() -> None:
    """The README's table of paths has every package of the engine."""
    page = (ROOT / "README.md").read_text()
    packages = [path.parent.name for path in sorted((ROOT / "holdfast").glob("*/__init__.py"))]
    assert [name for name in packages if f"| `holdfast/{name}/` |" not in page] == []


def test_make_targets_exist() -> None:
    """Each `make` command in the README has a target in the Makefile."""
    page = (ROOT / "README.md").read_text()
    shown = {line for block in blocks(page) if block.language == "sh" for line in block.lines}
    named = {target for line in [*shown, page] for target in re.findall(r"(?:^|`)make ([a-z-]+)", line)}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))

    assert {"verify", "test"} <= named <= targets


def test_the_exit_codes_are_those_of_the_command() -> None:
    """The README's exit codes are exactly those of `holdfast --help`."""
    explained = re.findall(r"^\| (\d+) \|", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    listed = re.findall(r"^ +(\d+)  ", CODES, flags=re.MULTILINE)
    assert sorted(explained) == sorted(listed)


SEARCHED_ONLY = ["balancer", "balancer_execution"]
"""Models that no proof covers: they add up loads and count moves, over any number of brokers and partitions."""


def test_every_model_is_in_the_list_of_proofs() -> None:
    """docs/prove.md lists every model as proved or as searched only; each proved one has lemmas, but for two."""
    page = (ROOT / "docs/prove.md").read_text().partition("## Which models are proved")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE)
    searched = re.search(r"^`(\w+)` and `(\w+)` are searched only\.", page, flags=re.MULTILINE)
    assert searched is not None
    assert list(searched.groups()) == SEARCHED_ONLY
    assert sorted([*listed, *SEARCHED_ONLY]) == names_in(ROOT / "models")
    without = [name for name in listed if not (ROOT / "models" / f"{name}{PROOF}.py").exists()]
    assert without == ["failover", "balancer_samples"]
