"""The texts about hostile cases: a line for each that is not clear, and the tables of the page."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter

from tests.hostile.case import KINDS, CaseResult, HostileCase
from tests.hostile.judgement import VERDICTS
from tests.hostile.running import ROOT

PAGE = ROOT / "docs" / "hostile.md"


def described(case: HostileCase, result: CaseResult, verdict: str) -> str:
    """A case that is not clear, with all that repeats it, and the begin of its output."""
    around = {
        "files": {name: None if data is None else len(data) for name, data in case.files.items()},
        "pipes": list(case.pipes),
        "streams": {str(number): how for number, how in case.streams.items()},
        "environment": dict(case.environment),
        "gone": case.folder_gone,
        "signal": case.signal,
        "delay": round(case.delay, 3),
        "fresh": case.fresh,
    }
    argv = shlex.join(word if len(word) < 200 else f"{word[:60]}…({len(word)})" for word in case.argv)
    told = json.dumps({name: value for name, value in around.items() if value})
    err = result.err.decode(errors="backslashreplace").strip().splitlines()
    lines = [
        line if len(line) < 300 else f"{line[:300]}…" for line in (err if len(err) < 8 else [*err[:2], "…", *err[-5:]])
    ]
    end = "no end" if result.code is None else result.code
    head = f"{verdict}: case {case.number} ({case.kind}): holdfast {argv}"
    return "\n".join(
        [
            head,
            f"  {told}",
            f"  code {end}, {result.seconds:.1f} s",
            *(f"  | {line}" for line in (*lines, *result.left)),
        ]
    )


def total(counted: Counter[tuple[str, str]]) -> str:
    """The number of cases of each verdict, on one line."""
    sums: Counter[str] = Counter()
    for (_, verdict), times in counted.items():
        sums[verdict] += times
    return ", ".join(f"{sums[verdict]:,} {verdict}" for verdict in VERDICTS if sums[verdict])


def table(counted: Counter[tuple[str, str]]) -> str:
    """The cases by kind and verdict, as a table of Markdown."""
    rows = [f"| kind | cases | {' | '.join(VERDICTS)} |", f"|---|{'---:|' * (len(VERDICTS) + 1)}"]
    for kind in (*KINDS, "all"):
        cells = [sum(counted[each, verdict] for each in (KINDS if kind == "all" else (kind,))) for verdict in VERDICTS]
        rows.append(f"| {kind} | {sum(cells):,} | {' | '.join(f'{cell:,}' for cell in cells)} |")
    return "\n".join(rows)


def write_table(counted: Counter[tuple[str, str]], seed: int) -> None:
    """Renew the table of the page, with the seed of its cases."""
    replace("table", f"{counted.total():,} cases of seed {seed}:\n\n{table(counted)}")


def part(name: str) -> str:
    """The text between the two marks of that name in the page."""
    begin, end = _marks(name)
    return PAGE.read_text(encoding="utf-8").partition(begin)[2].partition(end)[0].strip()


def replace(name: str, text: str) -> None:
    """Write a text between the two marks of that name in the page."""
    begin, end = _marks(name)
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    _, _, tail = rest.partition(end)
    PAGE.write_text(f"{head}{begin}\n{text}\n\n{end}{tail}", encoding="utf-8")


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- {name} -->\n", f"<!-- end of the {name} -->\n"


def say(text: str) -> None:
    """Print a text at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
