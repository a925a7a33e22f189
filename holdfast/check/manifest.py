"""What is known of every model: each checked configuration with the outcome it must have.

``manifest.json`` stands beside the models. It pins, for each scope, variant and removed rule worth keeping, the
verdict, the number of states and the depth, and of a violation the property and the length of its shortest run. A
difference is a finding, whichever side is wrong; ``holdfast verify --update`` accepts what was found.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import attrs
from attrs import field
from attrs.validators import deep_iterable, instance_of

from holdfast.check.budget import Budget
from holdfast.check.search import search
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import HoldfastError, UsageError
from holdfast.ir.load import load_model, names_in
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.trace.line import replay_command

MANIFEST = "manifest.json"
SLOW_SCOPE = "large"


@attrs.frozen
class Configuration:
    """A model, by its bare name, in one scope, with some variants chosen and some rules removed."""

    model: str = field(validator=instance_of(str))
    scope: str = field(validator=instance_of(str))
    variants: tuple[str, ...] = field(default=(), validator=deep_iterable(instance_of(str), instance_of(tuple)))
    without: tuple[str, ...] = field(default=(), validator=deep_iterable(instance_of(str), instance_of(tuple)))

    def __str__(self) -> str:
        """The configuration as the command line takes it, after the model."""
        options = [f"--scope {self.scope}"]
        options += [f"--variant {name}" for name in self.variants]
        options += [f"--without {rule}" for rule in self.without]
        return " ".join(options)


@attrs.frozen
class Outcome:
    """What a check says, in the figures that no machine and no run changes.

    ``exit_code`` is that of ``holdfast check``; ``bits`` is the size of a state; ``property`` the first violated
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
class Entry:
    """A configuration, whether only the slow tier checks it, and the outcome pinned for it (None: nothing yet)."""

    configuration: Configuration
    slow: bool
    expected: Outcome | None

    def differences(self, found: Outcome) -> list[str]:
        """Where the outcome is not what is pinned, with both values."""
        if self.expected is None:
            return ["nothing is pinned; `holdfast verify --update` pins what is found"]
        pinned, seen = _figures(self.expected), _figures(found)
        return [f"{name}: pinned {pinned[name]}, found {seen[name]}" for name in pinned if pinned[name] != seen[name]]


def measure(folder: Path, entry: Entry) -> Outcome:
    """Check the entry's configuration of a model in the folder.

    A check that finds far more states than are pinned has gone wrong already, and is not followed to its end.
    """
    wanted, pinned = entry.configuration, entry.expected
    budget = Budget() if pinned is None else Budget(states=2 * pinned.states + 10_000)
    try:
        system = remove_rules(_load(folder, wanted.model, wanted.variants), wanted.without)
        result = search(system, system.scope(wanted.scope), budget=budget, target=wanted.model)
    except HoldfastError as error:
        return Outcome("error", error.exit_code, error=str(error))
    first = next(iter(result.findings), None)
    return Outcome(
        result.verdict,
        result.exit_code,
        result.figures.distinct,
        result.figures.depth,
        result.figures.bits,
        None if first is None else first.shown.name,
        None if first is None else first.length,
        replay=None if first is None else replay_command(first),
    )


def measure_all(folder: Path, entries: Sequence[Entry], processes: int) -> Iterator[Outcome]:
    """Check the entries side by side; their outcomes come in the order of the entries."""
    with ProcessPoolExecutor(
        processes,
        mp_context=multiprocessing.get_context("spawn"),
        # Ctrl-C reaches every process of the terminal; the one that started the others answers it.
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),
    ) as pool:
        # The longest first, so that none is left to run alone at the end.
        started = sorted(entries, key=lambda entry: 0 if entry.expected is None else -entry.expected.states)
        futures = {entry: pool.submit(measure, folder, entry) for entry in started}
        try:
            for entry in entries:
                yield futures[entry].result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def read_manifest(folder: Path) -> list[Entry]:
    """The entries for a folder of models, in their order; then one, with nothing pinned, for whatever is left out.

    Each scope wants an entry, and each variant one in some scope. Raises UsageError for a file that is no manifest.
    """
    path = folder / MANIFEST
    entries: list[Entry] = []
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
        Entry(configuration, configuration.scope == SLOW_SCOPE, None)
        for name in names_in(folder)
        for configuration in _left_out(name, _load(folder, name), entries)
    ]


def format_manifest(entries: Iterable[Entry]) -> str:
    """The manifest's text: one entry a line, so that a difference reads well. What has nothing pinned is left out."""
    rows = [json.dumps(_to_json(entry)) for entry in entries if entry.expected is not None]
    return "[\n" + ",\n".join(f"  {row}" for row in rows) + "\n]\n"


def _load(folder: Path, name: str, variants: Sequence[str] = ()) -> System:
    return compile_model(load_model(str(folder / f"{name}.py")), variants=variants)


def _left_out(model: str, system: System, entries: Sequence[Entry]) -> list[Configuration]:
    known = [entry.configuration for entry in entries if entry.configuration.model == model]
    varied = {name for configuration in known for name in configuration.variants}
    smallest = next(iter(system.scopes), "")
    return [
        *(Configuration(model, scope) for scope in system.scopes if Configuration(model, scope) not in known),
        *(Configuration(model, smallest, (name,)) for name in system.variants if name not in varied),
    ]


def _to_json(entry: Entry) -> dict[str, object]:
    """An entry as one flat record; what does not apply is left out."""
    assert entry.expected is not None
    row = {**attrs.asdict(entry.configuration), "slow": entry.slow, **_figures(entry.expected)}
    return {name: value for name, value in row.items() if value is not None and value != () and value is not False}


def _figures(outcome: Outcome) -> dict[str, Any]:
    """What is pinned of an outcome."""
    return attrs.asdict(outcome, filter=lambda attribute, _: attribute.name != "replay")


def _from_json(rows: object) -> list[Entry]:
    if not isinstance(rows, list):
        raise TypeError("it is not a list")
    return [_entry(dict(row)) for row in rows]


def _entry(row: dict[str, Any]) -> Entry:
    place = {name: row.pop(name) for name in attrs.fields_dict(Configuration) if name in row}
    place |= {name: tuple(names) for name, names in place.items() if isinstance(names, list)}
    slow = row.pop("slow", False)
    return Entry(Configuration(**place), slow, Outcome(**row))
