"""Which rules of the implementation a scenario needs: without them it fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs
from msgspec.structs import replace

from impl.rules import decided, guards, without
from impl.scenario.language import Scenario
from impl.scenario.runner import ScenarioVerdict, run
from impl.scenario.switches import RUN

KRAFT = "cancel: K"
"""The profile of KRaft as shipped, instead of a rule."""
TIMER_AS_BUILT = "timer: automq"
"""The profile of the election timer as built (EL-01 to EL-06), instead of a rule."""
PROFILES = (KRAFT, TIMER_AS_BUILT)
"""The profiles that stand for a variant, each as a file states it: a key and its value."""

FOLLOWED: Mapping[str, Mapping[str, str]] = {"G1": {"handshake": "G1"}}
"""By variant that lacks no rule, but is another way to run the protocol: the profile of the controller that runs it.

A file of its run follows the model with this variant, and states the profile.
"""

OF_VARIANTS = {
    "snapshot_without_flag": ("AM-02",),
    "timer_fires_once": ("EL-03",),
    "timer_not_restored": ("EL-06",),
    # Every record that names a leader raises its epoch (CA-40): no switch changes that. The old epoch would do harm
    # because a late close of it would count; this rule refuses the close.
    "restore_epoch": ("CK-02.epoch_old",),
    "kraft": (KRAFT,),
    "timer_as_built": (TIMER_AS_BUILT,),
    "fenced_is_new_minus_1": ("M-08",),
    # Here a main counts all requests, also local ones, by one rule.
    "local_uncounted": ("M-02",),
}
"""By variant of a model: what the implementation lacks in its place. A label, the switch of a spot, or a profile."""


OF_LABELS: Mapping[str, tuple[str, ...]] = {
    "CA-05": ("CA-26.alive",),
    "CA-26": ("CA-26.min_isr",),
    "EL-08.first": ("EL-08.leader",),
    "EL-12.fence": ("EL-12.leaderless",),
    "EL-12.unfence": ("EL-12.leaderless",),
    # Without its CA-44 the implementation never lets the origin lead at once; without these the model always may.
    "CA-44.active": (),
    "CA-44.whole": (),
}
"""By label of a model: its labels in the implementation, where these are not of the same name. None: the rule is the
controller's, but no label switches it off alone."""


@attrs.frozen
class NeededRules:
    """The outcome of a scenario with all rules, and what makes it fail.

    ``verdict``: with all rules. ``own``: for each rule that the run lacks, by its name in the implementation, whether
    the scenario fails without it. ``others``: the other rules without which it fails.
    """

    verdict: ScenarioVerdict
    own: tuple[tuple[str, bool], ...]
    others: tuple[str, ...]

    @property
    def is_needed(self) -> bool:
        """Whether the scenario fails without a rule that the run lacks. If it lacks none: without any rule."""
        return any(fails for _, fails in self.own) if self.own else bool(self.others)


def own_rules(removed: Iterable[str], variants: Iterable[str]) -> tuple[str, ...]:
    """The rules of the controller that a run lacks, by their names in the implementation.

    ``removed``, ``variants``: the rules that the run lacks, and its variants, by their names in the model.
    """
    own = [name for label in removed for name in labels_of(label)]
    own += [name for variant in variants for name in OF_VARIANTS.get(variant, ())]
    return tuple(dict.fromkeys(own))


def needed(scenario: Scenario, own: Sequence[str]) -> NeededRules:
    """Run a scenario with all rules, without each of the rules ``own``, and without each other rule that it decides."""
    before = decided.copy()
    verdict = run(scenario)
    others = [label for label in sorted(decided - before) if label not in own]
    found = tuple((name, fails_without(scenario, name)) for name in own)
    return NeededRules(verdict, found, tuple(label for label in others if fails_without(scenario, label)))


def fails_without(scenario: Scenario, name: str) -> bool:
    """Whether a scenario fails without a rule: a label, the switch of a spot, or one of PROFILES."""
    if name in PROFILES:
        key, value = name.split(": ")
        return run(replace(scenario, profile=replace(scenario.profile, **{key: value}))).failure is not None
    if name not in guards():
        return run(scenario, frozenset({name})).failure is not None
    with without(name):
        return run(scenario).failure is not None


def tells_lack(scenario: Scenario, name: str) -> bool:
    """Whether a scenario fails without a rule and passes with all rules. ``name``: as for ``fails_without``."""
    return fails_without(scenario, name) and run(scenario).failure is None


def lacks_switch(label: str) -> bool:
    """Whether a model's rule is the controller's, but no label of the implementation switches it off alone."""
    return OF_LABELS.get(label.partition("@")[0]) == ()


def labels_of(label: str) -> tuple[str, ...]:
    """The labels of a model's rule in the controller; none if the rule is not the controller's, or ``lacks_switch``.

    The controller may divide a rule of the model into parts, or have other parts of the rule with this id.
    """
    plain = label.partition("@")[0]
    if plain in OF_LABELS:
        return OF_LABELS[plain]
    rule = plain.partition(".")[0]
    known = [name for name, places in guards().items() if any(file.partition("/")[0] in RUN for file, _ in places)]
    if plain in known:
        return (plain,)
    parts = tuple(name for name in known if name.startswith(f"{plain}."))
    return parts or tuple(name for name in known if name.partition(".")[0] == rule)
