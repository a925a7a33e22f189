"""``holdfast prove``: does it hold for any number of nodes, streams, epochs and offsets?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter, validators

from holdfast.check.budget import Budget
from holdfast.cli.check import Names, Switch
from holdfast.cli.output import check_writable
from holdfast.cli.reporting import NO_REPORTS, Reports
from holdfast.ir.errors import UsageError
from holdfast.ir.lemmas import compile_with_lemmas
from holdfast.ir.load import load_with_lemmas
from holdfast.ir.removal import remove_rules

Way = Literal["a proof", "--fragment", "--depth", "--ablate"]

TAKEN: Mapping[Way, frozenset[str]] = {
    "a proof": frozenset({
        "--property", "--seeds", "--k", "--with", "--explain", "--no-suggest", "--json", "--itf", "--budget",
        "--junit", "--sarif", "--github",
    }),
    "--fragment": frozenset(),
    "--depth": frozenset({"--property", "--json", "--itf", "--budget", "--junit", "--sarif", "--github"}),
    "--ablate": frozenset({"--json", "--budget", "--update", "--junit", "--sarif", "--github"}),
}  # fmt: skip
"""The options that mean something to each way to ask, beside those that all of them take."""

Seconds = Annotated[float, Parameter(validator=validators.Number(gt=0, lte=3600))]


def prove(
    model: str,
    /,
    *models: str,
    property: Names = (),  # noqa: A002 - the option's name
    variant: Names = (),
    without: Names = (),
    quick: Seconds = 2.0,
    long: Seconds = 20.0,
    with_: Annotated[Literal["cvc5"] | None, Parameter(name="--with")] = None,
    seeds: Annotated[int, Parameter(validator=validators.Number(gte=1, lte=100))] = 1,
    k: Annotated[int, Parameter(validator=validators.Number(gte=1, lte=10))] = 1,
    depth: Annotated[int | None, Parameter(validator=validators.Number(gte=0, lte=50))] = None,
    fragment: Switch = False,
    ablate: Switch = False,
    update: Switch = False,
    explain: Switch = False,
    suggest: bool = True,
    cores: Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=256))] = None,
    budget: str | None = None,
    json: Switch = False,
    itf: Path | None = None,
    reports: Reports = NO_REPORTS,
) -> int:
    """Prove the properties of models for any number of everything, with Z3.

    The lemmas of MODEL_proof.py beside a model are used. Where a proof does not go through, the search says whether a
    run violates something; otherwise the answer is the smallest state from which a step does, and lemmas that would
    exclude it.

    Parameters
    ----------
    model
        A name that `holdfast models` lists, or a file: path/to/model.py, or path/to/model.py:Class.
    models
        More models.
    property
        Prove this property only, and what its proof needs; by its name or rule id. May be repeated.
    variant
        Choose a named variant of the models. May be repeated.
    without
        Remove a rule, LABEL everywhere or LABEL@action in one action. May be repeated.
    quick
        Seconds that each question may take at first (2).
    long
        Seconds for a question that has no answer then, and no counterexample of a small size (20).
    with_
        Ask a second prover, cvc5, for what Z3 has shown; what it cannot answer leaves the proof open (20).
    seeds
        Repeat every proof with so many seeds of the solver (1).
    k
        Assume up to so many states in a row of what one is not enough for: k-induction (1).
    depth
        Prove nothing, but look for violations within so many steps, in any sizes; this needs no lemma.
    fragment
        Say only where the formulas leave the logic that Z3 can decide.
    ablate
        Leave out each lemma in turn: what is not proved any more, and which suggested clauses take its place.
    update
        Store what --ablate finds in lemmas.json beside the models.
    explain
        Find the least that each proof needs, of lemmas too, and tell the questions that took longest.
    suggest
        Look for lemmas that exclude a counterexample (the default), or do not.
    cores
        How many processes ask Z3; otherwise as many as there are cores.
    budget
        Stop at a limit of time or memory: 60s,2GB.
    json
        Print the results as JSON, one line for each model, and nothing else.
    itf
        Write the first counterexample, or violating run, to this file, in the Informal Trace Format.
    reports
        Reports for other tools.
    """
    way = _way(fragment=fragment, depth=depth, ablate=ablate)
    given = {
        "--property": bool(property),
        "--with": with_ is not None,
        "--seeds": seeds > 1,
        "--k": k > 1,
        "--explain": explain,
        "--no-suggest": not suggest,
        "--json": json,
        "--itf": itf is not None,
        "--budget": budget is not None,
        "--update": update,
        **reports.given,
    }
    for option in (each for each, there in given.items() if there and each not in TAKEN[way]):
        raise UsageError(f"{way}: {option} means nothing to it; leave it out")
    budgeted = Budget() if budget is None else Budget.parse(budget)
    if budgeted.states is not None:
        raise UsageError(f"budget {budget!r}: a proof counts no states; limit its time or memory: 60s,2GB")
    loaded = [load_with_lemmas(name) for name in (model, *models)]
    systems = [remove_rules(compile_with_lemmas(each, variant), without) for each in loaded]
    reports.prepare(json=json)
    if itf is not None:
        check_writable(itf)
    from holdfast.check.prove.prover import SolverLimits  # noqa: PLC0415 - Z3 takes a while to load
    from holdfast.cli import ablation, proofs  # noqa: PLC0415 - as above
    from holdfast.lower.smt.second import require_cvc5  # noqa: PLC0415 - as above

    if with_ is not None:
        require_cvc5()
    limits = SolverLimits(quick, max(quick, long))
    asked = proofs.ProofRequest(
        (model, *models), tuple(loaded), tuple(systems), property, budgeted, limits, cores, json, reports
    )
    if fragment:
        return proofs.print_fragments(asked)
    if ablate:
        return ablation.print_ablations(asked, update=update)
    if depth is not None:
        return proofs.print_unrolled(asked, depth, itf)
    return proofs.print_proofs(
        asked, seeds=seeds, length=k, explain=explain, suggest=suggest, second=with_ is not None, itf=itf
    )


def _way(*, fragment: bool, depth: int | None, ablate: bool) -> Way:
    """What is asked for. Raises UsageError for two things at once."""
    asked: dict[Way, bool] = {"--fragment": fragment, "--depth": depth is not None, "--ablate": ablate}
    chosen = [way for way, there in asked.items() if there]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} ask for different things; choose one of them")
    return chosen[0] if chosen else "a proof"
