"""A comparison of two models as text: both side by side, then the steps that were gained and lost."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from holdfast.check.diff.compared_system import StepAnswer
from holdfast.check.diff.engine import Diff, NameDifferences, RuleDifference, Version
from holdfast.check.diff.lockstep import Difference, LockstepResult, Side
from holdfast.check.result import Result
from holdfast.check.summary import MARGIN, entry
from holdfast.ir.system import Property, System
from holdfast.trace.line import replay_command
from holdfast.trace.text import WIDTH, configuration, count, render_steps
from holdfast.trace.trace import Trace

COLUMN = 24
"""The width of the column with the figures of A."""


def render_diff(found: Diff) -> str:
    """The whole text of a comparison, without a final newline and without times."""
    blocks = [
        [f"{name}  {what(version)}" for name, version in (("A", found.a), ("B", found.b))],
        _table(found),
        [line for name, text in parts(found) for line in entry(name, text)],
        _side("gained", "B", found.compared),
        _side("lost", "A", found.compared),
        _answers(found.compared),
        textwrap.wrap(verdict(found), WIDTH, break_on_hyphens=False),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def what(version: Version) -> str:
    """A model, its scope, and its variants and removed rules."""
    system = version.system
    return f"{version.target}: {configuration(system.name, version.scope.name, system.chosen, system.removed)}"


# Both side by side ---------------------------------------------------------------------------------------------------


def _table(found: Diff) -> list[str]:
    rows = [("", "A", "B"), *figures_of(found)]
    width = max(MARGIN, *(len(name) for name, _, _ in rows))
    return [f"  {name:<{width}}  {one:<{COLUMN}}{two}".rstrip() for name, one, two in rows]


def figures_of(found: Diff) -> list[tuple[str, str, str]]:
    """The figures of both searches side by side: the name of each, its value for A, and that for B."""
    figures = [_figures(result) for result in (found.searched_a, found.searched_b)]
    lengths = [_lengths(found.a, found.searched_a), _lengths(found.b, found.searched_b)]
    rows = [(name, figures[0][name], figures[1][name]) for name in figures[0]]
    for name in dict.fromkeys((*lengths[0], *lengths[1])):
        one, two = (each.get(name, "-") for each in lengths)
        # A property that only one side has, or has decided, gets a line only if it does not simply hold there.
        if one != two and {one, two} != {"-", "holds"}:
            rows.append((name, one, two))
    return rows


def _figures(result: Result | None) -> dict[str, str]:
    """The figures of a search, by the name of the row."""
    if result is None:
        return dict.fromkeys(("verdict", "states", "steps", "depth"), "-") | {"verdict": "not searched"}
    figures = result.figures
    ended = "" if result.ended_by is None else " so far"
    return {
        "verdict": "no answer" if result.verdict == "out_of_budget" else result.verdict,
        "states": f"{figures.distinct:,}{ended}",
        "steps": f"{figures.generated:,}{ended}",
        "depth": f"{figures.depth:,}{ended}",
    }


def _lengths(version: Version, result: Result | None) -> dict[str, str]:
    """The outcome of each property and witness, in the order of the source. Undecided ones are left out."""
    if result is None:
        return {}
    runs = {trace.shown.name: trace for trace in result.findings}
    reached = {witness.claim.name: witness.trace for witness in result.witnesses}
    vacuous = {claim.name for claim in result.vacuous}
    found: dict[str, str] = {}
    for name in dict.fromkeys((*(prop.name for prop in _decided(version.system)), *runs)):
        run = runs.get(name) or reached.get(name)
        if run is not None:
            found[name] = f"{'reached' if name in reached else 'violated'} after {count(run.length, 'step')}"
        elif result.ended_by is None:
            found[name] = "not reached" if name in reached else "vacuous" if name in vacuous else "holds"
    return found


def _decided(system: System) -> Iterator[Property]:
    return system.of_kind("invariant", "lemma", "step", "witness")


def parts(found: Diff) -> Iterator[tuple[str, str]]:
    """What differs in the sources: the kind of part, and which parts differ."""
    said = [(name, _names(each)) for name, each in _by_kind(found) if each.some]
    said += [("rules" if index == 0 else "", _rule(rule)) for index, rule in enumerate(found.rules)]
    yield from said or [("models", "the same actions, fields and bounds, and no rule decides differently")]


def _by_kind(found: Diff) -> Sequence[tuple[str, NameDifferences]]:
    return ("actions", found.actions), ("fields", found.fields), ("scope", found.bounds)


def _names(found: NameDifferences) -> str:
    said = [("changed", found.changed), ("only in A", found.only_a), ("only in B", found.only_b)]
    return "; ".join(f"{which}: {', '.join(names)}" for which, names in said if names)


def _rule(rule: RuleDifference) -> str:
    said = [] if rule.only is None else [f"only in {rule.only}"]
    said += [] if rule.idle is None else [f"decides nothing in {rule.idle}"]
    for side, other, steps in (("A", "B", rule.refusals[0]), ("B", "A", rule.refusals[1])):
        if steps:
            said.append(f"refuses in {side} {count(steps, 'step')} that {other} takes")
    return f"{rule.label}: {'; '.join(said)}"


# Gained and lost -----------------------------------------------------------------------------------------------------


def _side(word: str, side: Side, compared: LockstepResult) -> list[str]:
    """The steps that only one side takes: by action and reason, with the shortest run."""
    other = other_side(side)
    found = compared.of(side)
    if not found:
        return [f"{word}: nothing" + (" so far" if compared.waiting else f"; what {side} does, {other} does too")]
    total = sum(each.steps for each in found)
    lines = [f"{word}: {count(total, 'step')} that {side} takes and {other} does not"]
    for each in found:
        lines += _wrapped(difference(each))
    which = "one" if found[0].idle else "one that changes something"
    return [*lines, "", f"the shortest run of {side} to {which}", *_run(found[0].run), *_end(found[0], other)]


def difference(each: Difference) -> str:
    """The steps of an action that one side takes, and why the other does not."""
    idle = ", none of which changes anything" if each.idle and each.answer.kind != "start" else ""
    return f"{each.action}: {count(each.steps, 'step')}{idle}; {why(each.answer, other_side(each.side), each.action)}"


def other_side(side: Side) -> Side:
    """B for A, and A for B."""
    return "A" if side == "B" else "B"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def _end(found: Difference, other: Side) -> list[str]:
    return [*_wrapped(why(found.answer, other, found.action)), *_replay(found.run)]


def _run(trace: Trace) -> list[str]:
    return render_steps(trace).split("\n") if trace.length else ["  its start"]


def _replay(trace: Trace) -> list[str]:
    return [f"replay:    {replay_command(trace)}"]


def why(answer: StepAnswer, other: Side, action: str) -> str:
    """Why the other side does not take the step."""
    match answer.kind:
        case "refused" | "cut":
            return f"{other} {_denial(answer)}"
        case "elsewhere":
            return f"in {other} it leads to another state"
        case "start":
            return f"no run of {other} begins like that"
        case "absent":
            return f"{action} takes no such argument in {other}" if answer.what else f"{other} has no action {action}"


def _denial(answer: StepAnswer) -> str:
    error = "" if answer.error is None else f" ({answer.error})"
    if answer.kind == "cut":
        return f"cuts it at the bound of {answer.what}"
    return f"refuses it by {answer.what}{error}"


def _answers(compared: LockstepResult) -> list[str]:
    if not compared.answers:
        return []
    total = sum(each.requests for each in compared.answers)
    lines = [f"denied by both, with different answers: {count(total, 'request')}"]
    return lines + [line for text in answers(compared) for line in _wrapped(text)]


def answers(compared: LockstepResult) -> Iterator[str]:
    """The requests that both deny with different answers, the first ones first."""
    for each in sorted(compared.answers, key=lambda each: each.run.length):
        args = ", ".join(f"{name}={value}" for name, value in each.arguments)
        yield (
            f"{each.action}: {count(each.requests, 'request')}; A {_denial(each.a)}, B {_denial(each.b)}; first "
            f"{each.action}({args}) after {count(each.run.length, 'step')}"
        )


def verdict(found: Diff) -> str:
    """Whether both do the same, and in how many states they were compared."""
    compared, same = found.compared, found.same_behaviour
    where = f"{count(compared.states, 'state')} that the same runs lead to in both"
    where += f", of up to {count(compared.depth, 'step')}"
    where += f"; {compared.group_order:,} renamings of a state count as one" if compared.group_order > 1 else ""
    if compared.waiting:
        lead = "nothing differs" if same else "they differ"
        said = f"No answer ({found.ended_by}): {lead} in the first {where}; {compared.waiting:,} are left."
    else:
        said = f"{'Both do the same' if same else 'They do not do the same'}: compared in {where}."
        said += f" No answer from a search ({found.ended_by})." if found.ended_by is not None else ""
    return said
