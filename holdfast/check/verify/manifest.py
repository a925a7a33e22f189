"""What is known of every model: each checked configuration with the outcome it must have.

``manifest.json`` stands beside the models. It pins, for each scope, variant and removed rule worth keeping, the
verdict, the number of states and the depth, and of a violation the property and the length of its shortest run; of
some what ``live`` answers. A difference is a finding, whichever side is wrong; ``holdfast verify --update`` accepts
what was found.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs
from attrs import field
from attrs.validators import deep_iterable, in_, instance_of

from holdfast.check.budget import Budget
from holdfast.check.result import Figures, Result
from holdfast.check.search.engine import search
from holdfast.ir.errors import HoldfastError, UsageError
from holdfast.ir.load import names_in
from holdfast.ir.scopes import LIVE, live_scopes
from holdfast.ir.system import System
from holdfast.ir.variants import load_variant
from holdfast.trace.line import replay_command

if TYPE_CHECKING:
    from holdfast.check.live.result import LiveResult

MANIFEST = "manifest.json"
SLOW_SCOPE = "large"

Asked = Literal["check", "live"]


@attrs.frozen
class Configuration:
    """A model, by its bare name, in one scope, with some variants chosen and some rules removed.

    ``engine`` is the command that is asked, ``properties`` those that it decides; none is all.
    """

    model: str = field(validator=instance_of(str))
    scope: str = field(validator=instance_of(str))
    variants: tuple[str, ...] = field(default=(), validator=deep_iterable(instance_of(str), instance_of(tuple)))
    without: tuple[str, ...] = field(default=(), validator=deep_iterable(instance_of(str), instance_of(tuple)))
    properties: tuple[str, ...] = field(default=(), validator=deep_iterable(instance_of(str), instance_of(tuple)))
    engine: Asked = field(default="check", validator=in_(("check", "live")))

    def __str__(self) -> str:
        """The configuration as the command line takes it, after the model."""
        options = [f"--scope {self.scope}"]
        options += [f"--variant {name}" for name in self.variants]
        options += [f"--without {rule}" for rule in self.without]
        options += [f"--property {name}" for name in self.properties]
        return " ".join(options)

    @property
    def command(self) -> str:
        """The command that asks."""
        return f"holdfast {self.engine} {self.model} {self}"


@attrs.frozen
class PinnedOutcome:
    """What a check says, in the figures that no machine and no run changes.

    ``exit_code`` is that of the command; ``bits`` is the size of a state; ``property`` the first violated
    property and ``steps`` the length of the shortest run to it. A check that cannot be made has the verdict ``error``,
    and ``error`` is its message. ``replay`` is the command that repeats the run; it is not pinned.
    """

    verdict: str = field(validator=instance_of(str))
    exit_code: int = field(validator=instance_of(int))
    states: int = field(default=0, validator=instance_of(int))
    depth: int = field(default=0, validator=instance_of(int))
    bits: int = field(default=0, validator=instance_of(int))
    property: str | None = None
    steps: int | None = None
    error: str | None = None
    replay: str | None = field(default=None, eq=False)


@attrs.frozen
class ManifestEntry:
    """A configuration, whether only the slow tier checks it, and the outcome pinned for it (None: nothing yet)."""

    configuration: Configuration
    slow: bool
    expected: PinnedOutcome | None

    def differences(self, found: PinnedOutcome) -> list[str]:
        """Where the outcome is not what is pinned, with both values."""
        if self.expected is None:
            return ["nothing is pinned; `holdfast verify --update` pins what is found"]
        pinned, seen = _figures(self.expected), _figures(found)
        return [f"{name}: pinned {pinned[name]}, found {seen[name]}" for name in pinned if pinned[name] != seen[name]]


def measure(folder: Path, entry: ManifestEntry) -> PinnedOutcome:
    """Check the entry's configuration of a model in the folder.

    A check that finds far more states than are pinned has gone wrong already, and is not followed to its end.
    """
    wanted, pinned = entry.configuration, entry.expected
    budget = Budget() if pinned is None else Budget(states=2 * pinned.states + 10_000)
    try:
        system = compiled(folder, wanted)
        return outcome(_asked(wanted, system, budget))
    except HoldfastError as error:
        return PinnedOutcome("error", error.exit_code, error=str(error))


def outcome(result: Result | LiveResult) -> PinnedOutcome:
    """What is pinned of an answer."""
    first = next(iter(result.findings), None)
    figures = result.figures
    return PinnedOutcome(
        result.verdict,
        result.exit_code,
        figures.distinct if isinstance(figures, Figures) else figures.states,
        figures.depth,
        figures.bits,
        None if first is None else first.shown.name,
        None if first is None else first.length,
        replay=None if first is None else replay_command(first),
    )


def _asked(wanted: Configuration, system: System, budget: Budget) -> Result | LiveResult:
    scope, properties = system.scope(wanted.scope), wanted.properties or None
    if wanted.engine == "check":
        return search(system, scope, properties=properties, budget=budget, target=wanted.model)
    from holdfast.check.live.engine import live  # noqa: PLC0415 - SciPy takes a while to import

    return live(system, scope, properties=properties, budget=budget, target=wanted.model)


def read_manifest(folder: Path) -> list[ManifestEntry]:
    """The entries for a folder of models, in their order; then one, with nothing pinned, for whatever is left out.

    Each scope wants a check, each variant one in some scope, and each scope in which ``live`` looks its answer; the
    scope ``live`` is for that alone. Raises UsageError for a file that is no manifest.
    """
    path = folder / MANIFEST
    entries: list[ManifestEntry] = []
    if path.exists():
        try:
            entries = _from_json(json.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UsageError(
                f"{path}: is no manifest ({error}); mend it, or remove it and run `holdfast verify --update`"
            ) from error
    return entries + [
        ManifestEntry(configuration, configuration.scope == SLOW_SCOPE, None)
        for name in names_in(folder)
        for configuration in _left_out(name, compiled(folder, Configuration(name, "")), entries)
    ]


def format_manifest(entries: Iterable[ManifestEntry]) -> str:
    """The manifest's text: one entry a line, so that a difference reads well. What has nothing pinned is left out."""
    rows = [json.dumps(_to_json(entry)) for entry in entries if entry.expected is not None]
    return "[\n" + ",\n".join(f"  {row}" for row in rows) + "\n]\n"


