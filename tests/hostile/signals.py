"""Sends signals to each verb at random moments, and judges how it ends: ``python -m tests.hostile --signals 100``.

For each verb: two runs that nothing interrupts; then runs of a new interpreter, each with SIGINT, SIGTERM or SIGKILL at
a moment drawn over the length of the second run, until N signals have met a running command.
"""

from __future__ import annotations

import random
import re
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import attrs

from tests.hostile.case import CaseResult, HostileCase
from tests.hostile.good import REPLAY, make
from tests.hostile.judgement import INTERRUPTED, judged
from tests.hostile.report import described, part, replace, say
from tests.hostile.running import run
from tests.hostile.signal_commands import COMMANDS, LongCommand, more_files

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
"""Signal number N of a verb is the one at N modulo 3."""

VERDICTS = ("clear", "wrong end", "internal", "traceback", "hang", "killed", "raw", "unclear", "no remedy", "left")
"""The verdicts of ``judgement``, and an end with another exit code than an interrupted command has."""

ANSWERED = {0, 10, 11, 12, 13, 20}
"""The exit codes of a command that has answered."""

LIMIT = 90.0
"""Seconds after the signal, after which a command counts as hanging."""

PLAIN_LIMIT = 600.0
"""Seconds that a run without a signal may take, also on a busy machine."""


@attrs.define
class VerbFigures:
    """What became of one verb. ``seconds``: the length of its run. ``sent``: signals that met a running command."""

    verb: str
    seconds: float
    sent: int = 0
    verdicts: Counter[str] = attrs.field(factory=Counter)

    def row(self) -> str:
        """The row of the table."""
        cells = [f"{self.verdicts[verdict]:,}" for verdict in VERDICTS]
        return f"| {self.verb} | {self.seconds:.1f} | {self.sent:,} | {' | '.join(cells)} |"


@attrs.frozen
class SignalRun:
    """The signals of one seed: ``number`` for each verb, with all files in ``folder``.

    ``write``: renew the rows of the page, also those of the verbs that are done when Ctrl-C comes.
    """

    folder: Path
    number: int
    seed: int
    write: bool = attrs.field(kw_only=True)

    def run(self, verbs: Sequence[str] | None) -> int:
        """Send the signals to these verbs, or to all. Returns 0 if every end is clear, otherwise 1; 20 after Ctrl-C."""
        rows: dict[str, str] = {}
        code = 0
        try:
            good = self.folder / "good"
            make(good)
            more_files(good)
            line = (good / "work" / REPLAY).read_text().strip()
            for verb in verbs or COMMANDS:
                found = self.figures(verb, COMMANDS[verb].with_line(line))
                rows[verb] = found.row()
                say(rows[verb])
                if self.write:
                    replace("signals", table(rows_of(part("signals")) | rows))
                code = max(code, int(found.verdicts.total() > found.verdicts["clear"]))
        except KeyboardInterrupt:
            code = INTERRUPTED
        say(table(rows))
        return code

    def figures(self, verb: str, command: LongCommand) -> VerbFigures:
        """Send the signals to one verb. A command that does not end as a verb that has answered is a wrong end."""
        plain = HostileCase(number=0, kind="signals", argv=command.argv, fresh=True)
        # The first run fills the cache of compiled kernels.
        own = {self._result(plain, command).code}
        whole = self._result(plain, command)
        own |= {whole.code}
        found = VerbFigures(verb, command.seconds or whole.seconds)
        if own <= ANSWERED or command.seconds is not None:
            self._send(found, command, frozenset(own - {None}) | command.codes)
        else:
            found.verdicts["wrong end"] += 1
            say(described(plain, whole, "wrong end"))
        return found

    def _send(self, found: VerbFigures, command: LongCommand, own: frozenset[int | None]) -> None:
        # A run may end before its signal comes. Then it is run again, with another moment.
        for number in range(2 * self.number):
            if found.sent == self.number:
                return
            case = signal_case(found.verb, command, number, found.seconds, self.seed)
            result = self._result(case, command)
            verdict = judged_signal(case, result, own)
            found.sent += result.sent
            if result.sent or verdict != "clear":
                found.verdicts[verdict] += 1
            if verdict != "clear":
                say(described(case, result, verdict))

    def _result(self, case: HostileCase, command: LongCommand) -> CaseResult:
        limit = LIMIT if case.signal is not None else command.seconds or PLAIN_LIMIT
        return run(case, self.folder / "good", self.folder / "case", limit)


def signal_case(verb: str, command: LongCommand, number: int, length: float, seed: int) -> HostileCase:
    """Signal number ``number`` of a verb: which one, and when in its ``length`` in seconds."""
    chance = random.Random(f"{seed} {verb} {number}")
    return HostileCase(
        number=number,
        kind="signals",
        argv=command.argv,
        signal=SIGNALS[number % len(SIGNALS)],
        delay=chance.random() * length,
        fresh=True,
    )


def judged_signal(case: HostileCase, result: CaseResult, own: frozenset[int | None]) -> str:
    """The verdict, one of VERDICTS. ``own``: the exit codes of the command if nothing interrupts it.

    A command that INT or TERM ends says how far it came, or that there was nothing to report. One that was about to end
    has its own code.
    """
    verdict = judged(case, result)
    if verdict not in ("clear", "no remedy") or result.code == -signal.SIGKILL or result.code in own:
        return verdict
    if result.code != INTERRUPTED:
        return "wrong end"
    return verdict if result.out.strip() or b"interrupted" in result.err else "unclear"


def table(rows: dict[str, str]) -> str:
    """The rows as a table of Markdown, in the order of the verbs."""
    head = f"| verb | seconds | sent | {' | '.join(VERDICTS)} |\n|---|{'---:|' * (len(VERDICTS) + 2)}"
    return "\n".join([head, *(rows[verb] for verb in COMMANDS if verb in rows)])


def rows_of(text: str) -> dict[str, str]:
    """The rows of a table, by verb."""
    return {found[1]: found[0] for found in re.finditer(r"^\| ([a-z][a-z -]*) \| [\d.]+ \|.*$", text, re.MULTILINE)}
