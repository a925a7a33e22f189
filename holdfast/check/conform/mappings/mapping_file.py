"""Read a mapping from a YAML file. Anything that is no part of a mapping is a UsageError with file and line."""

from __future__ import annotations

from pathlib import Path

import attrs
import yaml

from holdfast.check.conform.logs.damage import damaged, nearest, shown
from holdfast.check.conform.logs.events import Json
from holdfast.check.conform.logs.own_format import Header
from holdfast.check.conform.mappings.mapping import KAFKA_DUMP, NDJSON, MappedOutcome, Mapping, SourceFields
from holdfast.check.conform.mappings.mapping_expressions import Tables
from holdfast.check.conform.mappings.mapping_kind import read_expression, read_kind
from holdfast.check.conform.mappings.records_file import read_grammar
from holdfast.check.conform.mappings.yaml_nodes import (
    Pairs,
    integer,
    pairs,
    place,
    read_text,
    root,
    text_of,
    texts,
)
from holdfast.check.conform.mappings.yaml_nodes import constant as constant_of
from holdfast.ir.errors import Place, UsageError
from holdfast.ir.load import model_folders

LINES, RECORDS = ("events", "outcome"), ("records", "snapshot", "last")
"""The parts of a mapping for logs of lines, and the parts for dumps."""

KEYS = ("model", "variants", "source", "literals", "tables", "ignore", "hidden", "unseen", *LINES, *RECORDS)
NDJSON_KEYS = ("format", "when", "time", "seq", "source", "cause")
DUMP_KEYS = ("format",)
OUTCOME_KEYS = ("field", "taken", "unknown")


def read_mapping(path: Path) -> Mapping:
    """The mapping in a file; raises UsageError if the file holds no mapping.

    A bare name without a suffix, such as automq-metadata, is looked up in the folder ``mappings`` beside the models.
    """
    found = _named(path) if len(path.parts) == 1 and not path.suffix and not path.exists() else path
    return mapping_of(read_text(found), str(found))


def _named(name: Path) -> Path:
    """The file of a mapping that is given by name. Raises UsageError if there is none."""
    known = {path.stem: path for folder in reversed(model_folders()) for path in folder.glob("mappings/*.yaml")}
    if name.name not in known:
        raise UsageError(f"there is no mapping {name}; {nearest(name.name, sorted(known))} (or the path of a file)")
    found = known[name.name]
    return found.relative_to(Path.cwd()) if found.is_relative_to(Path.cwd()) else found


def mapping_of(text: str, file: str) -> Mapping:
    """The mapping in a text; ``file`` is its name in errors. Raises UsageError if the text is no mapping."""
    node = root(text, file)
    given = pairs(node, "the mapping", KEYS)
    if "source" not in given:
        damaged(
            Place(file, 1), "source is missing", "write source: {format: ndjson, when: …, time: …, seq: …, source: …}"
        )
    tables = _tables(given)
    source = pairs(given["source"][1], "source")
    form = text_of(source["format"][1], "format") if "format" in source else NDJSON
    if form not in (NDJSON, KAFKA_DUMP):
        damaged(place(source["format"][1]), f"unknown format {shown(form)}", nearest(form, (NDJSON, KAFKA_DUMP)))
    mapping = Mapping(
        file=file,
        about=_about(given, file),
        format=form,
        tables=tables,
        ignore=frozenset(texts(given["ignore"][1], "ignore")) if "ignore" in given else frozenset(),
        hidden=texts(given["hidden"][1], "hidden") if "hidden" in given else {},
        unseen=tuple(texts(given["unseen"][1], "unseen")) if "unseen" in given else (),
    )
    return _dump(mapping, given) if form == KAFKA_DUMP else _ndjson(mapping, given)


def _about(given: Pairs, file: str) -> Header:
    at = place(given["model"][1]) if "model" in given else Place(file, 1)
    model = text_of(given["model"][1], "model") if "model" in given else None
    variants = tuple(texts(given["variants"][1], "variants")) if "variants" in given else ()
    literals: dict[str, dict[int, int]] = {}
    for nat, (_, meanings) in pairs(given["literals"][1], "literals").items() if "literals" in given else ():
        of = literals[nat] = {}
        for key, value in pairs(meanings, f"literals of {nat}").values():
            literal = integer(key, f"a literal of {nat}")
            of[literal] = integer(value, f"the meaning of {literal}")
    return Header(at, model, variants, literals)


