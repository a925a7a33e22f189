"""The manifest: each checked configuration of every model, with the outcome that it must have.

``manifest.json`` stands beside the models. It pins outcomes for scopes, variants and removed rules: the verdict, the
number of states and the depth; for a violation also the property and the length of its shortest run. Some entries pin
the answer of ``live``. A difference is a fault, of the engine or of the manifest. ``holdfast verify --update`` accepts
the outcomes as found.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs

from holdfast.check.budget import Budget
from holdfast.check.json_values import DEFAULTED, MERGED, OMITTED, OPTIONAL, as_json, read_json
from holdfast.check.result import Figures, Result
from holdfast.check.search.engine import search
from holdfast.ir.errors import HoldfastError, UsageError, unreadable
from holdfast.ir.load import names_in
from holdfast.ir.scopes import LIVE, live_scopes
from holdfast.ir.system import LIVENESS, System
from holdfast.ir.variants import load_variant
from holdfast.trace.line import replay_command

if TYPE_CHECKING:
    from holdfast.check.live.result import LiveResult

MANIFEST = "manifest.json"
SLOW_SCOPE = "large"

Command = Literal["check", "live"]


@attrs.frozen
class Configuration:
    """A model, by its bare name, in one scope, with some variants chosen and some rules removed.

    ``engine`` is the command that checks it. ``properties`` are those that it decides; empty means all.
    """

    model: str
    scope: str
    variants: Annotated[tuple[str, ...], OPTIONAL] = ()
    without: Annotated[tuple[str, ...], OPTIONAL] = ()
    properties: Annotated[tuple[str, ...], OPTIONAL] = ()
    engine: Annotated[Command, OPTIONAL] = "check"

    def __str__(self) -> str:
        """The configuration as the command line takes it, after the model."""
        options = [f"--scope {self.scope}"]
        options += [f"--variant {name}" for name in self.variants]
        options += [f"--without {rule}" for rule in self.without]
        options += [f"--property {name}" for name in self.properties]
        return " ".join(options)

    @property
    def command(self) -> str:
        """The command that checks this configuration."""
        return f"holdfast {self.engine} {self.model} {self}"


@attrs.frozen
class PinnedOutcome:
    """The outcome of a check, in figures that are the same on every machine.

    - ``exit_code``: that of the command; ``bits``: the size of a state.
    - ``property``: the first violated property; ``steps``: the length of the shortest run to it.
    - ``error``: the message of a check that cannot be made. Its verdict is ``error``.
    - ``replay``: the command that repeats the run. It is not pinned.
    """

    verdict: str
    exit_code: int
    states: Annotated[int, DEFAULTED] = 0
    depth: Annotated[int, DEFAULTED] = 0
    bits: Annotated[int, DEFAULTED] = 0
    property: Annotated[str | None, OPTIONAL] = None
    steps: Annotated[int | None, OPTIONAL] = None
    error: Annotated[str | None, OPTIONAL] = None
    replay: Annotated[str | None, OMITTED] = attrs.field(default=None, eq=False)


@attrs.frozen
class ManifestEntry:
    """A configuration, whether only ``--slow`` checks it, and the pinned outcome (None: nothing is pinned yet)."""

    configuration: Annotated[Configuration, MERGED]
    slow: Annotated[bool, OPTIONAL] = False
    expected: Annotated[PinnedOutcome | None, MERGED] = None

    def differences(self, found: PinnedOutcome) -> list[str]:
        """The differences between the pinned outcome and ``found``, with both values."""
        if self.expected is None:
            return ["nothing is pinned; `holdfast verify --update` pins what is found"]
        pinned, seen = _figures(self.expected), _figures(found)
        return [f"{name}: pinned {pinned[name]}, found {seen[name]}" for name in pinned if pinned[name] != seen[name]]


def measure(folder: Path, entry: ManifestEntry) -> PinnedOutcome:
    """Check the entry's configuration of a model in the folder.

    The check stops at about twice the pinned number of states: by then it differs anyway. An error becomes an outcome.
    """
    wanted, pinned = entry.configuration, entry.expected
    budget = Budget() if pinned is None else Budget(states=2 * pinned.states + 10_000)
    try:
        system = compiled(folder, wanted)
        return outcome(_asked(wanted, system, budget))
    except HoldfastError as error:
        return PinnedOutcome("error", error.exit_code, error=error.lines[0])


def outcome(result: Result | LiveResult) -> PinnedOutcome:
    """The outcome of an answer."""
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
    """The entries for a folder of models, in their order. Configurations without an entry follow, with nothing pinned.

    Each scope needs an entry for ``check``, except the scope ``live``. Each variant needs one in some scope. Each scope
    in which liveness is decided needs an entry for ``live``. Raises UsageError for a file that is no manifest.
    """
    path = folder / MANIFEST
    entries: list[ManifestEntry] = []
    if path.exists():
        try:
            entries += read_json(tuple[ManifestEntry, ...], path.read_text(encoding="utf-8"))
            # A model of an entry is a file of the folder: the manifest does not choose what is executed.
            if wrong := [name for name in (each.configuration.model for each in entries) if not name.isidentifier()]:
                raise ValueError(f"{wrong[0]!r} is no name of a model")
        except OSError as error:
            raise unreadable(path, error) from error
        except ValueError as error:
            raise UsageError(
                f"{path}: is no manifest ({error}); mend it, or remove it and run `holdfast verify --update`"
            ) from error
    return entries + [
        ManifestEntry(configuration, slow=configuration.scope == SLOW_SCOPE)
        for name in names_in(folder)
        for configuration in _left_out(name, compiled(folder, Configuration(name, "")), entries)
    ]


def format_manifest(entries: Iterable[ManifestEntry]) -> str:
    """The text of the manifest: one entry per line, for readable differences. Entries without outcome are left out."""
    rows = [json.dumps(as_json(entry)) for entry in entries if entry.expected is not None]
    return "[\n" + ",\n".join(f"  {row}" for row in rows) + "\n]\n"


def compiled(folder: Path, wanted: Configuration) -> System:
    """The compiled model of a configuration, with its variants and without its removed rules."""
    return load_variant(str(folder / f"{wanted.model}.py"), wanted.variants, wanted.without)


def _left_out(model: str, system: System, entries: Sequence[ManifestEntry]) -> list[Configuration]:
    known = [entry.configuration for entry in entries if entry.configuration.model == model]
    varied = {name for configuration in known for name in configuration.variants}
    smallest = next(iter(system.scopes), "")
    plain = [Configuration(model, scope) for scope in system.scopes if scope != LIVE]
    if next(system.of_kind(*LIVENESS), None) is not None:
        plain += [Configuration(model, scope.name, engine="live") for scope in live_scopes(system)]
    return [
        *(configuration for configuration in plain if configuration not in known),
        *(Configuration(model, smallest, (name,)) for name in system.variants if name not in varied),
    ]


def _figures(outcome: PinnedOutcome) -> dict[str, Any]:
    """The pinned figures of an outcome."""
    return attrs.asdict(outcome, filter=lambda attribute, _: attribute.name != "replay")
