"""Values written as JSON and read back, and the files that their readers refuse."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import attrs
import pytest
from cattrs import override
from hypothesis import given
from hypothesis import strategies as st

from holdfast import __version__
from holdfast.check.json_values import (
    ALTERED,
    DEFAULTED,
    MERGED,
    OMITTED,
    OPTIONAL,
    PAIRS,
    NextProperty,
    as_json,
    from_json,
    read_json,
    sealed,
    unsealed,
    written_by,
)
from holdfast.check.mutate.log import MutationLog
from holdfast.check.mutate.result import Kill, Mutant, MutantFacts, OperatorRow, Pair, ProofRow
from holdfast.check.verify.manifest import MANIFEST, format_manifest, read_manifest
from holdfast.ir.errors import Place, UsageError
from spark.campaign.config import Config, read_config


@attrs.frozen
class Inner:
    """An object that is merged into another one."""

    name: Annotated[str, override(rename="in")]
    kind: Literal["small", "large"]


@attrs.frozen
class Outer:
    """An attribute with each mark."""

    inner: Annotated[Inner, MERGED]
    count: int
    on: Annotated[bool, OPTIONAL] = False
    depth: Annotated[int, DEFAULTED] = 0
    names: tuple[str, ...] = ()
    hidden: Annotated[str, OMITTED] = ""
    others: tuple[Inner, ...] | None = None


def as_names(inner: Inner) -> dict[str, str]:
    """The names that an inner object shows."""
    return {"inner": inner.name}


@attrs.frozen
class View:
    """A class that is only written."""

    at: Place
    sizes: Annotated[tuple[tuple[str, int], ...] | None, PAIRS]
    pair: Annotated[tuple[str, int], NextProperty("total")]
    text: Annotated[str, written_by(len, "length")]
    inner: Annotated[Inner, MERGED, written_by(as_names)]

    @property
    def total(self) -> int:
        """The sum of the sizes."""
        return sum(size for _, size in self.sizes or ())


WHOLE: dict[str, Any] = {"in": "a", "kind": "small", "count": 3, "depth": 1, "names": ["b"], "others": None}


def test_the_marks() -> None:
    """The marks rename, merge and leave out keys, and the other keys are in the order of the attributes."""
    assert json.dumps(as_json(Outer(Inner("a", "small"), 3, depth=1, names=("b",)))) == json.dumps(WHOLE)
    assert " ".join(as_json(Outer(Inner("a", "small"), 3, on=True))) == "in kind count on depth names others"


def test_the_marks_of_a_class_that_is_only_written() -> None:
    """A function writes an attribute, pairs become an object, and a property follows an attribute."""
    view = View(Place("m.py", 3), (("Node", 2), ("Proc", 3)), ("a", 1), "four", Inner("b", "large"))
    assert json.dumps(as_json(view)) == (
        '{"at": "m.py:3:1", "sizes": {"Node": 2, "Proc": 3}, "pair": ["a", 1], "total": 5, "length": 4, "inner": "b"}'
    )
    assert as_json((attrs.evolve(view, sizes=None),))[0]["sizes"] is None


inners = st.builds(Inner, st.text(), st.sampled_from(["small", "large"]))
outers = st.builds(
    Outer,
    inners,
    st.integers(),
    on=st.booleans(),
    depth=st.integers(),
    names=st.lists(st.text()).map(tuple),
    others=st.none() | st.lists(inners).map(tuple),
)


@given(outers)
def test_a_value_is_read_as_it_was_written(value: Outer) -> None:
    """Any value comes back equal from its text."""
    assert read_json(Outer, json.dumps(as_json(value))) == value


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"count": "3"}, 'count: "3" is no whole number'),
        ({"count": True}, "count: true is no whole number"),
        ({"count": 3.0}, "count: 3.0 is no whole number"),
        ({"count": None}, "count: null is no whole number"),
        ({"on": 1}, "on: 1 is no truth value"),
        ({"in": 3}, "in: 3 is no text"),
        ({"names": "b"}, 'names: "b" is no list'),
        ({"names": ["b", 3]}, "names[1]: 3 is no text"),
        ({"names": "x" * 99}, f'names: "{"x" * 59}… is no list'),
        ({"kind": "medium"}, 'kind: "medium" is none of small, large'),
        ({"others": [WHOLE, 3]}, 'others[0]: unknown key "count"'),
        ({"others": [3]}, "others[0]: 3 is no object"),
        ({"hidden": "x"}, 'unknown key "hidden"'),
        ({"colour": "red", "size": 1}, 'unknown key "colour"'),
    ],
)
def test_another_value_is_refused(changed: dict[str, Any], said: str) -> None:
    """No value is converted, and no key is ignored. The reason names the key and the value."""
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        from_json(Outer, WHOLE | changed)


@pytest.mark.parametrize("key", WHOLE)
def test_a_missing_key_is_refused(key: str) -> None:
    """A key must be there, unless a mark says that it may be missing."""
    row = lacks(WHOLE, key)
    if key == "depth":
        assert from_json(Outer, row).depth == 0
        return
    with pytest.raises(ValueError, match=f'^the key "{key}" is missing$'):
        from_json(Outer, row)


@pytest.mark.parametrize("text", ["", "3", "[]", "nonsense", "[" * 100_000, '{"a": 1'])
def test_no_object_is_refused(text: str) -> None:
    """Text of another kind is a ValueError, however deep it is nested."""
    with pytest.raises(ValueError, match=r"\w"):
        read_json(Outer, text)


# The files ------------------------------------------------------------------------------------------------------------

A_KILL = Kill("p", "p (A-1)", "tiny", 3, "holdfast replay 'x'")
SOME_FACTS = MutantFacts(Mutant("A-1", "rule", ("go",)), A_KILL, False, None, (Pair("A-2", None),), (A_KILL,), None)
AN_OPERATOR = OperatorRow("m.py:3", "go", "+ to -", 0, "killed", A_KILL)
A_PROOF = ProofRow("A-1", ("p",), ("p after go",))
A_CONFIG = Config(target="m.py", scope="tiny", traces=9, depth=9, seed=0, traces_per_unit=1024, removed=("A-1",))

KILL, FACTS, OPERATOR, CONFIG = (as_json(each) for each in (A_KILL, SOME_FACTS, AN_OPERATOR, A_CONFIG))
PROOF = {"lemmas": "x", **as_json(A_PROOF)}
ENTRY_ROW = {"model": "m", "scope": "tiny", "verdict": "exhausted", "exit_code": 0, "states": 3}


def lacks(row: dict[str, Any], key: str) -> dict[str, Any]:
    """The row without a key."""
    return {name: value for name, value in row.items() if name != key}


def read_log(path: Path, row: dict[str, Any]) -> None:
    """Reads a log of mutants whose only line has this content."""
    head = {"version": 4, "holdfast": __version__, "target": "m", "fingerprint": "f"}
    path.write_text(json.dumps(sealed(head | row)) + "\n")
    MutationLog(path)


def read_altered_log(path: Path, row: dict[str, Any]) -> None:
    """Reads a log of mutants in which a value was changed."""
    head = {"version": 4, "holdfast": __version__, "target": "m", "fingerprint": "f"}
    path.write_text(json.dumps(sealed(head | row) | {"target": "n"}) + "\n")
    MutationLog(path)


def read_entry(path: Path, row: dict[str, Any]) -> None:
    """Reads a manifest whose only entry is this one."""
    (path.parent / MANIFEST).write_text(json.dumps([row]))
    read_manifest(path.parent)


def read_row(path: Path, row: dict[str, Any]) -> None:
    """Reads the configuration of a campaign."""
    read_config(str(path), json.dumps(row))


LOG_LINE = "file:1: is no line of a log of mutants ({}); name another file with --resume"
ENTRY = "manifest.json: is no manifest ([0]{}); mend it, or remove it and run `holdfast verify --update`"
ROW = "file: its configuration cannot be understood ({}); begin another campaign"

DAMAGED: list[tuple[Callable[[Path, dict[str, Any]], None], dict[str, Any], str, str]] = [
    (read_log, FACTS | {"colour": "red"}, LOG_LINE, 'unknown key "colour"'),
    (read_altered_log, FACTS, LOG_LINE, ALTERED),
    (read_log, FACTS | {"equal": 1}, LOG_LINE, "equal: 1 is no truth value"),
    (read_log, FACTS | {"killed_by": KILL | {"steps": "3"}}, LOG_LINE, 'killed_by.steps: "3" is no whole number'),
    (read_log, FACTS | {"killed_by": KILL | {"steps": True}}, LOG_LINE, "killed_by.steps: true is no whole number"),
    (read_log, lacks(FACTS, "equal"), LOG_LINE, 'the key "equal" is missing'),
    (read_log, {"operator": OPERATOR | {"colour": "red"}}, LOG_LINE, 'unknown key "colour"'),
    (read_log, {"operator": OPERATOR | {"number": "3"}}, LOG_LINE, 'number: "3" is no whole number'),
    (read_log, {"operator": OPERATOR | {"number": True}}, LOG_LINE, "number: true is no whole number"),
    (read_log, {"operator": lacks(OPERATOR, "in")}, LOG_LINE, 'the key "in" is missing'),
    (read_log, {"operator": 3}, LOG_LINE, "3 is no object"),
    (read_log, {"proof": PROOF | {"fails": "abc"}}, LOG_LINE, 'fails: "abc" is no list'),
    (read_log, {"proof": PROOF | {"mutant": 3}}, LOG_LINE, "mutant: 3 is no text"),
    (read_log, {"proof": lacks(PROOF, "lemmas")}, LOG_LINE, 'the key "lemmas" is missing'),
    (read_log, {"proof": 3}, LOG_LINE, "3 is no object"),
    (read_entry, ENTRY_ROW | {"colour": "red"}, ENTRY, ': unknown key "colour"'),
    (read_entry, ENTRY_ROW | {"states": "3"}, ENTRY, '.states: "3" is no whole number'),
    (read_entry, ENTRY_ROW | {"states": True}, ENTRY, ".states: true is no whole number"),
    (read_entry, ENTRY_ROW | {"slow": 1}, ENTRY, ".slow: 1 is no truth value"),
    (read_entry, ENTRY_ROW | {"without": "A-1"}, ENTRY, '.without: "A-1" is no list'),
    (read_entry, ENTRY_ROW | {"engine": "walk"}, ENTRY, '.engine: "walk" is none of check, live'),
    (read_entry, lacks(ENTRY_ROW, "verdict"), ENTRY, ': the key "verdict" is missing'),
    (read_row, CONFIG | {"colour": "red"}, ROW, 'unknown key "colour"'),
    (read_row, CONFIG | {"traces": "3"}, ROW, 'traces: "3" is no whole number'),
    (read_row, CONFIG | {"traces": True}, ROW, "traces: true is no whole number"),
    (read_row, CONFIG | {"traces": 0}, ROW, "(0, 9, 1024) are no numbers above 0"),
    (read_row, CONFIG | {"swarm": 1}, ROW, "swarm: 1 is no truth value"),
    (read_row, lacks(CONFIG, "seed"), ROW, 'the key "seed" is missing'),
]


@pytest.mark.parametrize("altered", [{"a": 2}, {"b": 1}, {"a": 1, "b": None}, {"digest": "0" * 32}, {"digest": None}])
def test_a_sealed_object_is_not_altered(altered: dict[str, Any]) -> None:
    """A sealed object is read back after JSON, in any order of its keys; after any change it is refused."""
    content = {"b": [1, {"c": None}], "a": "ünï"}
    read = json.loads(json.dumps(dict(reversed(sealed(content).items()))))
    assert unsealed(read) == content
    with pytest.raises(ValueError, match=ALTERED):
        unsealed(read | altered)
    with pytest.raises(ValueError, match=ALTERED):
        unsealed(content)


@pytest.mark.parametrize(("read", "row", "around", "said"), DAMAGED)
def test_a_damaged_file(
    read: Callable[[Path, dict[str, Any]], None], row: dict[str, Any], around: str, said: str, tmp_path: Path
) -> None:
    """Each reader refuses a wrong value in one line with the file, the key, the value and the remedy."""
    with pytest.raises(UsageError) as refused:
        read(tmp_path / "file", row)
    assert str(refused.value) == f"{tmp_path}/{around.format(said)}"


def test_the_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    """The log, the manifest and the configuration give the same values again."""
    log = MutationLog(tmp_path / "log")
    log.keep("m", "f", SOME_FACTS)
    log.keep_operator("m", "f", AN_OPERATOR)
    log.keep_proof("m", "f", "x", A_PROOF)
    again = MutationLog(tmp_path / "log")
    assert again.known("m", "f") == {"A-1": SOME_FACTS}
    assert again.operator("m", "f", "go", "+ to -", 0) == AN_OPERATOR
    assert again.proof("m", "f", "x", "A-1") == A_PROOF
    assert read_config("here", A_CONFIG.to_json()) == A_CONFIG
    (tmp_path / MANIFEST).write_text(json.dumps([ENTRY_ROW | {"slow": True}]))
    written = json.loads(format_manifest(read_manifest(tmp_path)))
    assert written == [ENTRY_ROW | {"slow": True, "depth": 0, "bits": 0}]
