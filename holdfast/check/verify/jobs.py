"""The comparisons to make for a folder of models, and how to make each one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, get_args

import attrs

from holdfast.check.budget import Budget
from holdfast.check.mutate.engine import Mutation, MutationOptions, fingerprint
from holdfast.check.mutate.guards import RESULTS, read_results, stored_rows
from holdfast.check.mutate.limits import MutationLimits
from holdfast.check.verify import opinions
from holdfast.check.verify.manifest import Configuration, ManifestEntry, PinnedOutcome, compiled, measure
from holdfast.check.verify.opinions import Opinion, joined
from holdfast.ir.lemmas import compile_with_lemmas
from holdfast.ir.load import PROOF, load_with_lemmas
from holdfast.ir.scopes import smallest_scope, usual_scopes
from holdfast.ir.system import LIVENESS, Scope, System

JobKind = Literal["check", "live", "kernel", "walk", "graph", "prove", "unroll", "tlc", "mutants"]
"""The kinds of comparisons, in the order of a report.

- ``check``, ``live``: compared with the pinned outcomes.
- ``kernel``, ``graph``: the kernel compared with the interpreter, in safety and in liveness.
- ``walk``, ``prove``, ``unroll``, ``tlc``: compared with the search.
- ``mutants``: the stored results of mutants, checked for being current.
"""

ENGINES: tuple[JobKind, ...] = get_args(JobKind)

LIMIT = 600.0
"""Time limit in seconds for one run of TLC."""

SHORT = 3
"""The largest number of steps for which Z3 must find the violation that the search finds in a mutant."""


FOUND = 10
"""The largest length of a shortest run for which random runs must find a mutant's violation. Longer ones are rare among
these few runs, so missing them is no contradiction.
"""


@attrs.frozen
class VerifyJob:
    """One comparison of one model.

    ``entries``: the pinned entries that it uses; exactly one for ``check`` and ``live``. ``weight``: its rough duration
    relative to other jobs.
    """

    model: str
    engine: JobKind
    entries: tuple[ManifestEntry, ...]
    weight: int

    @property
    def name(self) -> str:
        """The name of the job, for the progress display."""
        return f"{self.engine} {self.model}"


@attrs.frozen
class JobResult:
    """The result of a job, and the seconds it took. ``outcome`` is the outcome that may be pinned, if there is one."""

    job: VerifyJob
    opinion: Opinion
    seconds: float = attrs.field(eq=False)
    outcome: PinnedOutcome | None = None


def jobs(folder: Path, entries: Sequence[ManifestEntry], *, slow: bool) -> list[VerifyJob]:
    """All jobs for the models in a folder. Slow entries are included only if ``slow`` is set."""
    found: list[VerifyJob] = []
    for model in dict.fromkeys(entry.configuration.model for entry in entries):
        mine = tuple(entry for entry in entries if entry.configuration.model == model)
        found += [
            VerifyJob(
                model, entry.configuration.engine, (entry,), 0 if entry.expected is None else entry.expected.states
            )
            for entry in mine
            if slow or not entry.slow
        ]
        found += _comparisons(folder, model, mine, slow=slow)
    return found


def _comparisons(folder: Path, model: str, entries: tuple[ManifestEntry, ...], *, slow: bool) -> Iterator[VerifyJob]:
    system = compiled(folder, Configuration(model, ""))
    if not system.scopes:
        return
    smallest = smallest_scope(system).name
    small = tuple(
        entry
        for entry in entries
        if entry.configuration.engine == "check" and entry.configuration.scope == smallest and not entry.slow
    )
    # A check weighs as much as its pinned number of states; the other weights are on that scale. Only the order counts.
    states = max((entry.expected.states for entry in small if entry.expected is not None), default=0)
    yield VerifyJob(model, "kernel", small, 500_000 + 3 * states)
    yield VerifyJob(model, "walk", small, 300_000)
    if next(system.of_kind(*LIVENESS), None) is not None:
        yield VerifyJob(model, "graph", (), 600_000 + 3 * states)
    if (folder / f"{model}{PROOF}.py").is_file():
        yield VerifyJob(model, "prove", (), 1_000_000 + 1_500 * _obligations(system))
    if slow and next(system.of_kind("invariant", "step"), None) is not None:
        yield VerifyJob(model, "unroll", small, 2_000_000)
    yield VerifyJob(model, "tlc", (), 1_000_000 + 20 * states)
    if (folder / RESULTS).exists():
        yield VerifyJob(model, "mutants", (), 10_000_000 if slow else 1)


def _obligations(system: System) -> int:
    """About the number of obligations of a proof, without those of the lemmas."""
    return len(system.actions) * sum(prop.kind in ("invariant", "step") for prop in system.properties)


def make(folder: Path, job: VerifyJob, *, slow: bool) -> tuple[Opinion, PinnedOutcome | None]:
    """Make a comparison. Returns the opinion and, for ``check`` and ``live``, the outcome. Raises as the engines do."""
    if job.engine in ("check", "live"):
        return _pinned(folder, job.entries[0])
    return _Comparison(folder, job, slow=slow).opinion(), None


def _pinned(folder: Path, entry: ManifestEntry) -> tuple[Opinion, PinnedOutcome]:
    outcome = measure(folder, entry)
    wanted = entry.configuration
    differences = entry.differences(outcome)
    asked = "" if wanted.engine == "check" else f"{wanted.engine} "
    problems = [f"{asked}{wanted.model} {wanted}: {'; '.join(differences)}"] if differences else []
    if differences and outcome.replay is not None:
        problems.append(f"replay:    {outcome.replay}")
    if wanted.variants or wanted.without:
        return Opinion("", tuple(problems)), outcome
    if outcome.property is not None:
        found = f"{wanted.scope}: violated: {outcome.property} in {outcome.steps}"
    else:
        found = f"{wanted.scope}: {outcome.verdict}, {outcome.states:,} states, depth {outcome.depth}"
        found += f", {outcome.bits} bits"
    return Opinion(found, tuple(problems)), outcome


class _Comparison:
    """The comparison of one job. It runs in a worker process."""

    def __init__(self, folder: Path, job: VerifyJob, *, slow: bool) -> None:
        self.folder, self.job, self.slow = folder, job, slow
        self.path = str(folder / f"{job.model}.py")
        self.system = compiled(folder, Configuration(job.model, ""))
        self.scope = smallest_scope(self.system)

    def opinion(self) -> Opinion:
        """The opinion of the job's engine."""
        match self.job.engine:
            case "kernel":
                return self.kernel()
            case "walk":
                return self.walk()
            case "graph":
                return opinions.drawn(self.system, self.scope)
            case "prove":
                loaded = load_with_lemmas(self.path)
                system = compile_with_lemmas(loaded)
                return opinions.proved(system, loaded.target, loaded.lemmas_from, violated=False, cores=0)
            case "unroll":
                return self.unroll()
            case "tlc":
                return opinions.second_opinion(self.system, self.scope, self.job.model, LIMIT, owed=self.slow)
            case _:
                return self.mutants()

    def kernel(self) -> Opinion:
        """Compare interpreter and kernel on the model and its mutants. One mutable kernel serves all mutants.

        Variants are left out, since that kernel cannot search them.
        """
        from holdfast.check.search.kernel_search import mutable_kernel  # noqa: PLC0415 - as in ``search``

        shared = mutable_kernel(self.system, self.scope)
        mutants = [system for system, _ in self._mutants() if not system.chosen]
        whole = opinions.compared(self.system, self.scope)
        each = joined([whole, *(opinions.compared(mutant, self.scope, shared) for mutant in mutants)])
        found = f"{self.scope.name}: as the interpreter{_with(mutants, 'mutant')}"
        return attrs.evolve(each, found=found)

    def walk(self) -> Opinion:
        """Compare random runs with the search, on the model and on its mutants with short violations."""
        mutants = [(system, steps) for system, steps in self._mutants() if steps <= FOUND]
        whole = opinions.walked(self.system, self.scope, None)
        each = joined([whole, *(opinions.walked(mutant, self.scope, steps) for mutant, steps in mutants)])
        return attrs.evolve(each, found=f"{each.found}{_with(mutants, 'mutant found', 'mutants found')}")

    def unroll(self) -> Opinion:
        """Compare Z3, step by step and in any sizes, with the search, on mutants with short violations."""
        mutants = [(system, steps) for system, steps in self._mutants() if steps <= SHORT]
        each = joined(opinions.unrolled(mutant, self.scope, steps, cores=0) for mutant, steps in mutants)
        found = f"within {SHORT} steps, any sizes{_with(mutants, 'mutant found', 'mutants found')}"
        return attrs.evolve(each, found=found)

    def _mutants(self) -> Iterator[tuple[System, int]]:
        """The pinned mutants that violate a property, with the length of the shortest run."""
        for entry in self.job.entries:
            if entry.expected is not None and entry.expected.steps is not None and not entry.configuration.properties:
                yield compiled(self.folder, entry.configuration), entry.expected.steps

    def mutants(self) -> Opinion:
        """Count the stored results of mutants by way, and check that they are current; if ``slow``, try them again."""
        name, results = self.job.model, read_results(self.folder / RESULTS)
        if name not in results:
            return Opinion("not tried", (), (f"{name}: no mutant was tried; run `holdfast mutate --update {name}`",))
        counted = Counter(row["way"] for row in results[name]["mutants"])
        found = ", ".join(f"{number} {way}" for way, number in counted.items())
        scopes = usual_scopes(self.system)
        remedy = f"run `holdfast mutate --update {name}`"
        if results[name]["fingerprint"] != fingerprint(self.system, scopes):
            return Opinion(found, (f"{name}: {RESULTS} is of another version of the model; {remedy}",))
        if not self.slow:
            return Opinion(f"{found} (stored)")
        return Opinion(found, tuple(self._changed(results[name]["mutants"], scopes)))

    def _changed(self, rows: Sequence[dict[str, object]], scopes: Sequence[Scope]) -> Iterator[str]:
        """The differences between the stored results and those of trying the mutants again."""
        trials = Mutation(
            self.system, scopes, MutationLimits(Budget(), cores=1), target=self.job.model, options=MutationOptions()
        )
        now = {row["mutant"]: row for row in stored_rows(trials.report())["mutants"]}
        before = {row["mutant"]: row for row in rows}
        for mutant in dict.fromkeys([*before, *now]):
            if before.get(mutant) != now.get(mutant):
                yield f"{self.job.model} {mutant}: stored {before.get(mutant)}, found {now.get(mutant)}"


def _with(mutants: Sequence[object], one: str, several: str | None = None) -> str:
    """``; 3 mutants``; empty if there are none."""
    if not mutants:
        return ""
    return f"; {len(mutants)} {one if len(mutants) == 1 else several or f'{one}s'}"
