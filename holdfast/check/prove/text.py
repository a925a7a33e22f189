"""The result of a proof as a text for people. It contains no times, so equal proofs give equal texts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from holdfast.check.prove.counterexample import ANY
from holdfast.check.prove.result import Counterexample, ProofResult, PropertyProof, Suggestion
from holdfast.check.summary import entry, render_result
from holdfast.ir.ghosts import ghosts_read
from holdfast.ir.system import System
from holdfast.lower.smt.fragment import fragment
from holdfast.lower.smt.logic import Logic
from holdfast.trace.text import WIDTH, conclusion, configuration, count, listed, render_steps, standing, verdict
from holdfast.trace.trace import Claim, Trace

INDENT = "  "

SAID = {
    "proved": "proved",
    "violated": "violated",
    "not_inductive": "not proved",
    "unknown": "no answer",
    "contradicted": "contradicted",
    "vacuous": "says nothing",
}
"""The verdicts in words."""


def render_proof(result: ProofResult, *, explain: bool = False, saved: Sequence[str] = ()) -> str:
    """The whole text without a final newline; ``saved``: the files with the questions that have no answer."""
    blocks = [render_result(each) for each in result.searched if each.findings]
    if blocks:
        return "\n\n".join([*blocks, "\n".join(_wrapped(_headline(result)))])
    if result.verdict == "contradicted":
        return "\n\n".join([*_contradiction(result), "\n".join(_wrapped(_headline(result)))])
    blocks = [counterexample_text(proof) for proof in result.properties if proof.counterexample is not None]
    blocks += ["\n".join(_wrapped(text)) for text in _gaps(result)]
    blocks.append("\n".join([*_wrapped(_headline(result)), "", *_summary(result, explain)]))
    blocks += ["\n".join(_wrapped(f"{checked.problem}.")) for checked in result.failed_sanity]
    blocks += [f"saved: {path}" for path in saved]
    blocks += ["\n".join(_wrapped(note)) for note in result.notes]
    return "\n\n".join(blocks)


def _headline(result: ProofResult) -> str:
    what = configuration(result.model, "", result.variants, result.removed)
    what += f", with the lemmas of {result.lemmas_from}" if result.lemmas_from is not None else ""
    if result.ended_by is not None and result.verdict != "violated":
        return f"{what}: no answer ({result.ended_by}), after {count(result.queries, 'question')}"
    if result.verdict == "proved":
        unsure = result.second is not None and result.second.unanswered
        unsure_text = f", by Z3; {result.second.name} has not all answers" if result.second and unsure else ""
        unstable = f", but not with every seed: {', '.join(result.unstable)}" if result.unstable else ""
        return f"{what}: proved, for any sizes{unsure_text}{unstable}"
    if result.verdict == "vacuous":
        names = ", ".join(proof.claim.title for proof in result.properties if proof.verdict == "vacuous")
        return f"{what}: the proof says nothing, see below{': ' if names else ''}{names}"
    if result.verdict == "contradicted":
        return f"{what}: two engines contradict one another about what holds for any sizes; please report it"
    if result.verdict == "violated":
        names = ", ".join(trace.shown.title for each in result.searched for trace in each.findings)
        return f"{what}: violated: {names}"
    left = [proof for proof in result.properties if proof.verdict != "proved"]
    searched = [each.scope for each in result.searched]
    clean = f"; no run violates it in scope {' or '.join(searched)}" if searched else ""
    return f"{what}: {SAID[result.verdict]}: {', '.join(proof.claim.title for proof in left)}{clean}"


def _contradiction(result: ProofResult) -> Iterator[str]:
    """The evidence that contradicts the proof, and how to reproduce it."""
    if result.second is not None and result.second.contradicted:
        yield "\n".join(_wrapped(f"{result.second.name} {result.second.text}."))
    trial = result.trial
    if trial is None or not trial.contradicts:
        return
    if trial.violation is None:
        yield "\n".join(_wrapped(f"{trial.problem}."))
    else:
        yield render_result(trial.violation)
        yield "\n".join([*_wrapped("The commands above need this scope in the class:"), "", f"    {trial.scope_text}"])


def _summary(result: ProofResult, explain: bool) -> Iterator[str]:
    kinds = groupby(sorted(result.sorts, key=lambda each: each[1]), key=lambda each: each[1])
    types = "; ".join(f"{', '.join(name for name, _ in group)}: {kind}" for kind, group in kinds)
    yield from entry("types", types or "none that a scope sizes")
    yield from entry(
        "queries", f"{result.queries:,}" + (f", each with {result.seeds} seeds" if result.seeds > 1 else "")
    )
    possible = sum(checked.problem is None for checked in result.sanity)
    if result.sanity:
        what = "starts, actions, invariants false, premises"
        yield from entry("sanity", f"{possible} of {len(result.sanity)} possible: {what}")
    if result.second is not None:
        yield from entry(result.second.name, result.second.text)
    if result.unneeded:
        yield from entry("unneeded", f"lemmas that no proof needs: {', '.join(result.unneeded)}")
    if result.verdict == "proved" and result.rests_on:
        yield from ("", "rests on")
        for ground in result.rests_on:
            yield from entry(ground.what, ground.text)
    for kind, title in (("property", ""), ("lemma", "lemmas")):
        group = [proof for proof in result.properties if (proof.claim.kind == "lemma") == (kind == "lemma")]
        if group:
            yield ""
            if title:
                yield title
            for proof in group:
                yield from _property(proof, explain or kind == "property")


def _property(proof: PropertyProof, explain: bool) -> Iterator[str]:
    rests = f"; rests on {', '.join(proof.resting_on)}" if proof.resting_on else ""
    queries = f"{proof.queries} {'query' if proof.queries == 1 else 'queries'}"
    by = f" by {proof.length}-induction" if proof.length > 1 and proof.verdict == "proved" else ""
    yield from _wrapped(f"{proof.claim.title}: {SAID[proof.verdict]}{by}, {queries}{rests}")
    if explain and proof.needs:
        yield from _wrapped(f"needs {', '.join(proof.needs)}", "    ")
    if explain and proof.ghosts:
        yield from _wrapped(f"ghosts {', '.join(proof.ghosts)}", "    ")


def fragment_lines(system: System) -> Iterator[str]:
    """The lines that say whether, and why, the formulas of a system leave the decidable fragment."""
    assumed = tuple(system.of_kind("invariant", "lemma"))
    found = fragment(Logic(system, ghosts_read(system, assumed), assumed))
    if found.is_decidable:
        yield f"{system.name}: every question about invariants is decidable: the graph of sorts has no cycle"
        return
    yield f"{system.name}: Z3 need not come to an answer"
    for problem in found.outside:
        yield from _wrapped(f"no formula says this: {problem}", INDENT)
    if found.arithmetic:
        yield from _wrapped(f"integers, which quantifiers speak of: {', '.join(found.arithmetic)}", INDENT)
    if found.circular:
        yield f"{INDENT}cycles in the graph of sorts:"
    for (source, target), group in groupby(found.circular, key=lambda edge: (edge.source, edge.target)):
        yield from _wrapped(f"{source} -> {target}: {', '.join(edge.why for edge in group)}", INDENT * 2)


# Counterexamples and gaps ----------------------------------------------------------------------------------------


def counterexample_text(proof: PropertyProof) -> str:
    """The text of a property's counterexample to induction, with the suggested lemmas; no final newline."""
    assert proof.counterexample is not None
    return "\n".join(_counterexample(proof.claim, proof.counterexample, proof.suggestions))


