"""Give the command hostile input: ``python -m tests.hostile --cases 10000 --seed 1 --jobs 2``.

Prints each case that does not end with a clear answer, and at the end a table. ``--write`` renews the table of
``docs/hostile.md``, also after Ctrl-C. Ends with 1 if a case is not clear, and with 20 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import re
import shlex
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from pathlib import Path

from holdfast.cli.app import main as main_of_command
from tests.hostile.case import KINDS, CaseResult, HostileCase
from tests.hostile.drawing import CaseDrawing
from tests.hostile.good import REPLAY, commands, make
from tests.hostile.judgement import VERDICTS, judged
from tests.hostile.running import ROOT, import_command, run

PAGE = ROOT / "docs" / "hostile.md"

LIMIT = 30.0
"""Seconds after which a command counts as hanging. The slowest good command takes three."""

EVERY = 250
"""After every N cases a line reports the progress."""

Ran = tuple[HostileCase, CaseResult, str]

_drawing: list[CaseDrawing] = []
"""In a process that runs cases: their source."""


def prepared(folder: Path, seed: int) -> CaseDrawing:
    """The source of cases, with the good files in ``folder``."""
    good = folder / "good"
    make(good)
    listed = commands((good / "work" / REPLAY).read_text().strip())
    return CaseDrawing(good, listed, _options(listed), seed)


def _options(listed: Sequence[tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The options of each verb, as its help lists them."""
    verbs = {
        " ".join(argv[:2]) if argv[0] in ("campaign", "scenario") else argv[0] for argv in listed if argv[0][0] != "-"
    }
    found = {}
    for verb in sorted(verbs):
        with redirect_stdout(io.StringIO()) as out:
            main_of_command([*verb.split(), "--help"])
        found[verb] = tuple(dict.fromkeys(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", out.getvalue())))
    return found


def ran(number: int) -> Ran:
    """Run the case of that number and judge it."""
    [drawing] = _drawing
    case = drawing.case(number)
    result = run(case, drawing.good, drawing.good.parent / f"case-{number}", LIMIT)
    return case, result, judged(case, result)


def results(numbers: Sequence[int], jobs: int) -> Iterator[Ran]:
    """The results of all cases, in order."""
    if jobs == 1:
        yield from map(ran, numbers)
        return
    # Each process has the command imported, as a copy of this one.
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork")) as pool:
        yield from pool.map(ran, numbers, chunksize=4)


def main(words: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="how many cases")
    parser.add_argument("--seed", type=int, default=1, help="the seed of all cases")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes run cases")
    parser.add_argument("--kind", choices=KINDS, help="only the cases of this kind")
    parser.add_argument("--write", action="store_true", help="write the table to docs/hostile.md")
    parser.add_argument("--show", action="store_true", help="show the command and the output of every case")
    asked = parser.parse_args(words)
    for number in (signal.SIGINT, signal.SIGTERM):
        # A shell starts background jobs with SIGINT ignored.
        signal.signal(number, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="holdfast-hostile-"))
    counted: Counter[tuple[str, str]] = Counter()
    code = 0
    try:
        import_command()
        _drawing[:] = [prepared(folder, asked.seed)]
        numbers = range(asked.first, asked.first + asked.cases)
        chosen = [each for each in numbers if asked.kind in (None, _drawing[0].case(each).kind)]
        for case, result, verdict in results(chosen, asked.jobs):
            counted[case.kind, verdict] += 1
            if verdict != "clear" or asked.show:
                say(described(case, result, verdict))
            if not counted.total() % EVERY:
                say(f"{counted.total():,} of {len(chosen):,} cases; {total(counted)}")
    except KeyboardInterrupt:
        code = 20
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    say(table(counted))
    if code == 0 and any(verdict != "clear" for _, verdict in counted):
        code = 1
    if asked.write and counted:
        write_table(counted, asked.seed)
    return code


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
    page = PAGE.read_text(encoding="utf-8")
    begin, end = "<!-- table -->\n", "<!-- end of the table -->\n"
    head, _, rest = page.partition(begin)
    _, _, tail = rest.partition(end)
    text = f"\n{counted.total():,} cases of seed {seed}:\n\n{table(counted)}\n\n"
    PAGE.write_text(f"{head}{begin}{text}{end}{tail}", encoding="utf-8")


def say(text: str) -> None:
    """Print a text at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
