"""Hostile files: each names, holds or spells code that would be executed by a reader that trusts it.

A file is written into the working directory, where ``evil.py`` and further modules write a canary when they are
executed. ``code`` is an expression that writes the canary as well.
"""

from __future__ import annotations

import json
import marshal
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from holdfast import __version__
from holdfast.check.json_values import sealed
from spark.campaign.config import LogCollection, read_config
from spark.campaign.tables import to_parquet
from tests.cli.samples import COUNTER
from tests.conform.walked_logs import lines
from tests.spark.samples import Sample, campaign, campaign_row, findings

Words = tuple[object, ...]

STEPS = "tiny -ST-14 #0000000000000000 one_owner: init(True)"
GOOD = "good.ndjson"
"""A log of ownership, which conforms."""

EVIL = "evil.py"
"""The model that writes the canary when it is executed."""


@attrs.frozen
class HostileFile:
    """A hostile file: its name, the function that makes its content from the code, and the verbs that read it."""

    name: str
    content: Callable[[str], bytes]
    verbs: Callable[[str], Iterator[Words]]


class PickleBomb:
    """An object that executes code when it is unpickled."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (self.code,)


def surroundings(folder: Path, code: str) -> None:
    """Write a good log and a good model, and all around them modules that write the canary."""
    evil = f"{COUNTER}\n{code}\n"
    for name in (EVIL, "package/__init__.py", "package/inner.py", "json.py", "difflib.py", "yaml.py", "conftest.py"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(evil)
    (folder / "models").mkdir()
    (folder / "models" / "reassignment.py").write_text(evil)
    (folder / "counter.py").write_text(COUNTER)
    (folder / GOOD).write_text(_ndjson(lines("ownership", 2, 20)))


# The verbs that read a file -------------------------------------------------------------------------------------------


def of_runs(file: str) -> Iterator[Words]:
    """The verbs that read a run."""
    yield from (("show", file, *more) for more in ((), ("--why",), ("--diagram",), ("--refused",), ("--svg", "a.svg")))
    yield from ((verb, file) for verb in ("replay", "shrink", "explore"))
    yield "scenario", "from-trace", file, "--out", "out.yaml"
    yield from ((verb, file, "--model", "ownership") for verb in ("show", "replay", "shrink", "explore"))
    yield "replay", "-"


def of_logs(file: str) -> Iterator[Words]:
    """The verbs that read a log."""
    yield from (("conform", "ownership", file, *more) for more in ((), ("--json",), ("--run", "package/run.py")))
    yield "conform", "fast_close", file, "--map", "fast_close"
    yield "conform", "ownership", file, "--map", "automq-metadata"


def of_mappings(file: str) -> Iterator[Words]:
    """The verbs that read a mapping."""
    yield "conform", "ownership", GOOD, "--map", file
    yield "campaign", "run", "--target", "log", "--in", "package", "--model", "ownership", "--map", file, "--out", "out"


def of_tables(file: str) -> Iterator[Words]:
    """The verbs that read the tables of a campaign."""
    yield from (("campaign", verb, file) for verb in ("status", "report", "resume"))
    yield "campaign", "report", file, "--junit", "a.xml"
    yield "campaign", "diff", file, file
    yield "campaign", "plan", file, "--runs", "1e6", "--cores", 1


def of_checkpoints(file: str) -> Iterator[Words]:
    """The verbs that read a checkpoint, or the folder of a search on Spark."""
    yield "check", "ownership", "--scope", "tiny", "--resume", file
    yield "check", "ownership", "--scope", "tiny", "--engine", "spark", "--resume", str(Path(file).parent)


def of_mutants(file: str) -> Iterator[Words]:
    """The verbs that read what is stored of mutants."""
    yield "mutate", "counter.py", "--resume", file


def of_models(_file: str) -> Iterator[Words]:
    """The verbs that read the files beside the models of the working directory, none of which is executed here."""
    yield "mutate", "--guards", "guards.md"
    yield "verify", "--only", "mutants"
    yield "verify", "--only", "counter"


def of_simulations(file: str) -> Iterator[Words]:
    """The verbs that read a run of the simulator, or a scenario."""
    yield "simulate", file
    yield "simulate", file, "--timeline"
    yield "simulate", file, "--as-model", "fast_close"
    yield "scenario", "run", file


# Runs -----------------------------------------------------------------------------------------------------------------


def _itf(target: str, **more: object) -> Callable[[str], bytes]:
    """An ITF file of Holdfast that names this model. ``CODE`` in any text stands for the code."""
    meta = {"fingerprint": "0" * 16, "source": target, "scope": "tiny", **more}
    states = [{"value": {"#map": [["n1", 0]]}}, {"#meta": {"action": "grow"}, "value": {"#map": [["n1", 1]]}}]
    return _json({"#meta": meta, "vars": ["value"], "states": states})


def _json(value: object) -> Callable[[str], bytes]:
    return lambda code: json.dumps(value).replace("CODE", json.dumps(code)[1:-1]).encode()


def _text(text: str) -> Callable[[str], bytes]:
    return lambda code: text.replace("CODE", code).encode()


def _ndjson(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


RUNS = {
    "path.itf.json": _itf(EVIL),
    "dots.itf.json": _itf("package/../evil.py"),
    "class.itf.json": _itf("evil.py:Counter"),
    "here.itf.json": _itf("./evil.py"),
    "shadow.itf.json": _itf("reassignment"),
    "bare.itf.json": _itf("evil"),
    "package.itf.json": _itf("package/inner.py"),
    "init.itf.json": _itf("package/__init__.py"),
    "linked.itf.json": _itf("linked.py"),
    "variants.itf.json": _itf("ownership", variants=["CODE"], without=["CODE"], options=["CODE"], claim="CODE"),
    "line.txt": _text(f"evil.py {STEPS}\n"),
    "command.txt": _text(f"replay:    holdfast replay 'evil.py {STEPS}'\n"),
    "percent.txt": _text(f"evil%2Epy {STEPS}\n"),
    "named.txt": _text(f"package/inner.py:Counter {STEPS}\n"),
    "arguments.txt": _text("ownership tiny #0000000000000000 one_owner: init(CODE) open(CODE,s1,1,True)\n"),
    "spelled.itf.json": _json(
        {"vars": ["CODE", "x"], "states": [{"CODE": "CODE", "x": {"#map": [["CODE", {"#tup": ["CODE"]}]]}}] * 2}
    ),
    "picks.itf.json": _json(
        {
            "vars": ["mbt::actionTaken", "mbt::nondetPicks", "x"],
            "states": [{"mbt::actionTaken": "CODE", "mbt::nondetPicks": {"CODE": "CODE"}, "x": {"#bigint": "CODE"}}],
        }
    ),
    "tlc.txt": _text('State 1: <Initial predicate>\nvalue = "CODE"\n\nState 2: <CODE line 7>\nvalue = CODE\n\n'),
    "tlc.json": _json({"action": [], "state": [[1, {"value": "CODE"}], [2, {"CODE": 1}]]}),
    "pickled.itf.json": lambda code: pickle.dumps(PickleBomb(code)),
}

# Logs and mappings ----------------------------------------------------------------------------------------------------


def _event(**more: object) -> dict[str, Any]:
    return {"source": "a", "seq": 1, "t": 1, "action": "register", "p": ["n1", 7], **more}


def _log(*rows: dict[str, Any]) -> Callable[[str], bytes]:
    head = {"holdfast": "log", "version": 1, "literals": {"NodeEpoch": {"1": 7}}}
    return lambda code: _ndjson([head, *rows]).replace("CODE", json.dumps(code)[1:-1]).encode()


LOGS = {
    "model.ndjson": lambda _code: _ndjson([{"holdfast": "log", "version": 1, "model": EVIL}, _event()]).encode(),
    "action.ndjson": _log(_event(action="CODE"), _event(seq=2, CODE="CODE")),
    "element.ndjson": _log(
        # The model file of --run tells these names in comments, and is executed.
        _event(p=['n\n"""\nCODE\n', 7]),
        _event(seq=2, action="reserve", p=['n\n"""\nCODE\n', 7]),
        _event(seq=3, action="open", p=['n\n"""\nCODE\n', 7], s="s\n\rCODE\u2028CODE", e=5, heard=True),
    ),
    "source.ndjson": _log(
        _event(source="CODE\nCODE"), _event(source="CODE\nCODE", seq=2, action="reserve", error="CODE")
    ),
    "marshalled.ndjson": lambda code: marshal.dumps([compile(code, "x", "exec")]),
}

