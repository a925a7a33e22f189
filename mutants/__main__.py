"""``python -m mutants``: plant faults in copies of the engine, and report which the tests notice."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.console import Console

from mutants.clock import now
from mutants.declarations import declared
from mutants.draw import FOLDERS, Folder, draw
from mutants.judge import TOOL, Outcome
from mutants.recording import recorded
from mutants.report import Report, lines, to_json
from mutants.run import run

app = App(name="mutants", help_format="plaintext")


@app.default
def mutants(
    *,
    seed: Annotated[int, Parameter(help="what the faults are drawn by")] = 1,
    faults: Annotated[int, Parameter(help="how many faults, an equal share in each folder")] = 150,
    jobs: Annotated[int | None, Parameter(help="how many faults to judge side by side; default: one a core")] = None,
    minutes: Annotated[float, Parameter(help="begin no further fault after N minutes")] = 75,
    out: Annotated[Path | None, Parameter(name="--json", help="write every fault and what became of it")] = None,
    folder: Annotated[Sequence[Folder], Parameter(help="plant only there; may be repeated", negative=())] = FOLDERS,
    drawn: Annotated[bool, Parameter(name="--list", help="show the faults, and plant none", negative=())] = False,
    root: Annotated[Path, Parameter(help="the tree with holdfast/ and tests/", show=False)] = TOOL,
) -> int:
    """Plant faults in holdfast/lower, ir, check and runs, one at a time, and see which the tests notice.

    Nothing in the checkout is changed but .mutants/, where it is kept which tests reach which lines.

    Ends with 0 if at least 90 % are noticed in each of the folders, with 10 if not; with 20 if time ran out before
    all were judged, with 130 after Ctrl-C.
    """
    console, begun = Console(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False), now()
    root = root.resolve()
    planned = draw(root, seed, faults, folder)
    if drawn:
        for fault in planned:
            sys.stdout.write(f"{fault.file}:{fault.lines[0]} {fault.function}: {fault.operator}: {fault.change}\n")
        return 0
    at_once = jobs or os.cpu_count() or 1
    try:
        known = recorded(root, at_once, console.print)
    except KeyboardInterrupt:
        return 130
    judging = now()

    def progress(done: int, outcome: Outcome) -> None:
        each = (now() - judging) / done
        by = f"{outcome.how} {outcome.noticed_by}" if outcome.noticed_by else f"not noticed {outcome.how}"
        place = f"{outcome.fault.file}:{outcome.fault.lines[0]}"
        left = (len(planned) - done) * each / 60
        console.print(f"{done} of {len(planned)}, {each:.0f} s each, {left:.0f} min to go: {place}: {by}")

    found = run(known, planned, at_once, minutes * 60 - (judging - begun), progress)
    report = Report(seed, len(planned), found.ordered, declared(), found.unsound, known.record.failed)
    sys.stdout.write("\n".join(lines(report, root)) + "\n")
    if out is not None:
        out.write_text(json.dumps(to_json(report), indent=2) + "\n", encoding="utf-8")
    return 130 if found.interrupted else report.exit_code


def main() -> None:
    """Run the command. SIGTERM acts as Ctrl-C; SIGINT does too, although a shell makes background jobs ignore it."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    sys.exit(app())


if __name__ == "__main__":
    main()
