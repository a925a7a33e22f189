"""Give the command hostile input: ``python -m tests.hostile --cases 10000 --seed 1 --jobs 2``.

Prints each case that does not end with a clear answer, and at the end a table. ``--write`` renews the table of
``docs/hostile.md``, also after Ctrl-C. ``--signals N`` sends N signals to each verb instead, with ``--verb`` to some of
them. Ends with 1 if a case is not clear, and within seconds with 20 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, redirect_stdout
from pathlib import Path

from holdfast.cli.app import main as main_of_command
from tests.hostile.case import KINDS, CaseResult, HostileCase
from tests.hostile.drawing import CaseDrawing
from tests.hostile.good import REPLAY, commands, make
from tests.hostile.judgement import judged
from tests.hostile.pool import SIGNALS, disregard_signals, results
from tests.hostile.report import described, say, table, total, write_table
from tests.hostile.running import import_command, kill_all, run
from tests.hostile.signal_commands import COMMANDS
from tests.hostile.signals import SignalRun

LIMIT = 30.0
"""Seconds after which a command counts as hanging. The slowest good command takes three."""

EVERY = 250
"""After every N cases a line reports the progress."""

Ran = tuple[HostileCase, CaseResult, str]

_drawing: list[CaseDrawing] = []
"""In a process that runs cases: their source."""

_caught: list[int] = []
"""The signals that asked the command to end."""


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


def main(words: Sequence[str] | None = None) -> int:
    """The command."""
    asked = _arguments(words)
    for number in SIGNALS:
        # A shell starts background jobs with SIGINT ignored.
        signal.signal(number, _end)
    folder = Path(tempfile.mkdtemp(prefix="holdfast-hostile-"))
    try:
        if asked.signals:
            return SignalRun(folder, asked.signals, asked.seed, write=asked.write).run(asked.verb)
        return _cases(asked, folder)
    except KeyboardInterrupt:
        return 20
    finally:
        disregard_signals()
        kill_all(str(folder))
        shutil.rmtree(folder, ignore_errors=True)


def _end(number: int, _frame: object) -> None:
    """End the command, as Ctrl-C does."""
    _caught.append(number)
    raise KeyboardInterrupt


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="how many cases")
    parser.add_argument("--seed", type=int, default=1, help="the seed of all cases")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes run cases")
    parser.add_argument("--kind", choices=KINDS, help="only the cases of this kind")
    parser.add_argument(
        "--signals", type=int, default=0, help="how many signals to send to each verb, instead of cases"
    )
    parser.add_argument("--verb", action="append", choices=list(COMMANDS), help="only this verb; may be repeated")
    parser.add_argument("--write", action="store_true", help="write the table to docs/hostile.md")
    parser.add_argument("--show", action="store_true", help="show the command and the output of every case")
    return parser.parse_args(words)


def _cases(asked: argparse.Namespace, folder: Path) -> int:
    counted: Counter[tuple[str, str]] = Counter()
    code = 0
    try:
        import_command()
        _drawing[:] = [prepared(folder, asked.seed)]
        numbers = range(asked.first, asked.first + asked.cases)
        chosen = [each for each in numbers if asked.kind in (None, _drawing[0].case(each).kind)]
        with closing(results(ran, chosen, asked.jobs)) as found:
            for case, result, verdict in found:
                counted[case.kind, verdict] += 1
                if _caught:
                    # Raised in a destructor, the exception of the handler was only printed.
                    raise KeyboardInterrupt
                if verdict != "clear" or asked.show:
                    say(described(case, result, verdict))
                if not counted.total() % EVERY:
                    say(f"{counted.total():,} of {len(chosen):,} cases; {total(counted)}")
    except KeyboardInterrupt:
        disregard_signals()
        code = 20
    say(table(counted))
    if code == 0 and any(verdict != "clear" for _, verdict in counted):
        code = 1
    if asked.write and counted:
        write_table(counted, asked.seed)
    return code


if __name__ == "__main__":
    sys.exit(main())
