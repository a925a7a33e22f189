"""The options that say which clusters are simulated, for every command that draws runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from holdfast.ir.errors import UsageError
from impl.scenario.suggest import unknown, unknown_id
from impl.scenario.switches import switches
from impl.sim.case_file import PACKAGES, labels
from impl.sim.check import Question
from impl.sim.controller_settings import SETTINGS
from impl.sim.faults import NAMED, PARTITION, REPORT, ZONED
from impl.sim.options import Options

PLAIN = Options()
ZONED_PARTITIONS = 4
"""The number of partitions in a cluster with zones, which routes nothing else."""


def drawn_question(
    seed: int,
    *,
    faults: str | None = None,
    brokers: int | None = None,
    streams: int | None = None,
    partitions: int | None = None,
    zones: int | None = None,
    generation: Literal["G0", "G1"] | None = None,
    clients: int | None = None,
    steps: int | None = None,
    minutes: int | None = None,
    version: str | None = None,
    without: tuple[str, ...] = (),
    switch: tuple[str, ...] = (),
    setting: tuple[str, ...] = (),
) -> Question:
    """The question of these options, each of which may be None for its default; ``steps``: the number of operations.

    Raises UsageError for an unknown name, and for options that exclude each other.
    """
    if zones is not None:
        if zones > (brokers or max(PLAIN.brokers, zones)):
            raise UsageError(f"--zones {zones}: each zone needs a broker; give --brokers {zones}, or leave it out")
        partitions = partitions or ZONED_PARTITIONS
    if partitions is None:
        refuse({"--generation": generation}, "only --partitions are elected")
    else:
        refuse({"--streams": streams}, "each of the --partitions has streams of its own")
        _refuse_kinds(faults, PARTITION, "it happens to --streams, and not to --partitions")
    if zones is None:
        _refuse_kinds(faults, (*ZONED, *REPORT), "it happens only in a cluster with --zones")
    options = Options(
        partitions=partitions or 0,
        zones=zones or 0,
        brokers=brokers or max(PLAIN.brokers, zones or 0),
        streams=streams or PLAIN.streams,
        clients=clients or PLAIN.clients,
        operations=PLAIN.operations if steps is None else steps,
        faults=_kinds(faults),
        span_ms=PLAIN.span_ms if minutes is None else minutes * 60_000,
    )
    return Question(
        seed=seed,
        options=options,
        version=version or "V6",
        generation=generation or "G1",
        without=checked_labels(without, labels()),
        switches=_checked("--switch", "switch", switch, list(switches(PACKAGES))),
        settings=_checked("--setting", "setting", setting, list(SETTINGS)),
    )


def refuse(options: Mapping[str, object], why: str) -> None:
    """Raise UsageError for the first option that has a value. ``why``: the reason, for the message."""
    for option, value in options.items():
        if value is not None:
            raise UsageError(f"{option}: {why}; leave it out")


def _refuse_kinds(faults: str | None, kinds: Iterable[str], why: str) -> None:
    """Raise UsageError for the first of these kinds that ``faults`` names."""
    named = (faults or "").split(",")
    refuse({f"--faults {each}": each for each in kinds if each in named}, why)


def _kinds(faults: str | None) -> str | tuple[str, ...]:
    """The value of ``Options.faults``. Raises UsageError."""
    if faults is None or faults in ("all", "none"):
        return faults or "all"
    return _checked("--faults", "kind of fault", tuple(faults.split(",")), list(NAMED))


def checked_labels(names: tuple[str, ...], known: list[str]) -> tuple[str, ...]:
    """The labels that ``--without`` names, among the known ones. Raises UsageError."""
    return _checked("--without", "label", _labels_of(names, known), known)


def _labels_of(names: tuple[str, ...], known: list[str]) -> tuple[str, ...]:
    """The names, where the id of a rule with several labels stands for all of them: WL-05 for WL-05.verify and others.

    A name that is itself a label stands for itself alone.
    """
    found: list[str] = []
    for name in names:
        parts = [] if name in known else [label for label in known if label.startswith(f"{name}.")]
        found += parts or [name]
    return tuple(found)


FEW = 20
"""The most names that a message lists."""


def _checked(option: str, what: str, names: tuple[str, ...], known: list[str]) -> tuple[str, ...]:
    """The names, each once. Raises UsageError for an unknown name."""
    for name in names:
        if name not in known:
            message = unknown_id(what, name, known) if what == "label" else unknown(what, name, known)
            if len(known) <= FEW:
                # An id is similar to every other id, so few names are all listed.
                message = f"unknown {what} {name}; known: {', '.join(known)}"
            raise UsageError(f"{option}: {message}")
    return tuple(dict.fromkeys(names))
