"""The page of guards: for each guard of the protocols, what mutation has found when the guard is removed.

``guards.toml`` beside the models has a row for each guard, with the mutants that stand for it. ``mutants.json`` has the
result of every mutant as of the last ``holdfast mutate --update``.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
from attrs.validators import deep_iterable, deep_mapping, instance_of

from holdfast.check.json_values import sealed, unsealed
from holdfast.check.mutate.result import MutantRow, MutationReport
from holdfast.ir.errors import UsageError, unreadable

GUARDS = "guards.toml"
RESULTS = "mutants.json"

HEAD = """\
# Guards and what they protect

Every guard of the [protocols](protocol/streams.md), what it protects, and the mutant that stands for it: the model
without that rule. A mutant is *killed* if a property is violated or a witness is no longer reached, after N steps at
least; *redundant* if it takes a second rule to be removed as well; *equivalent* if it changes no step; *liveness* if a
run goes on for ever without reaching an owed goal; *missing* if it needs state that the model leaves out. How these are
established: [mutants](language.md#mutants).

This page is generated: `holdfast mutate --update` tries all mutants and stores what becomes of them, and
`holdfast mutate --guards docs/guards.md` writes it.
"""


@attrs.frozen
class Guard:
    """A row of ``guards.toml``.

    - ``guard``: the guard in words; ``protects``: what it protects; ``home``: the model that should hold it.
    - ``mutants``: the mutants (``MODEL:MUTANT``) that stand for it. ``missing``: what the models lack, if it has none.
    - ``parts``: the texts of its parts, if a model splits it (``M-11.active``).
    """

    id: str = attrs.field(validator=instance_of(str))
    guard: str = attrs.field(validator=instance_of(str))
    protects: str = attrs.field(validator=instance_of(str))
    home: str = attrs.field(validator=instance_of(str))
    mutants: tuple[str, ...] = attrs.field(default=(), validator=deep_iterable(instance_of(str)), converter=tuple)
    missing: str = attrs.field(default="", validator=instance_of(str))
    parts: Mapping[str, str] = attrs.field(factory=dict, validator=deep_mapping(instance_of(str), instance_of(str)))


@attrs.frozen
class GuardTable:
    """A table of guards. ``name`` is its page and section, such as ``streams.md 19``."""

    name: str
    title: str
    guards: tuple[Guard, ...]


@attrs.frozen
class MutantSummary:
    """The result of a mutant for the page: its way, a text that says why, and the command that shows it."""

    way: str
    because: str
    command: str


def read_guards(path: Path) -> list[GuardTable]:
    """The tables of the file. Raises UsageError if the file lacks a table, or contradicts itself."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))["table"]
        tables = [
            GuardTable(str(table["name"]), str(table["title"]), tuple(Guard(**row) for row in table["guard"]))
            for table in found
        ]
    except OSError as error:
        raise unreadable(path, error) from error
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path}: is no list of guards ({error}); mend it") from error
    seen: set[str] = set()
    for guard in (guard for table in tables for guard in table.guards):
        if guard.id in seen:
            raise UsageError(f"{path}: {guard.id} stands there twice; keep one")
        seen.add(guard.id)
        if bool(guard.mutants) == bool(guard.missing):
            raise UsageError(f"{path}: {guard.id} has both mutants and missing, or none of them; give one")
        for name in guard.mutants:
            if ":" not in name:
                raise UsageError(f"{path}: {guard.id}: {name!r} names no mutant; write MODEL:MUTANT")
    return tables


# Results on file ------------------------------------------------------------------------------------------------


