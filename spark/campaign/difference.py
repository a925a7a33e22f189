"""Compares two campaigns of one model: the findings and the coverage that only one of them has."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

import attrs

from holdfast.check.result import HOLDS, OUT_OF_BUDGET, VIOLATED
from holdfast.check.summary import entry
from holdfast.ir.errors import UsageError
from holdfast.trace.text import WIDTH, count
from spark.campaign.config import Config
from spark.campaign.findings import Finding
from spark.campaign.summary import Rates, Summary
from spark.campaign.words import Words, rate

MOST_FINDINGS = 20
"""The most findings of a kind that the text lists; it only counts the others."""
MOST_NAMES = 12
"""The most names that a line of the text lists; it only counts the others."""


NOTHING = "nothing"


@attrs.frozen
class OneSided:
    """The names that only the first campaign has, and those that only the second has."""

    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


@attrs.frozen(kw_only=True)
class CampaignDifference:
    """The differences of two campaigns, A and B. ``settings``: the options that differ, each with both values.

    ``findings_a`` and ``findings_b``: the findings of only A and only B. ``both``: the common findings, as pairs.
    """

    model: str
    words: Words
    names: tuple[str, str]
    settings: tuple[tuple[str, str, str], ...]
    findings_a: tuple[Finding, ...]
    findings_b: tuple[Finding, ...]
    both: tuple[tuple[Finding, Finding], ...]
    actions: OneSided
    rules: OneSided
    pairs: OneSided
    witnesses: OneSided
    situations: OneSided
    circumstances: OneSided
    moments: OneSided
    runs: tuple[int, int]
    complete: tuple[bool, bool]
    rates: tuple[Rates, Rates]
    open_b: tuple[str, ...]
    """Why the second campaign has no answer about all runs: it lacks units, or runs have no answer."""

    @property
    def exit_code(self) -> int:
        """12 if the second campaign has findings that the first lacks; else 20 if it is open about some runs."""
        if self.findings_b:
            return VIOLATED
        return OUT_OF_BUDGET if self.open_b else HOLDS


def compare(a: Summary, b: Summary) -> CampaignDifference:
    """The differences of two campaigns. Raises UsageError if their models differ: then nothing is comparable.

    Campaigns of clusters may differ in the cluster.
    """
    if a.kind != b.kind or (a.kind in ("model", "log") and a.model != b.model):
        raise UsageError(
            f"{a.name} is a campaign of {a.model} and {b.name} one of {b.model}; compare campaigns of one model"
        )
    for each in (a, b):
        check_shrunk(each)
    by_a, by_b = ({finding.signature: finding for finding in each.findings} for each in (a, b))
    return CampaignDifference(
        model=a.model,
        words=a.words,
        names=(a.name, b.name),
        settings=tuple(_settings(a, b)),
        findings_a=tuple(finding for name, finding in by_a.items() if name not in by_b),
        findings_b=tuple(finding for name, finding in by_b.items() if name not in by_a),
        both=tuple((finding, by_b[name]) for name, finding in by_a.items() if name in by_b),
        actions=_two(_taken(a), _taken(b)),
        rules=_two(_decisive(a), _decisive(b)),
        pairs=_two([f"{p.first} then {p.second}" for p in a.pairs], [f"{p.first} then {p.second}" for p in b.pairs]),
        witnesses=_two([each.name for each in a.witnesses], [each.name for each in b.witnesses]),
        situations=_two([s.name for s in a.situations if s.runs], [s.name for s in b.situations if s.runs]),
        # Tables before version 6 have none, which says nothing about what their runs reached.
        circumstances=_two([each.name for each in a.circumstances], [each.name for each in b.circumstances])
        if a.circumstances and b.circumstances
        else OneSided((), ()),
        moments=_two([moment.name for moment in a.moments], [moment.name for moment in b.moments]),
        runs=(a.runs, b.runs),
        complete=(a.is_complete, b.is_complete),
        rates=(a.rates, b.rates),
        open_b=tuple(_open(b)),
    )


def _open(summary: Summary) -> Iterator[str]:
    """Why there is no answer about all runs of a campaign."""
    if not summary.is_complete:
        yield f"{summary.done:,} of {count(summary.asked.units, 'unit')} are done"
    if summary.not_judged:
        yield f"{count(summary.not_judged, 'run')} without an answer"


def check_shrunk(summary: Summary) -> None:
    """Raise UsageError unless all findings are shrunk: a shrunk one has another signature than the run as drawn."""
    if any(finding.shrunk is None for finding in summary.findings):
        raise UsageError(f"{summary.name}: its findings are not shrunk yet, so they have other signatures; resume it")


def _settings(a: Summary, b: Summary) -> Iterator[tuple[str, str, str]]:
    """The settings that differ: name, value in A, value in B."""
    one, two = _asked(a.asked), _asked(b.asked)
    one |= {"fingerprint": a.fingerprint, "holdfast": a.holdfast}
    two |= {"fingerprint": b.fingerprint, "holdfast": b.holdfast}
    for name, value in one.items():
        if value != two.get(name, NOTHING):
            yield name, value, two.get(name, NOTHING)


def _asked(config: Config) -> dict[str, str]:
    """The settings of a campaign as texts, by the names of their options."""
    names = {"removed": "without", "traces_per_unit": "traces a unit"}
    settings = {name: value for name, value in attrs.asdict(config).items() if name not in ("cluster", "log")}
    for options in (config.cluster, config.log):
        settings |= {} if options is None else attrs.asdict(options)
    return {names.get(name, name.replace("_", " ")): _shown(value) for name, value in settings.items()}


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or NOTHING
    return NOTHING if value is None else str(value)


def _taken(summary: Summary) -> list[str]:
    return [action.name for action in summary.actions if action.taken]


def _decisive(summary: Summary) -> list[str]:
    return [f"{rule.label}@{rule.action}" for rule in summary.rules if rule.decisive]


def _two(a: Sequence[str], b: Sequence[str]) -> OneSided:
    return OneSided(tuple(name for name in a if name not in set(b)), tuple(name for name in b if name not in set(a)))


# In words ----------------------------------------------------------------------------------------------------------


def render_difference(found: CampaignDifference) -> str:
    """The comparison as text, without a final newline. Only the rates in it depend on the machine."""
    lines = textwrap.wrap(_verdict(found), WIDTH, subsequent_indent="  ")
    lines += ["", *entry("A", _about(found, 0)), *entry("B", _about(found, 1))]
    for name, one, two in found.settings:
        lines += entry(name, f"{one} in A, {two} in B")
    for title, findings in (("only in B", found.findings_b), ("only in A", found.findings_a)):
        if findings:
            lines += ["", f"findings {title}"]
            listed_ones = findings[:MOST_FINDINGS]
            lines += [line for each in listed_ones for line in _finding(each, found.words)] + _more(findings)
    if found.both:
        lines += ["", "findings in both"]
        pairs = found.both[:MOST_FINDINGS]
        lines += [line for one, two in pairs for line in _shared(one, two, found.words)] + _more(found.both)
    covered = list(_covered(found))
    lines += ["", *covered] if covered else []
    for note in _notes(found):
        lines += ["", *textwrap.wrap(note, WIDTH)]
    return "\n".join(lines)


def _verdict(found: CampaignDifference) -> str:
    new, gone, both = len(found.findings_b), len(found.findings_a), len(found.both)
    shared = f"{count(both, 'finding')} in both"
    if new:
        also = f", and lacks {gone:,} of A's" if gone else ""
        return f"{found.model}: B has {count(new, 'finding')} that A has not{also}; {shared}"
    if gone:
        return f"{found.model}: B has no finding that A has not, and lacks {gone:,} of A's; {shared}"
    return f"{found.model}: the same findings, {both:,} in both" if both else f"{found.model}: neither found anything"


def _about(found: CampaignDifference, side: int) -> str:
    rates = found.rates[side]
    part = "" if found.complete[side] else ", not complete"
    return (
        f"{found.names[side]}: {count(found.runs[side], 'run')}{part}, "
        f"{rate(rates.runs_per_second)} runs and {rate(rates.steps_per_second)} steps a second and core"
    )


def _finding(finding: Finding, words: Words) -> Iterator[str]:
    yield from entry(
        finding.signature[:12], f"{finding.property}, {words.by(finding.action)}: {count(finding.times, 'run')}"
    )
    if finding.shrunk is not None and finding.shrunk.replay:
        # A command is never wrapped, however long it is, so that it can be copied.
        yield f"{'':18}{finding.shrunk.replay}"


def _shared(one: Finding, two: Finding, words: Words) -> list[str]:
    met = f"{one.times:,} in A, {count(two.times, 'run')} in B"
    return entry(one.signature[:12], f"{one.property}, {words.by(one.action)}: {met}")


def _more(findings: Sequence[object]) -> list[str]:
    more = len(findings) - MOST_FINDINGS
    return [f"  and {count(more, 'finding')} more"] if more > 0 else []


def _covered(found: CampaignDifference) -> Iterator[str]:
    kinds: Mapping[str, OneSided] = {
        "taken": found.actions,
        "decisive": found.rules,
        "pairs": found.pairs,
        "reached": found.witnesses,
        "situations": found.situations,
        "circumstances": found.circumstances,
        "moments": found.moments,
    }
    for name, two in kinds.items():
        for side, names in (("A", two.only_a), ("B", two.only_b)):
            if names:
                yield from entry(f"{name}, {side} only", listed(names))


def listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """The names, separated by commas; if there are more than ``most``, the first ones and the number of the others."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])}, and {len(names) - most:,} more"


def _notes(found: CampaignDifference) -> Iterator[str]:
    if any(name == "fingerprint" for name, _, _ in found.settings):
        yield "The fingerprints differ: the target was changed between the two, or chosen otherwise."
    if found.open_b:
        yield f"B may have more findings: {'; '.join(found.open_b)}."
    if found.runs[0] != found.runs[1]:
        yield "They made different numbers of runs, so the one that made more had more occasion to find and to cover."
