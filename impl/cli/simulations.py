"""The runs of one command, their totals, and the report about them."""

from __future__ import annotations

import json as json_format
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from holdfast.check.budget import Budget, Meter, interruptible
from holdfast.cli.output import Ticker, note, say
from holdfast.cli.reporting import Reports
from holdfast.ir.errors import HoldfastError
from impl.cli.finding import SimulationFinding, investigate, told
from impl.cli.memory import family_bytes
from impl.cli.simulate_report import record_of, to_json
from impl.sim.check import CheckResult, Question, check
from impl.sim.outcome import RunSummary, Totals, outcome
from impl.sim.run import RunStoppedError
from impl.sim.seeds import WorkerError, outcomes
from impl.sim.summary import summary, title

HELD, VIOLATED, OUT_OF_BUDGET, FAULT = 0, 12, 20, 1
WORDS = {
    HELD: "nothing violated",
    VIOLATED: "violated",
    OUT_OF_BUDGET: "nothing violated so far, and not all seeds were run",
    FAULT: "a run cannot be judged",
}
LOOK_S = 0.05
"""The shortest time between two checks of the limits, in seconds."""
VERDICTS = {HELD: "holds", VIOLATED: "violated", OUT_OF_BUDGET: "out_of_budget", FAULT: "unknown"}


class SimulationError(HoldfastError):
    """The runs cannot go on. The user is not at fault."""

    exit_code = FAULT


class Simulations:
    """The runs of some seeds. ``folder``: the folder for runs that violate a property.

    ``shrunk``: whether these runs are shrunk. ``keep_going``: whether the runs go on after the first violation.
    """

    def __init__(
        self, question: Question, seeds: range, folder: Path, limits: Budget, *, shrunk: bool, keep_going: bool
    ) -> None:
        self.totals = Totals()
        self.findings: list[SimulationFinding] = []
        self.question, self._seeds, self._folder = question, seeds, folder
        self._shrunk, self._keep_going = shrunk, keep_going
        self._meter = Meter(limits, memory=family_bytes)
        self._looked = 0.0
        """The time of the last check of the limits, in seconds since the start."""

    @property
    def exit_code(self) -> int:
        """The code of the gravest result: a violation, then a run without a verdict, then seeds that were not run."""
        if self.totals.violated:
            return VIOLATED
        if self.totals.errors:
            return FAULT
        return OUT_OF_BUDGET if self._ended else HELD

    def run_one(self, *, is_kept: bool, file: Path | None = None) -> CheckResult | None:
        """Run one seed. Returns None if a limit came first.

        ``is_kept``: whether a violation is shrunk and kept. ``file``: the file that holds the run; None if none does.
        """
        with interruptible(self._meter):
            try:
                checked = check(self.question, self._go_on)
            except RunStoppedError:
                return None
            self.totals.add(outcome(checked))
            for violation in checked.violations[:1]:
                folder = self._folder if is_kept else None
                with _said_on_terminal("making the run small"):
                    shrunk = self._shrunk and is_kept
                    found = investigate(self.question, checked, violation, folder, shrunk=shrunk, meter=self._meter)
                if file is not None:
                    found = msgspec.structs.replace(found, path=file)
                self.findings.append(found)
        return checked

    def run_many(self, jobs: int | None) -> None:
        """Run all seeds, up to the first violation or to a limit. ``jobs``: the number of processes, or None.

        Raises SimulationError if a process dies.
        """
        jobs = min(jobs or len(os.sched_getaffinity(0)), len(self._seeds))
        with interruptible(self._meter), Ticker() as ticker:
            made = outcomes(self.question, self._seeds, jobs, self._go_on)
            # Closing the generator ends its worker processes, also after the first violation.
            with closing(made):
                try:
                    for each in made:
                        self.totals.add(each)
                        ticker.show(self._progress())
                        if each.violations and not self._keep_going:
                            break
                except WorkerError as error:
                    raise SimulationError(f"{error}; make fewer of them with --jobs 1") from error
            for each in self._shown():
                ticker.show(f"making the run of seed {each.seed} small")
                self._investigate(each)

    def _shown(self) -> Iterator[RunSummary]:
        """For each oracle, the first run that it is the first to object to."""
        seen: set[str] = set()
        for each in self.totals.violated:
            if each.violations[0].oracle not in seen:
                seen.add(each.violations[0].oracle)
                yield each

    def _investigate(self, each: RunSummary) -> None:
        question = msgspec.structs.replace(self.question, seed=each.seed)
        violation = each.violations[0]
        found = investigate(question, check(question), violation, self._folder, shrunk=self._shrunk, meter=self._meter)
        self.findings.append(found)

    # The report -------------------------------------------------------------------------------------------------

    def report(self, timeline: list[str], reports: Reports, *, json: bool) -> None:
        """Print the answer, and give the reports."""
        code, ended = self.exit_code, self._ended
        facts = (self.question, self._named_seeds, VERDICTS[code], code, self.totals, self.findings, ended)
        if json:
            say(json_format.dumps(to_json(*facts)))
        else:
            self._print(timeline, code, ended)
        reports.give([record_of(*facts)])

    def _print(self, timeline: list[str], code: int, ended: str) -> None:
        lines = [f"{title(self.question, self._named_seeds)}: {WORDS[code]}", ""]
        if self.totals.runs:
            lines += summary(self.question, self.totals)
        for each in self.totals.errors:
            lines += ["", f"  seed {each.seed} cannot be judged: {each.error}"]
        for finding in self.findings:
            lines += ["", f"seed {finding.seed}", *told(finding)]
        violated = [str(each.seed) for each in self.totals.violated]
        if len(violated) > 1:
            lines += ["", f"  violated by the seeds {', '.join(violated)}"]
        if timeline:
            lines += ["", *timeline]
        say("\n".join(lines))
        of = f" of {len(self._seeds):,}" if self.totals.runs < len(self._seeds) else ""
        seconds = self._meter.seconds
        end = f"; ended early ({ended})" if ended else ""
        runs = f"{self.totals.runs:,}{of} {'run' if len(self._seeds) == 1 else 'runs'}"
        note(f"{runs} in {seconds:.1f} s, {self.totals.runs / seconds:.1f} a second{end}")

    @property
    def _named_seeds(self) -> str:
        first, last = self._seeds[0], self._seeds[-1]
        return f"seed {first}" if first == last else f"seeds {first}..{last}"

    @property
    def _ended(self) -> str:
        """The limit that came before all seeds were run; "" if none did."""
        if self.totals.runs == len(self._seeds):
            return ""
        return self._meter.spent or ""

    def _go_on(self) -> bool:
        """Whether the limits allow to go on. Runs call this some hundred times each.

        To read the memory of all processes takes as long as some hundred steps, so the limits are checked rarely.
        """
        now = self._meter.seconds
        if now - self._looked >= LOOK_S:
            self._looked = now
            self._meter.look(0, 0, 0, 0)
        return self._meter.spent is None

    def _progress(self) -> str:
        done, seconds = self.totals.runs, self._meter.seconds
        left = (len(self._seeds) - done) * seconds / done
        violated = f", {len(self.totals.violated):,} violated" if self.totals.violated else ""
        return f"{done:,} of {len(self._seeds):,} seeds, {done / seconds:.1f} a second, {left:.0f} s remain{violated}"


@contextmanager
def _said_on_terminal(text: str) -> Iterator[None]:
    with Ticker() as ticker:
        ticker.show(text)
        yield