def compiled(folder: Path, wanted: Configuration) -> System:
    """The model of a configuration, with its variants and without its rules."""
    return load_variant(str(folder / f"{wanted.model}.py"), wanted.variants, wanted.without)


def _left_out(model: str, system: System, entries: Sequence[ManifestEntry]) -> list[Configuration]:
    known = [entry.configuration for entry in entries if entry.configuration.model == model]
    varied = {name for configuration in known for name in configuration.variants}
    smallest = next(iter(system.scopes), "")
    plain = [Configuration(model, scope) for scope in system.scopes if scope != LIVE]
    if next(system.of_kind("leads_to"), None) is not None:
        plain += [Configuration(model, scope.name, engine="live") for scope in live_scopes(system)]
    return [
        *(configuration for configuration in plain if configuration not in known),
        *(Configuration(model, smallest, (name,)) for name in system.variants if name not in varied),
    ]


def _to_json(entry: ManifestEntry) -> dict[str, object]:
    """An entry as one flat record; what does not apply is left out."""
    assert entry.expected is not None
    place = attrs.asdict(entry.configuration)
    if place["engine"] == "check":
        del place["engine"]
    row = {**place, "slow": entry.slow, **_figures(entry.expected)}
    return {name: value for name, value in row.items() if value is not None and value != () and value is not False}


def _figures(outcome: PinnedOutcome) -> dict[str, Any]:
    """What is pinned of an outcome."""
    return attrs.asdict(outcome, filter=lambda attribute, _: attribute.name != "replay")


def _from_json(rows: object) -> list[ManifestEntry]:
    if not isinstance(rows, list):
        raise TypeError("it is not a list")
    return [_entry(dict(row)) for row in rows]


def _entry(row: dict[str, Any]) -> ManifestEntry:
    place = {name: row.pop(name) for name in attrs.fields_dict(Configuration) if name in row}
    place |= {name: tuple(names) for name, names in place.items() if isinstance(names, list)}
    slow = row.pop("slow", False)
    return ManifestEntry(Configuration(**place), slow, PinnedOutcome(**row))
