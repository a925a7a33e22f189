"""``holdfast prove``: does it hold for any number of nodes, streams, epochs and offsets?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from cyclopts import Parameter, validators

from holdfast.check.budget import Budget
from holdfast.cli.options import Cores, Names, Switch
from holdfast.cli.output_files import RunFile
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
    "--ablate": frozenset({
        "--no-suggest", "--json", "--budget", "--update", "--junit", "--sarif", "--github",
    }),
}  # fmt: skip
"""For each kind of question: the options that apply to it, besides those that apply to all kinds."""

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
    cores: Cores = None,
    budget: str | None = None,
    json: Switch = False,
    itf: RunFile = None,
    reports: Reports = NO_REPORTS,
) -> int:
    """Prove the properties of models for any number of elements of every sort, with Z3.

    The lemmas of MODEL_proof.py beside a model are used. If a proof does not go through, the search looks for a run
    that violates a property. If there is none, the answer is the smallest counterexample to induction: a state from
    which a step violates the property, and lemmas that would exclude that state.

    Parameters
    ----------
    model
        A name that `holdfast models` lists, or a file: path/to/model.py, or path/to/model.py:Class.
    models
        More models.
    property
        Prove this property only, and the lemmas that its proof needs; by its name or rule id. May be repeated.
    variant
        Choose a named variant of the models. May be repeated.
    without
        Remove a rule, LABEL everywhere or LABEL@action in one action. May be repeated.
    quick
        Seconds for the first attempt at each query (2). Z3 counts them by its work, not by the clock.
    long
        Seconds for a query that the first attempt left open, and that has no counterexample of a small size (20).
    with_
        Check everything that Z3 has proved with a second prover, cvc5; if cvc5 has no answer, the proof stays open
        (exit code 20).
    seeds
        Repeat every proof with N seeds of the solver (1).
    k
        Where one state is not enough as the induction hypothesis, assume up to K consecutive states: k-induction (1).
    depth
        Prove nothing, but look for violations within N steps, for any sizes; this needs no lemma.
    fragment
        Only list the formulas that are outside the logic that Z3 can decide.
    ablate
        Leave out each lemma in turn: show what is no longer proved, and which suggested clauses replace the lemma.
    update
        Store the results of --ablate in lemmas.json beside the models.
    explain
        Find a least set of invariants and lemmas for each proof, also of a lemma, and name the slowest queries.
    suggest
        Look for lemmas that exclude a counterexample (the default), or do not.
    cores
        How many processes ask Z3, or prove a model each; otherwise as many as there are cores.
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
        raise UsageError(f"{way}: {option} has no effect there; leave it out")
    budgeted = Budget() if budget is None else Budget.parse(budget)
    if budgeted.states is not None:
        raise UsageError(f"budget {budget!r}: a proof counts no states; limit its time or memory: 60s,2GB")
    loaded = [load_with_lemmas(name) for name in (model, *models)]
    systems = [remove_rules(compile_with_lemmas(each, variant), without) for each in loaded]
    reports.prepare(json=json)
    from holdfast.check.prove.prover import SolverLimits  # noqa: PLC0415 - Z3 takes a while to load
    from holdfast.cli import ablation, proofs  # noqa: PLC0415 - as above
    from holdfast.lower.smt.second_solver import require_cvc5  # noqa: PLC0415 - as above

    if with_ is not None:
        require_cvc5()
    limits = SolverLimits(quick, max(quick, long))
    asked = proofs.ProofRequest(
        (model, *models), tuple(loaded), tuple(systems), property, budgeted, limits, cores, json, reports
    )
    if fragment:
        return proofs.print_fragments(asked)
    if ablate:
        return ablation.print_ablations(asked, update=update, suggest=suggest)
    if depth is not None:
        return proofs.print_unrolled(asked, depth, itf)
    return proofs.print_proofs(
        asked, seeds=seeds, length=k, explain=explain, suggest=suggest, second=with_ is not None, itf=itf
    )


def _way(*, fragment: bool, depth: int | None, ablate: bool) -> Way:
    """The kind of question that the options ask. Raises UsageError if they ask more than one."""
    asked: dict[Way, bool] = {"--fragment": fragment, "--depth": depth is not None, "--ablate": ablate}
    chosen = [way for way, there in asked.items() if there]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} ask for different things; choose one of them")
    return chosen[0] if chosen else "a proof"