def format_results(stored: Mapping[str, Any], reports: Iterable[MutationReport]) -> str:
    """The text of the results file: the stored results, with those of the reported models replaced."""
    models = {**stored, **{report.target: stored_rows(report) for report in reports}}
    lines = []
    for name in sorted(models):
        rows = ",\n".join(f"    {json.dumps(row)}" for row in models[name]["mutants"])
        head = {key: value for key, value in sealed(models[name]).items() if key != "mutants"}
        lines.append(f'  {json.dumps(name)}: {json.dumps(head)[:-1]}, "mutants": [\n{rows}\n  ]}}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def stored_rows(report: MutationReport) -> dict[str, Any]:
    """The part of a report that the results file stores."""
    return {
        "fingerprint": report.fingerprint,
        "scopes": list(report.scopes),
        "mutants": [_row(row) for row in report.rows],
    }


def _row(row: MutantRow) -> dict[str, Any]:
    """The stored result of a mutant."""
    found: dict[str, Any] = {"mutant": row.facts.mutant.name, "kind": row.facts.mutant.kind, "way": row.way}
    if row.way == "redundant" and row.facts.killed_with is not None:
        found["with"] = row.facts.killed_with.partner
    if row.kill is not None and row.kill.problem is not None:
        found |= {"reason": row.kill.problem, "scope": row.kill.scope}
    elif row.kill is not None:
        found |= {"property": row.kill.title, "steps": row.kill.steps, "scope": row.kill.scope}
    elif row.declared is not None:
        found["reason"] = f"{row.declared.names}: {row.declared.reason}" if row.declared.names else row.declared.reason
    return found


def read_results(path: Path) -> dict[str, Any]:
    """The content of the results file, by model; empty if there is no file.

    Raises UsageError for any other file, and for one that was altered: each model has a digest of its results.
    """
    if not path.exists():
        return {}
    try:
        models = json.loads(path.read_text(encoding="utf-8"))
        found: dict[str, Any] = {}
        for name, model in models.items():
            if not isinstance(model["fingerprint"], str) or not all(
                isinstance(row["way"], str) for row in model["mutants"]
            ):
                raise ValueError("a mutant has no way")
            try:
                found[name] = unsealed(model)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
    except OSError as error:
        raise unreadable(path, error) from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"{path}: holds no results of mutants ({error}); remove it and run `holdfast mutate --update`"
        ) from error
    return found


# The page -------------------------------------------------------------------------------------------------------


def guards_page(tables: Sequence[GuardTable], results: Mapping[str, Any], link: Callable[[str], str]) -> str:
    """The page, in Markdown. ``link`` adds links to the rule ids in a text.

    Raises UsageError for a row that names an unknown mutant of a model.
    """
    counts: dict[str, int] = {}
    sections: list[str] = []
    for table in tables:
        lines = [f"## {table.title}: {table.name}", "", "| id | guard | what it protects | found | command |"]
        lines.append("|---|---|---|---|---|")
        for guard in table.guards:
            found = list(_found(guard, results))
            # The summary counts a guard with several mutants by its first one.
            kind = found[0].way if found else "not modelled yet"
            counts[kind] = counts.get(kind, 0) + 1
            said = "<br>".join(each.because for each in found) or f"not modelled yet ({guard.home}): {guard.missing}"
            commands = "<br>".join(each.command for each in found)
            cells = (link(guard.id), link(guard.guard), guard.protects, said, commands)
            lines.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
        sections.append("\n".join(lines) + "\n")
    total = sum(len(table.guards) for table in tables)
    counted = f"{total} guards: {', '.join(f'{number} {kind}' for kind, number in counts.items())}.\n"
    return "\n".join([HEAD, counted, *sections])


def _found(guard: Guard, results: Mapping[str, Any]) -> Iterator[MutantSummary]:
    for name in guard.mutants:
        model, _, mutant = name.partition(":")
        if model not in results:
            yield MutantSummary("not tried yet", f"`{model}` {mutant}: not tried yet", f"`holdfast mutate {model}`")
            continue
        row = next((row for row in results[model]["mutants"] if row["mutant"] == mutant), None)
        if row is None:
            raise UsageError(
                f"{GUARDS}: {guard.id}: {model} has no mutant {mutant!r} among its results; correct the row, or run "
                f"`holdfast mutate --update {model}`"
            )
        yield MutantSummary(row["way"], f"`{model}` {mutant}: {because(row)}", command(model, row))


def because(row: Mapping[str, Any]) -> str:
    """The way of a mutant and the reason, in Markdown; ``row`` is a stored result."""
    way = f"**{row['way']}**"
    if "property" in row:
        steps = row["steps"]
        after = "is not reached" if steps is None else f"in {steps} step{'' if steps == 1 else 's'}"
        together = f" without {row['with']} too:" if "with" in row else " by" if steps is not None else ":"
        return f"{way}{together} {row['property']} {after}"
    return f"{way}: {row['reason']}" if "reason" in row else way


def command(model: str, row: Mapping[str, Any]) -> str:
    """The command that shows a result: a check in the scope that kills the mutant, or a trial of the mutant."""
    mutant = row["mutant"]
    if "property" not in row:
        return f"`holdfast mutate {model} --only {mutant}`"
    option = "--variant" if row["kind"] == "variant" else "--without"
    more = f" --without {row['with']}" if "with" in row else ""
    verb = "live" if row["way"] == "liveness" else "check"
    return f"`holdfast {verb} {model} --scope {row['scope']} {option} {mutant}{more}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
