"""Recorded logs as the target of a campaign: `holdfast conform` judges each log by a model. A run is a log."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import attrs

from holdfast.check.budget import Budget, Meter
from holdfast.check.conform.answer.candidates import candidates
from holdfast.check.conform.answer.verdict import headline, render, verdict_of
from holdfast.check.conform.judge.frame import Frames
from holdfast.check.conform.judge.ground import UnjudgedError
from holdfast.check.conform.judge.judge import Judgement
from holdfast.check.conform.judge.order import uses
from holdfast.check.conform.judge.setup import JudgeOptions
from holdfast.check.conform.judge_log import header_of, judge_log, open_log, system_for
from holdfast.check.conform.mappings.mapping import Mapping
from holdfast.check.conform.mappings.mapping_names import check_names
from holdfast.check.temporary_folder import TemporaryFolder
from holdfast.check.walk.result import StopFigures
from holdfast.ir.errors import UsageError
from holdfast.ir.system import System
from holdfast.ir.variants import load_variant
from spark.campaign.config import Config, LogCollection
from spark.campaign.findings import ShrunkRun, signature
from spark.campaign.model_target import portable
from spark.campaign.tables import STATE_BITS
from spark.campaign.units import Sighting, TargetHeader, UnitResult
from spark.campaign.words import NO_ANSWER, UNANSWERED
from spark.cluster.storage import FileStorage, StorageError, open_storage

CONFORMS, IMPOSSIBLE, DAMAGED, UNKNOWN = "conforms", "impossible", "damaged", NO_ANSWER
"""What becomes of a log."""

KEEP = 20_000
"""The most events of a log that a process keeps in memory, some 30 MB. Longer logs are read twice."""

PLACE = re.compile(r"\A\S+?:(?:\d+:)* ")
"""The place at the begin of an error: FILE, FILE:LINE or FILE:LINE:COLUMN."""

QUOTED = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)')
"""A value of a log in an error. A long one is cut off, and has no second quote."""

NUMBER = re.compile(r"(?<!\w)\d+")
"""A number in an error. A digit within a word belongs to a name, such as that of a record."""

KINDS = 2
"""Raised if logs are told apart in another way, so that no campaign has findings of both kinds."""


@attrs.frozen
class LogTarget:
    """The logs in a place, in the order of their names, and the model that judges them.

    ``system``: the model in the variants of --variant, or else of the mapping. ``others``: the model without a variant
    and in each single one, for logs whose header names it; none with --variant, which counts for all logs. Executors do
    not get the model's file, so they can compile no other choice.
    ``mapping``: the text and the file of the mapping. A mapping itself consists of functions, which no executor gets.
    """

    system: System = attrs.field(converter=portable)
    others: tuple[System, ...]
    mapping: tuple[str, str] | None
    options: LogCollection
    variants: tuple[str, ...]
    """The variants of --variant."""
    storage: FileStorage
    names: tuple[str, ...]

    @classmethod
    def of(cls, config: Config, model: str | None = None) -> LogTarget:
        """The target of a configuration; ``model``: the model to load, instead of the one that it names.

        Raises UsageError if there is no log, or if model or mapping are wrong.
        """
        options = config.log
        assert options is not None, "the configuration is one of logs"
        storage, names = logs_in(options)
        mapping = given = None
        if options.map is not None:
            # Only a mapping needs the YAML library.
            from holdfast.check.conform.mappings.mapping_file import read_mapping  # noqa: PLC0415

            mapping = read_mapping(Path(options.map))
            given = Path(mapping.file).read_text(encoding="utf-8"), mapping.file
        variants = config.variants or (mapping.about.variants if mapping is not None else ())
        named = model or options.model
        system = load_variant(named, variants)
        choices = [] if config.variants else [(), *((name,) for name in system.variants)]
        others = tuple(portable(load_variant(named, each)) for each in choices if each != system.chosen)
        # A model that cannot judge any log is refused once, and not for each log.
        uses(system, frozenset(var.name for var in system.variables if var.ghost))
        if mapping is not None:
            check_names(mapping, system)
        return cls(system, others, given, options, config.variants, storage, names)

    def header(self) -> TargetHeader:
        """The model, and a fingerprint of KINDS, the model in its variants, the mapping, and the names of the logs."""
        models = [each.fingerprint for each in (self.system, *self.others)]
        parts = (str(KINDS), *models, "" if self.mapping is None else self.mapping[0], *self.names)
        return TargetHeader(
            kind="log",
            model=f"logs of {self.system.name}",
            fingerprint=hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest(),
            deadlock="",
            actions=tuple(action.name for action in self.system.actions),
        )

    def ready(self) -> ReadyLogs:
        """The target; nothing is compiled."""
        return ReadyLogs(self)


def logs_in(options: LogCollection) -> tuple[FileStorage, tuple[str, ...]]:
    """The place of the logs, and their names, sorted: each file in the place is a log.

    Raises UsageError if the place is missing, holds no file, or holds anything that is no log, such as a folder.
    """
    storage = open_storage(options.place, options.s3 if options.place.startswith("s3://") else None, "--in")
    for name in storage.unlisted()[:1]:
        raise UsageError(
            f"--in {options.place}: {_quoted(name)} is no log, but a folder, a link to nothing, a special file or an "
            "incomplete one; move it elsewhere"
        )
    names = storage.list("")
    if not names and not options.place.startswith("s3://") and not Path(options.place).is_dir():
        raise UsageError(f"--in {options.place}: does not exist; name a folder with one file for each log")
    if not names:
        raise UsageError(f"--in {options.place}: holds no file; name a folder with one file for each log")
    for name in names:
        if not name.isprintable():
            raise UsageError(
                f"--in {options.place}: the name of {_quoted(name)} is no printable text in UTF-8; rename it"
            )
    return storage, tuple(names)


def _quoted(name: str) -> str:
    """The name of a file for a message on one line; bytes that are no UTF-8 are shown as numbers."""
    return name if name.isprintable() else repr(os.fsencode(name))


@attrs.frozen
class LogAnswer:
    """The answer about one log. ``kind``: what becomes of it. ``action`` and ``state``: of a log that does not conform,
    the kind of the event and the rules by which it is told apart.

    ``judged``: the number of events. ``sentence`` and ``text``: the answer in one line, and in full.
    """

    kind: str
    judged: int
    action: str
    state: tuple[str, ...]
    sentence: str
    text: str
    seen: Counter[str]
    decisive: frozenset[str]

    @property
    def is_wrong(self) -> bool:
        """Whether the log is damaged, or impossible."""
        return self.kind in (DAMAGED, IMPOSSIBLE)

    @property
    def signature(self) -> str:
        """The signature in the table ``runs``: of a log without an answer, the reason after UNANSWERED."""
        if self.kind == UNKNOWN:
            return f"{UNANSWERED}{self.sentence}"
        return signature(self.kind, self.action, self.state)


class ReadyLogs:
    """Logs that can be judged. The seed of a unit is the number of its first log."""

    def __init__(self, target: LogTarget) -> None:
        self.target = target
        self.mapping: Mapping | None = None
        systems = [*target.others, target.system]
        self._systems = {frozenset(system.chosen): system for system in systems}
        # Logs share what is compiled: most of them have the sizes of an earlier one.
        self._frames = {system.chosen: Frames(system) for system in systems}
        if target.mapping is not None:
            from holdfast.check.conform.mappings.mapping_file import mapping_of  # noqa: PLC0415 - as above

            self.mapping = mapping_of(*target.mapping)

    def run(self, seed: int, traces: int) -> UnitResult:
        """Judge ``traces`` logs from number ``seed`` on, and count."""
        names = self.target.names[seed : seed + traces]
        answers = [self.judged(name) for name in names]
        seen: Counter[str] = Counter()
        decisive: Counter[str] = Counter()
        for answer in answers:
            seen.update(answer.seen)
            decisive.update(answer.decisive)
        system = self.target.system
        return UnitResult(
            runs=len(answers),
            steps=sum(answer.judged for answer in answers),
            stops=tuple(_stop(kind, answers) for kind in (CONFORMS, IMPOSSIBLE, DAMAGED, UNKNOWN)),
            sightings=tuple(_sightings(answers)),
            actions=tuple((action.name, seen[action.name], 0) for action in system.actions),
            rules=tuple(
                (action, rule.label, 0, decisive[rule.label]) for rule in system.rules for action in rule.actions[:1]
            ),
            cuts=(),
            pairs=(),
            witnesses=(),
            states=bytes(STATE_BITS // 8),
            logs=tuple(
                (name, answer.signature) for name, answer in zip(names, answers, strict=True) if answer.kind != CONFORMS
            ),
        )

    def show(self, seed: int, run: int) -> ShrunkRun:
        """Judge one log again, by its number. A log is not shrunk: it is what was recorded."""
        name = self.target.names[seed + run]
        answer, options = self.judged(name), self.target.options
        place = f"{options.place.rstrip('/')}/{name}"
        if not answer.is_wrong:
            raise StorageError(f"{place}: has changed since it was judged; begin another campaign")
        given = [] if options.map is None else ["--map", options.map]
        given += [word for name in self.target.variants for word in ("--variant", name)]
        return ShrunkRun(
            drawn=answer.judged,
            steps=answer.judged,
            shape=answer.signature,
            line="",
            replay=shlex.join(["holdfast", "conform", options.model, place, *given]),
            sentence=answer.sentence,
            itf="",
            text=answer.text,
        )

    def judged(self, name: str) -> LogAnswer:
        """The answer about the log with this name."""
        try:
            data = self.target.storage.read(name)
        except StorageError as error:
            if not isinstance(error.__cause__, PermissionError):
                raise  # The storage may work again later, and then the campaign goes on.
            said = f"unknown: the log cannot be read: {error.__cause__.strerror}"
            return LogAnswer(UNKNOWN, 0, "", (), said, said, Counter(), frozenset())
        if data is None:
            raise StorageError(f"{self.target.storage.name}: {name} is not there any more; put it back")
        with TemporaryFolder("log") as folder:
            path = folder / "log"
            path.write_bytes(data)
            return _named(self._answer(str(path)), str(path), name)

    def _answer(self, path: str) -> LogAnswer:
        try:
            with open_log((path,), self.mapping, KEEP) as log:
                header = header_of(log, self.mapping)
                system = system_for(header, self.mapping, self.target.variants, self._system)
                frames = self._frames[system.chosen]
                options = JudgeOptions(hidden=tuple(self.mapping.hidden) if self.mapping is not None else ())
                judgement = judge_log(frames.of(header.literals), log, options, Meter(Budget()))
                return _of_judgement(system, judgement, self._kind(judgement.reason or "", path))
        except UnjudgedError as error:
            said = f"unknown: {error}"
            return LogAnswer(UNKNOWN, 0, "", (), said, said, Counter(), frozenset())
        except UsageError as error:
            said = str(error)
            kind = self._kind(said, path).partition(";")[0]  # The remedy follows.
            return LogAnswer(DAMAGED, 0, kind, (), said, said, Counter(), frozenset())

    def _system(self, variants: tuple[str, ...]) -> System:
        """The model in some variants.

        Raises UsageError for an unknown variant, and Unjudged for several that are not those of the campaign.
        """
        if self.target.variants and not variants:
            return self.target.system  # Its name is compared with the header's.
        found = self._systems.get(frozenset(variants))
        if found is None:
            model = self.target.system
            for name in variants:
                if name not in model.variants:
                    raise UsageError(
                        f"{model.name} has no variant {name!r}; it has: {', '.join(model.variants) or 'none'}"
                    )
            raise UnjudgedError(
                f"the header names the variants {', '.join(variants)}, and a campaign judges logs of several variants "
                "only if --variant names them"
            )
        return found

    def _kind(self, said: str, path: str) -> str:
        """What is wrong, in a text about a log, without its place.

        Left out is what only this log has: numbers, values in quotes (such as names of hosts), the name of its copy.
        """
        said = said.replace(path, "log")
        if self.mapping is not None:
            said = said.replace(self.mapping.file, Path(self.mapping.file).name)
        return NUMBER.sub("N", QUOTED.sub('"…"', PLACE.sub("", said)))


def _of_judgement(system: System, judgement: Judgement, reason: str) -> LogAnswer:
    """The answer in a judgement. ``reason``: its reason without numbers and places."""
    verdict = verdict_of(system, judgement)
    kind = {"conforms": CONFORMS, "impossible": IMPOSSIBLE, "unknown": UNKNOWN}[judgement.kind]
    # Of a dump whose records are no operation there are no facts: the reason tells it apart.
    action = reason if kind == IMPOSSIBLE else ""
    state: tuple[str, ...] = ()
    if kind == IMPOSSIBLE and judgement.facts is not None and judgement.world is not None:
        action = judgement.facts.event.action
        first = next(iter(candidates(judgement.world, judgement.facts)), None)
        state = () if first is None else (first.kind,)
    return LogAnswer(
        kind=kind,
        judged=judgement.judged,
        action=action,
        state=state,
        sentence=headline(verdict),
        text=render(verdict),
        seen=judgement.seen,
        decisive=frozenset(judgement.tally.decisive),
    )


def _named(answer: LogAnswer, path: str, name: str) -> LogAnswer:
    """The answer, in which the name of the log stands for the path of its copy."""
    return attrs.evolve(
        answer,
        sentence=answer.sentence.replace(path, name),
        text=answer.text.replace(path, name),
    )


def _stop(kind: str, answers: list[LogAnswer]) -> StopFigures:
    events = [answer.judged for answer in answers if answer.kind == kind]
    return StopFigures(kind, len(events), sum(events), min(events, default=0), max(events, default=0))


def _sightings(answers: list[LogAnswer]) -> Iterator[Sighting]:
    """The logs that do not conform, grouped by what tells them apart."""
    alike: dict[tuple[str, str, tuple[str, ...]], list[tuple[int, int]]] = {}
    for number, answer in enumerate(answers):
        if answer.is_wrong:
            alike.setdefault((answer.kind, answer.action, answer.state), []).append((answer.judged, number))
    for (kind, action, state), logs in sorted(alike.items()):
        events, number = min(logs)
        yield Sighting(property=kind, action=action, state=state, times=len(logs), run=number, steps=events)
