"""The models of docs/examples: their numbers, their mutants, their planted mistakes, and each command on them."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import attrs
import pytest

from holdfast.check.tlc.liveness import compare_liveness
from holdfast.check.tlc.process import Tools
from holdfast.cli.explore import open_session
from tests.cli.conftest import holdfast
from tests.cli.running import Run
from tests.docs.fences import ROOT
from tests.tla.asking import opinion, system_of
from tests.tla.conftest import tools

__all__ = ["holdfast", "tools"]


@attrs.frozen
class Example:
    """What is known of an example."""

    name: str
    sizes: dict[str, tuple[int, int]]
    """For each scope, the number of states and the depth."""
    mistakes: dict[str, tuple[str, int]]
    """For each variant, the property that it violates, and after how many steps."""
    lemmas: int
    """How many lemmas prove the invariants and steps for any size; 0 if they are not proved."""
    unshared: tuple[int, int]
    """The states and the depth of scope tiny without symmetry, as TLC counts states."""
    killed: int | None = None
    """The number of mutants that a safety property kills; None if only docs/examples.md tries them, as that takes long.
    """
    alive: dict[str, str] = attrs.Factory(dict)
    """The other mutants: the liveness property that each violates, or `missing`."""
    scopes: dict[str, str] = attrs.Factory(dict)
    """For each variant that scope tiny is too small for, the scope that shows its mistake."""

    @property
    def file(self) -> str:
        """The name of the file, as in a copy of the repository."""
        return f"docs/examples/{self.name}.py"

    def scope(self, variant: str) -> str:
        """The scope that shows the mistake of a variant."""
        return self.scopes.get(variant, "tiny")


EXAMPLES = [
    Example(
        "ewd998",
        sizes={"tiny": (3344, 14), "default": (21610, 17)},
        mistakes={"sender_blackens": ("detection_is_right", 11)},
        alive={"whiten": "detects", "whiten_first": "detects", "probe_in_doubt": "detects"},
        killed=10,
        lemmas=0,
        unshared=(3344, 14),
    ),
    Example(
        "chain_replication",
        sizes={"tiny": (7829, 14), "default": (115123, 19)},
        mistakes={"next_acknowledges": ("prefixes", 6), "query_anywhere": ("answers_last", 2)},
        killed=3,
        lemmas=2,
        unshared=(15651, 14),
    ),
    Example(
        "fencing",
        sizes={"tiny": (178, 10), "default": (9504, 17)},
        mistakes={"fence_writes_only": ("nothing_lost", 7)},
        alive={"one_holder": "missing"},
        killed=6,
        lemmas=4,
        unshared=(914, 10),
    ),
    Example(
        "alternating_bit",
        sizes={"tiny": (78, 14), "default": (441, 23)},
        mistakes={"reorders": ("in_order", 7)},
        killed=5,
        lemmas=4,
        unshared=(78, 14),
    ),
    Example(
        "truncation",
        sizes={"tiny": (36240, 23), "default": (112522, 27)},
        mistakes={"kip_101_only": ("prefixes", 8), "to_high_watermark": ("committed_kept", 5)},
        lemmas=0,
        unshared=(72480, 23),
    ),
    Example(
        "raft",
        sizes={"tiny": (2491, 15), "default": (98143, 22)},
        mistakes={
            "blind_vote": ("leader_completeness", 6),
            "forget_vote": ("election_safety", 5),
            "count_replicas": ("leader_completeness", 15),
        },
        lemmas=0,
        unshared=(14595, 15),
        scopes={"count_replicas": "figure8"},
    ),
]
MISTAKES = [pytest.param(each, variant, id=f"{each.name}+{variant}") for each in EXAMPLES for variant in each.mistakes]
each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
each_mistake = pytest.mark.parametrize(("example", "variant"), MISTAKES)


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@each_example
def test_an_example_holds_in_each_scope(holdfast: Run, example: Example) -> None:
    """A search of each scope ends, finds nothing, reaches all witnesses, and has the pinned size."""
    ran = holdfast("check", example.file, "--json")
    results = [json.loads(line) for line in ran.out.splitlines()]
    sizes = {each["scope"]: (each["figures"]["distinct"], each["figures"]["depth"]) for each in results}
    assert (ran.code, sizes) == (0, example.sizes)
    assert {each["verdict"] for each in results} == {"exhausted"}
    assert not any(each["figures"]["never_taken"] for each in results)


@each_mistake
def test_a_mistake_is_found(holdfast: Run, example: Example, variant: str) -> None:
    """The mistake violates its property, by a shortest run of the pinned length; show tells the run."""
    ran = holdfast("check", example.file, "--variant", variant, "--scope", example.scope(variant), "--json")
    (found,) = json.loads(ran.out)["findings"]
    name, steps = example.mistakes[variant]
    assert (ran.code, found["claim"]["name"], found["length"]) == (12, name, steps)
    line = found["replay"].removeprefix("holdfast replay ").strip("'")
    shown = holdfast("show", line)
    assert f"{name} (" in shown.out
    assert f"\n{steps:>3}  " in shown.out
    assert holdfast("replay", line).code == 12


@each_mistake
def test_an_explorer_opens_a_mistake(holdfast: Run, example: Example, variant: str) -> None:
    """Explore opens the run of the mistake, goes to its end, and finds steps that lead away from there.

    A scope that is made for one run has budgets for this run alone, so there steps lead away from the start only.
    """
    ran = holdfast("check", example.file, "--variant", variant, "--scope", example.scope(variant), "--json")
    (found,) = json.loads(ran.out)["findings"]
    session, note = open_session(found["replay"].removeprefix("holdfast replay ").strip("'"))
    session.go(len(session.run))
    assert (session.at, note) == (example.mistakes[variant][1], None)
    session.go(0 if variant in example.scopes else len(session.run))
    assert session.choices()


@each_mistake
def test_a_mistake_differs(holdfast: Run, example: Example, variant: str) -> None:
    """Diff shows that the property of the mistake holds without it alone."""
    ran = holdfast("diff", example.file, f"{example.file}+{variant}", "--scope", example.scope(variant))
    name, steps = example.mistakes[variant]
    assert ran.code == 0
    assert re.search(rf"^  {name} +holds +violated after {steps} steps$", ran.out, re.MULTILINE)


@pytest.mark.parametrize("example", [each for each in EXAMPLES if each.killed], ids=lambda example: example.name)
def test_mutants_end_as_declared(holdfast: Run, example: Example) -> None:
    """Each rule and each mistake is noticed by a safety property, unless the file declares something else."""
    ran = holdfast("mutate", example.file, "--json")
    mutants = json.loads(ran.out)["mutants"]
    alive = {
        each["mutant"]: each["starves"][0]["property"] if each["way"] == "liveness" else each["way"]
        for each in mutants
        if each["way"] != "killed"
    }
    assert (ran.code, alive) == (0, example.alive)
    assert len(mutants) == example.killed + len(alive)


@each_example
def test_liveness_holds(holdfast: Run, example: Example) -> None:
    """Every liveness property holds, something is owed, and no bound cuts a fair step."""
    ran = holdfast("live", example.file)
    assert ran.code == 0
    assert ran.out.count("exhausted, nothing violated") == len(example.sizes)
    assert ran.out.count("nothing: no bound of the scope cut a step of a fair action") == len(example.sizes)


@each_example
def test_walks_find_nothing(holdfast: Run, example: Example) -> None:
    """Random runs in scope deep find nothing."""
    ran = holdfast("walk", example.file, "--runs", 50)
    assert ran.code == 0
    assert "scope deep: nothing found in 50 runs" in ran.out


@each_example
def test_proofs_end_as_the_page_says(holdfast: Run, example: Example) -> None:
    """Either all is proved, or nothing is violated and the answer says what is not proved."""
    ran = holdfast("prove", example.file, "--no-suggest")
    assert ran.code == (0 if example.lemmas else 20)
    assert ("proved, for any sizes" in ran.out) == (example.lemmas > 0)


@pytest.mark.slow
@pytest.mark.parametrize("example", [each for each in EXAMPLES if each.lemmas], ids=lambda example: example.name)
def test_a_proof_needs_each_lemma(holdfast: Run, example: Example) -> None:
    """No lemma is idle."""
    ran = holdfast("prove", example.file, "--ablate", "--no-suggest")
    assert ran.code == 0
    assert f"{example.lemmas} of {example.lemmas} lemmas are missed" in ran.out


# docs/examples.md asks TLC about each example, but for these questions.


@pytest.mark.slow
def test_tlc_agrees_on_truncation(tools: Tools) -> None:
    """TLC finds that the liveness property of the largest example holds, too; here with one epoch less."""
    target = "docs/examples/truncation.py"
    found = compare_liveness(opinion(tools, system_of(target), target=target, sizes={"Epoch": 2}))
    assert found is not None
    assert (len(found.properties), found.theirs, found.differences) == (1, (), ())


# It takes TLC four minutes to find raft+count_replicas, in the scope that is made for it.
SHOWN_OR_LARGE = ("truncation+kip_101_only", "raft+count_replicas")


@pytest.mark.slow
@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(("example", "variant"), [each for each in MISTAKES if each.id not in SHOWN_OR_LARGE])
def test_tlc_finds_a_mistake(holdfast: Run, example: Example, variant: str) -> None:
    """TLC finds the mistake after the same number of steps."""
    ran = holdfast("tlc", example.file, "--variant", variant, "--scope", example.scope(variant), "--json")
    answer = json.loads(ran.out)
    assert (ran.code, answer["tlc"]["property"], answer["tlc"]["steps"]) == (0, *example.mistakes[variant])


@each_example
def test_an_example_is_short(holdfast: Run, example: Example, tmp_path: Path) -> None:
    """A model has at most 1.3 times the lines of its TLA+ module, without comments and blank lines."""
    assert holdfast("tla", example.file, "--out", tmp_path).code == 0
    module = (tmp_path / f"{example.name}.tla").read_text()
    assert len(code_lines((ROOT / example.file).read_text())) <= 1.3 * len(tla_lines(module))


@pytest.mark.parametrize(
    ("name", "windows", "code"),
    [
        ("ewd998", ["Node=8"], 0),
        ("chain_replication", [], 0),
        ("fencing", [], 0),
        ("alternating_bit", ["Item=20", "Place=20"], 0),
        ("raft", [], 0),
        ("truncation", [], 2),
    ],
)
def test_logs_of_runs_conform(holdfast: Run, name: str, windows: list[str], code: int, tmp_path: Path) -> None:
    """The log of a random run conforms; of a model that computes with offsets, no log is written or judged."""
    log, file = str(tmp_path / "log.ndjson"), f"docs/examples/{name}.py"
    assert holdfast("walk", file, "--scope", "default", "--seed", "2", "--events", "40", "--log", log).code == code
    if code == 0:
        options = [word for window in windows for word in ("--window", window)]
        ran = holdfast("conform", file, log, *options)
        assert (ran.code, ran.out.splitlines()[0].endswith("allows all 40 events")) == (0, True)


def code_lines(source: str) -> list[str]:
    """The lines of a model that are neither blank, nor a comment, nor part of a docstring."""
    texts: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            texts |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(source.splitlines(), start=1)
    return [line for number, line in lines if number not in texts and line.strip() and line.strip()[0] != "#"]


def tla_lines(module: str) -> list[str]:
    """The lines of a module that are neither blank, nor a comment, nor a rule across the page."""
    lines = (line.strip() for line in module.splitlines())
    return [line for line in lines if line and not line.startswith(("\\*", "----", "===="))]