def _counterexample(claim: Claim, found: Counterexample, suggestions: Sequence[Suggestion]) -> Iterator[str]:
    trace = found.trace
    start = trace.steps[0].action != ANY
    yield f"{claim.name}: {'false at a start' if start else f'not kept by {found.action}'}"
    yield from textwrap.wrap(claim.sentence, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)
    yield ""
    sizes = ", ".join(f"{name} {size}" for name, size in found.sizes)
    if start:
        yield from _wrapped(f"An initial state; none of its sizes can be smaller ({sizes}).")
    else:
        yield from _wrapped(
            "In the state below all that is assumed holds, and a step breaks the property. It need not be one that "
            f"can be reached. None of its sizes can be smaller ({sizes})."
        )
    yield ""
    yield from _states(trace)
    yield ""
    yield from _conclusion(trace, claim)
    if suggestions:
        yield ""
        yield from _suggested(suggestions)


def _states(trace: Trace) -> Iterator[str]:
    if trace.constants:
        yield from ("given", *listed(standing(trace.constants, full=True)), "")
    first = trace.steps[0]
    yield "before  (cells that are False, None or 0 are left out)"
    cells = zip(trace.cells, first.values, strict=True)
    yield from list(listed(standing(cells, full=False))) or ["     nothing else"]
    if trace.length or len(trace.steps) > 1:
        yield from ("", *render_steps(trace).splitlines())


def _conclusion(trace: Trace, claim: Claim) -> Iterator[str]:
    yield from verdict(trace) if trace.claim is not None else [conclusion(claim)]


def _suggested(suggestions: Sequence[Suggestion]) -> Iterator[str]:
    some = len(suggestions) > 1
    if suggestions[0].restores:
        yield (
            "These lemmas would exclude it, and are kept by every step:"
            if some
            else ("This lemma would exclude it, and is kept by every step:")
        )
    else:
        yield "This lemma excludes it and every step preserves it, but the proof needs further lemmas:"
    for each in suggestions:
        yield ""
        yield from textwrap.wrap(
            each.text, WIDTH, initial_indent="    ", subsequent_indent="        ", break_long_words=False
        )


def _gaps(result: ProofResult) -> Iterator[str]:
    """The obligations without an answer and the reasons; properties with the same action and reason share a line."""
    troubled: dict[tuple[str, str], list[str]] = {}
    for proof in result.properties:
        for gap in proof.gaps:
            troubled.setdefault((gap.action, gap.reason), []).append(proof.claim.name)
    for (action, reason), names in troubled.items():
        where = "at the start" if action == "init" else f"after {action}"
        yield f"No answer {where}: {reason}. That leaves open: {', '.join(names)}."


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent or INDENT)