MAPPING = """model: ownership
source: {{format: ndjson, when: {when}, time: t, seq: seq, source: source}}
{more}
events:
  register: {{action: register, p: p, note: x}}
"""

MAPPINGS = {
    "model.yaml": _text(MAPPING.format(when="action", more="").replace("model: ownership", "model: evil.py")),
    "tag.yaml": _text('!!python/object/apply:builtins.exec ["CODE"]\n'),
    "nested_tag.yaml": _text(MAPPING.format(when='!!python/object/new:builtins.exec ["CODE"]', more="")),
    "expression.yaml": _text(MAPPING.format(when='"CODE"', more="")),
    "names.yaml": _text(MAPPING.format(when="action", more='hidden: ["CODE"]\ntables: {"CODE": {a: "CODE"}}')),
    "alias.yaml": _text("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"),
}

# Tables, checkpoints, mutants -----------------------------------------------------------------------------------------


def campaign_in(folder: Path, kind: str, code: str) -> None:
    """Write the tables of a hostile campaign."""
    target = {"target": EVIL, "shadow": "reassignment", "package": "package/inner.py:Counter"}.get(kind, "ownership")
    sample = Sample(target=target, traces=3000, traces_per_unit=1000, findings=2, removed=("ST-14",))
    held = campaign(sample)
    row = campaign_row(sample)
    config = read_config("here", row["config"])
    if kind == "logs":
        logs = LogCollection(place="package", model=EVIL, map="evil.yaml")
        row |= {"kind": "log", "config": attrs.evolve(config, target="log", log=logs).to_json()}
    if kind == "code":
        row |= {"model": code, "deadlock": code, "actions": [code], "fingerprint": code, "situations": [code]}
    held.write("campaign.parquet", to_parquet("campaign", [row]))
    if kind == "line":
        # The configuration names a good model, and the replay line of each finding another one.
        rows = [{**row, "line": f"{EVIL} {STEPS}"} for row in findings(sample)]
        held.write("findings.parquet", to_parquet("findings", rows))
    if kind == "pickle":
        held.write("findings.parquet", pickle.dumps(PickleBomb(code)))
    for name, data in held.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


