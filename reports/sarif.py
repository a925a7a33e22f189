"""SARIF 2.1.0, as code scanners read it: a result for each violation, at the model's line, with its run as code flow.

A run has one thread flow for each process; ``executionOrder`` gives their interleaving. ``partialFingerprints`` are
equal for the same finding in the next version of the model, so that a scanner keeps the comments on it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from holdfast.ir.errors import Place
from holdfast.records.record import Case, Moment, Record

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "SRCROOT"
"""The name of the base of relative paths: the working directory of the command."""


def render(records: Sequence[Record]) -> str:
    """The records as one SARIF file."""
    said = [(record, case) for record in records for case in record.cases if case.status in ("failed", "unanswered")]
    rules = {case.name: _rule(case) for record in records for case in record.cases}
    order = {name: index for index, name in enumerate(rules)}
    run = {
        "tool": {
            "driver": {
                "name": "Holdfast",
                "version": version("holdfast"),
                "rules": list(rules.values()),
            }
        },
        "columnKind": "unicodeCodePoints",
        "automationDetails": {"id": _category(records)},
        "invocations": [{"executionSuccessful": all(case.status != "unanswered" for _, case in said)}],
        "results": [_result(record, case, order[case.name]) for record, case in said],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _category(records: Sequence[Record]) -> str:
    """The category of the file: engine, models and changes, without scopes.

    A scanner replaces earlier results by new ones of the same category, and refuses two files of one tool and category
    at once. The part behind the last slash, which is empty here, does not belong to the category.
    """
    asked = dict.fromkeys(" ".join((record.engine, record.model, *record.changes)) for record in records)
    return f"holdfast {', '.join(asked)}/"


def _rule(case: Case) -> dict[str, Any]:
    ids = {"properties": {"tags": list(case.ids)}} if case.ids else {}
    return {"id": case.name, "name": case.name, "shortDescription": {"text": case.sentence or case.name}, **ids}


def _result(record: Record, case: Case, rule: int) -> dict[str, Any]:
    text = (
        f"{' '.join(part for part in (record.model, record.scope) if part)}: {case.message}. {case.sentence}".rstrip()
    )
    replay = f"\n\n{case.replay}" if case.replay else ""
    found: dict[str, Any] = {
        "ruleId": case.name,
        "ruleIndex": rule,
        "level": "error" if case.status == "failed" else "warning",
        "message": {"text": f"{text}{replay}"},
        "locations": [_location(case.at)],
    }
    if case.fingerprint:
        found["partialFingerprints"] = {"holdfastFinding/v1": case.fingerprint}
    if case.flow:
        found["codeFlows"] = [{"message": {"text": case.message}, "threadFlows": _threads(case.flow)}]
    return found


def _threads(flow: Sequence[Moment]) -> list[dict[str, Any]]:
    """A thread flow for each process, in the order of their first steps."""
    threads: dict[str, list[dict[str, Any]]] = {}
    for number, moment in enumerate(flow):
        place = {"location": _location(moment.at, moment.text), "executionOrder": number + 1}
        threads.setdefault(moment.process, []).append(place)
    return [{"id": process, "locations": places} for process, places in threads.items()]


def _location(at: Place, text: str | None = None) -> dict[str, Any]:
    message = {} if text is None else {"message": {"text": text}}
    region = {"startLine": at.line, "startColumn": at.column}
    return {"physicalLocation": {"artifactLocation": _artifact(at.file), "region": region}, **message}


def _artifact(file: str) -> dict[str, Any]:
    """The location of a file: relative to the working directory if it is below it, otherwise only the file's name.

    So a report never contains a path of the machine that made it.
    """
    path = Path(file).resolve()
    if path.is_relative_to(Path.cwd()):
        return {"uri": quote(PurePath(path.relative_to(Path.cwd())).as_posix()), "uriBaseId": ROOT}
    return {"uri": quote(path.name), "uriBaseId": ROOT}