def _tables(given: Pairs) -> Tables:
    tables: dict[str, dict[str, Json]] = {}
    for name, (key, node) in pairs(given["tables"][1], "tables").items() if "tables" in given else ():
        if not name.isidentifier():
            damaged(place(key), f"{shown(name)} is no name of a table", "a name has letters, digits and _")
        entries = pairs(node, f"the table {name}")
        if not entries:
            damaged(place(node), f"the table {name} is empty", "give it entries, or leave it out")
        tables[name] = {key: constant_of(value, f"{name}[{key}]") for key, (_, value) in entries.items()}
    return tables


def _dump(mapping: Mapping, given: Pairs) -> Mapping:
    pairs(given["source"][1], "source of a kafka-dump", DUMP_KEYS)
    for name in LINES:
        if name in given:
            damaged(place(given[name][0]), f"a kafka-dump has no {name}", "define its operations under records:")
    if "records" not in given:
        damaged(Place(mapping.file, 1), "records is missing", "a kafka-dump needs records: what makes an operation")
    last = given["last"][1] if "last" in given else None
    records = read_grammar("records", given["records"][1], last, mapping.tables)
    snapshot = None
    if "snapshot" in given:
        snapshot = read_grammar("snapshot", given["snapshot"][1], last, mapping.tables)
    used = records.types | (snapshot.types if snapshot else frozenset())
    for name, at in texts(given["ignore"][1], "ignore").items() if "ignore" in given else ():
        if name in used:
            damaged(at, f"{name} stands in an operation and in ignore", "choose one")
    return attrs.evolve(mapping, records=records, snapshot=snapshot)


def _ndjson(mapping: Mapping, given: Pairs) -> Mapping:
    for name in RECORDS:
        if name in given:
            damaged(place(given[name][0]), f"an ndjson log has no {name}", "write events:, or format: kafka-dump")
    node = given["source"][1]
    fields = pairs(node, "source", NDJSON_KEYS)
    for name in ("when", "time", "seq", "source"):
        if name not in fields:
            damaged(place(node), f"source has no {name}", "it says which field of a line has it")
    if "events" not in given:
        damaged(Place(mapping.file, 1), "events is missing", "it says what each kind of line means")
    read = {
        name: read_expression(fields[name][1], name, mapping.tables)
        for name in ("when", "time", "seq", "source", "cause")
        if name in fields
    }
    kinds = {
        name: read_kind(name, key, pairs(value, name), mapping.tables)
        for name, (key, value) in pairs(given["events"][1], "events").items()
    }
    if not kinds:
        damaged(place(given["events"][0]), "events is empty", "it says what each kind of line means")
    for name, at in texts(given["ignore"][1], "ignore").items() if "ignore" in given else ():
        if name in kinds:
            damaged(at, f"{shown(name)} is in both events and ignore", "choose one")
    return attrs.evolve(
        mapping,
        fields=SourceFields(read["when"], read["time"], read["seq"], read["source"], read.get("cause")),
        kinds=kinds,
        outcome=_outcome(given["outcome"][1], mapping.tables) if "outcome" in given else None,
    )


def _outcome(node: yaml.Node, tables: Tables) -> MappedOutcome:
    given = pairs(node, "outcome", OUTCOME_KEYS)
    if "field" not in given:
        damaged(place(node), "outcome has no field", "it says which field of a line has the outcome")
    taken = texts(given["taken"][1], "taken") if "taken" in given else {}
    unknown = texts(given["unknown"][1], "unknown") if "unknown" in given else {}
    for name, at in unknown.items():
        if name in taken:
            damaged(at, f"{shown(name)} stands in taken and in unknown", "choose one")
    return MappedOutcome(read_expression(given["field"][1], "field", tables), frozenset(taken), frozenset(unknown))
