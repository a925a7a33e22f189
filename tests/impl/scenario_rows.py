"""The scenarios of each row of the protocol's tables: ``python -m tests.impl.scenario_rows`` writes the page.

A scenario names its rows in a comment before its first key: ``# rows: ST-14, CK-01``.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from impl.scenario.reading import documents, line_of, pairs

ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "tests" / "scenarios"
PAGE = SCENARIOS / "README.md"
ROW = re.compile(r"\b[A-Z]{1,2}-\d+[a-z]?\b")

FAMILIES = ("ST", "CK", "CS", "CO", "OB", "ND", "RA", "EL", "CA", "ZR", "AB", "BG")
"""The families of rows that the language can reach: of the controller, of zone routing, of the balancer."""


def _span(family: str, *numbers: int | range) -> list[str]:
    flat = [each for number in numbers for each in (number if isinstance(number, range) else [number])]
    return [f"{family}-{number:02}" for number in flat]


TABLES = [
    *_span("ST", 1, 2, range(10, 19), range(20, 25), range(30, 39), range(40, 46), range(50, 53), 60),
    *_span("CK", 1, 2, 3),
    *_span("CS", range(1, 10), range(20, 29), range(30, 36)),
    *("CS-29a", "CS-29b"),
    *_span("CO", range(1, 7)),
    *_span("OB", range(1, 7)),
    *_span("ND", range(1, 5), 10, 11, 20, 30, 31, 40),
    *_span("RA", range(1, 25), 29, range(40, 51)),
    *_span("EL", range(1, 14)),
    *_span("CA", range(1, 11), range(20, 28), range(40, 55)),
    *_span("AB", range(1, 63)),
    *_span("BG", range(1, 20)),
]
"""The rows of the tables in streams.md 2 to 6, reassignment.md 2 to 7, and autobalancer.md."""

_BROKER = "of brokers: what a broker does with its streams, its threads, its metadata"
_TOOL = "of KIP-236: the controller of the reference has neither its queue nor its tool"
_CHANNEL = "of bytes in channels and WALs: no operation writes any"
_READS = "of the read path: no operation reads a partition through a proxy"
_REPORTER = "of brokers and the metrics topic: a scenario gives what arrives"
_TIME = "of time: no operation executes a plan, or has two controllers"
EXCEPTIONS = {
    "CS-29": "its parts CS-29a and CS-29b have rows of their own",
    "ND-31": "of heartbeats: a scenario gives the state of a broker",
    "ZR-31": "of durability: no operation writes a WAL",
    "ZR-65": "of a restart: the language has no processes of proxies",
    **dict.fromkeys(_span("RA", 11, 12, range(14, 19), range(21, 24)), _BROKER),
    **dict.fromkeys(_span("CA", 6, 7, 9, 10), _TOOL),
    **dict.fromkeys(_span("ZR", 12, range(17, 20), 29, 32), _CHANNEL),
    **dict.fromkeys(_span("ZR", range(36, 54)), _READS),
    **dict.fromkeys(_span("AB", range(6, 9), 11, 12), _REPORTER),
    **dict.fromkeys([*_span("AB", 2, 52, range(54, 57)), *_span("BG", 16, 18, 19)], _TIME),
    "AB-05": "of elections: the reference elects by other rules",
    "AB-17": "of two queues: a scenario applies each record at once",
    "AB-21": "of sample series, which no metric has",
    "AB-45": "of the lack of a limit, which decides nothing",
    **dict.fromkeys(("AB-59", "AB-60"), "of AutoMQ's maps: the reference has the order of AB-62"),
}
"""Rows without a scenario, each with its reason."""


def wanted() -> list[str]:
    """All rows of the families, sorted: rows of the tables, and rows that models and pages cite."""
    cited = []
    for path in sorted((ROOT / "models" / "rules").glob("*.toml")):
        for section in tomllib.loads(path.read_text(encoding="utf-8"))["section"]:
            cited += [rule["id"] for rule in section.get("rule", [])]
    return sorted({*TABLES, *(row for row in cited if row[:2] in FAMILIES)}, key=_order)


def _order(row: str) -> tuple[int, str]:
    families = (*FAMILIES, "FO")
    return (families.index(row[:2]) if row[:2] in families else len(families), row)


def covered(folder: Path = SCENARIOS) -> dict[str, list[tuple[str, str]]]:
    """For each named row its scenarios: the file's path in the folder, and the name."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(folder.rglob("*.yaml")):
        file = path.relative_to(folder).as_posix()
        for name, rows in scenarios(path.read_text(encoding="utf-8"), file):
            for row in rows:
                found.setdefault(row, []).append((file, name))
    return found


def scenarios(text: str, file: str) -> list[tuple[str, list[str]]]:
    """The scenarios of a file, with the rows in the comments before each."""
    lines = text.splitlines()
    found = []
    before = 0
    for number, node in enumerate(documents(text, file), 1):
        given = pairs(node, "a scenario")
        start = line_of(node)
        rows = [row for line in lines[before:start] if line.startswith("# rows:") for row in ROW.findall(line)]
        name = str(given["name"][1].value) if "name" in given else str(number)
        found.append((name, list(dict.fromkeys(rows))))
        before = start
    return found


def page() -> str:
    """The text of the page."""
    by_row = covered()
    rows = sorted({*wanted(), *by_row}, key=_order)
    lines = [
        "# Scenarios",
        "",
        "Regression cases of the reference implementation, in the language of",
        "[docs/scenarios.md](../../docs/scenarios.md). `holdfast scenario run tests/scenarios` runs them all. The",
        "table names the scenarios that cover each row of the protocol. It is generated by",
        "`python -m tests.impl.scenario_rows`.",
        "",
        "| row | scenarios |",
        "|---|---|",
        *(f"| {row} | {_cell(row, by_row)} |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


def _cell(row: str, by_row: dict[str, list[tuple[str, str]]]) -> str:
    if row not in by_row:
        return f"none: {EXCEPTIONS.get(row, 'missing')}"
    files: dict[str, list[str]] = {}
    for file, name in by_row[row]:
        files.setdefault(file, []).append(name.replace("|", r"\|"))
    return "; ".join(f"[{file}]({file}): {', '.join(names)}" for file, names in files.items())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