CAMPAIGNS = ("target", "shadow", "package", "logs", "code", "line", "pickle")


def _pickled_arrays(code: str) -> bytes:
    """A checkpoint whose arrays are pickled objects."""
    path = Path("draft.npz")
    np.savez(path, header=np.array([PickleBomb(code)], object), levels=np.zeros(1))
    return path.read_bytes()


def _coded_arrays(code: str) -> bytes:
    """A checkpoint whose header is code."""
    path = Path("draft.npz")
    np.savez(path, header=np.array(code), levels=np.zeros(1), states=np.zeros(1))
    return path.read_bytes()


CHECKPOINTS = {
    "arrays/search.json": _pickled_arrays,
    "pickle/search.json": lambda code: pickle.dumps(PickleBomb(code)),
    "code/search.json": _coded_arrays,
    "json/search.json": lambda code: json.dumps(
        {"version": 3, "model": code, "found": [code], "digest": code}
    ).encode(),
}

_HEAD = {"version": 4, "holdfast": __version__, "target": EVIL, "fingerprint": "f"}

MUTANTS = {
    "target.log": lambda code: f"{json.dumps(sealed({**_HEAD, 'mutant': code}))}\n".encode(),
    "pickle.log": lambda code: pickle.dumps(PickleBomb(code)),
}

MODELS = {
    "models/mutants.json": _json({"../evil": {"fingerprint": "CODE", "scopes": ["CODE"], "mutants": []}}),
    "models/manifest.json": _json([{"model": "../evil", "scope": "tiny", "verdict": "CODE", "exit_code": 0}]),
}

SIMULATIONS = {
    "strings.json": _json({"format": "holdfast-simulation", "version": 1, "seed": 0, "cluster": "CODE", "script": []}),
    "labels.json": _json(
        {
            "format": "holdfast-simulation",
            "version": 1,
            "seed": 0,
            "cluster": "V6",
            "brokers": 3,
            "controllers": 3,
            "streams": 1,
            "without": ["CODE"],
            "switches": ["CODE"],
            "script": [],
            "faults": [],
            "violation": {"oracle": "CODE", "key": -1, "message": "CODE"},
        }
    ),
    "tag_of_scenario.yaml": _text('!!python/object/apply:builtins.exec ["CODE"]\n'),
    "setup.yaml": _text("scenario: x\nsetup: [evil.py, package/inner.py]\nsteps: []\n"),
}

FILES = [
    HostileFile(name, content, verbs)
    for contents, verbs in (
        (RUNS, of_runs),
        (LOGS, of_logs),
        (MAPPINGS, of_mappings),
        (CHECKPOINTS, of_checkpoints),
        (MUTANTS, of_mutants),
        (MODELS, of_models),
        (SIMULATIONS, of_simulations),
    )
    for name, content in contents.items()
]
