"""TLC and the search on the same models: they agree, and each planted fault makes them disagree."""

from __future__ import annotations

import random
from collections.abc import Callable

import attrs
import pytest

from holdfast.check.tlc.agreement import CheckerAnswer, differences
from holdfast.check.tlc.answer import TlcAnswer, TlcError
from holdfast.check.tlc.process import Tools
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import HoldfastError
from holdfast.ir.expr import TRUE
from holdfast.lower.tla import bodies
from holdfast.lower.tla import expression_text as expressions
from holdfast.lower.tla.conjuncts import Conjuncts
from holdfast.lower.tla.files import Specification
from holdfast.lower.tla.text import word
from holdfast.trace.line import replay_command
from tests.differential.generate import model_of
from tests.differential.running import loaded
from tests.tla.asking import opinion, reached_by_search, reached_by_tlc, small_gauges, system_of

STREAMS = "tests/lower/models/streams.py"
GAUGES = "tests/lower/models/gauges.py"
TABLE = "tests/check/models/table.py"
MODULE = "model.tla"
"""The name of the module of a model without a target."""

LOCKS = "tests/differential/lock_service.py"
SIGNPOST = "tests/tla/models/signpost.py"
"""A model without state."""
STILL = "tests/tla/models/still.py"
"""A model without actions."""


@pytest.mark.parametrize(
    ("model", "states", "depth"), [(TABLE, 17, 4), (LOCKS, 784, 12), (SIGNPOST, 1, 0), (STILL, 1, 0)]
)
def test_both_find_the_same_states(tools: Tools, model: str, states: int, depth: int) -> None:
    """Without a violation, verdict, number of states and depth are equal."""
    found = opinion(tools, system_of(model)).compared()
    assert (found.ours, found.differences) == (CheckerAnswer("exhausted", states, depth), ())
    assert found.theirs == found.ours


@pytest.mark.parametrize(
    ("model", "removed", "steps"),
    [
        (STREAMS, ["ST-14"], 2),
        # The last step changes nothing, and only some of its arguments violate a property.
        ("ownership", ["CS-29a"], 3),
        pytest.param(GAUGES, [], 3, marks=pytest.mark.slow),
    ],
)
def test_both_find_a_violation(tools: Tools, model: str, removed: list[str], steps: int) -> None:
    """Both find a violation after the same number of steps, and TLC's run replays on the model."""
    found = opinion(tools, system_of(model, removed), target=model).compared()
    assert found.differences == ()
    assert (found.ours.verdict, found.ours.steps, found.theirs.steps) == ("violated", steps, steps)
    assert found.run is not None
    assert found.run.shown.name == found.theirs.property
    assert found.run.length == steps
    options = "".join(f"-{label} " for label in removed)
    assert str(replay_command(found.run)).startswith(f"holdfast replay '{model} tiny {options}#")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "variants"),
    # `holdfast verify` asks TLC about all models.
    [("wal", []), ("fast_close", ["late_answers"])],
)
def test_both_find_the_same_of_the_models(tools: Tools, model: str, variants: list[str]) -> None:
    """They agree on a model in scope tiny, without symmetry, and on a variant that violates nothing."""
    found = opinion(tools, system_of(model, [], variants), target=model).compared()
    assert found.differences == ()
    assert (found.ours.verdict, found.theirs) == ("exhausted", found.ours)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "variants", "removed"),
    [
        ("ownership", ["reopen_same_epoch"], []),
        ("ownership", [], ["ST-13"]),
        ("ownership", [], ["CS-29a"]),
        ("ownership", [], ["RC-05"]),
        ("stream_log", ["late_close"], []),
        ("stream_log", [], ["CL-08"]),
        ("wal", ["verified_early"], []),
        ("reassignment", ["timer_as_built"], []),
        ("reassignment", ["snapshot_without_flag"], []),
        ("reassignment", [], ["RA-17"]),
        ("snapshot_read", ["early_baseline"], []),
        ("snapshot_read", [], ["M-17"]),
    ],
)
def test_both_find_the_same_of_mutants(tools: Tools, model: str, variants: list[str], removed: list[str]) -> None:
    """On variants and removed rules that violate a property, of each kind, both find runs of equal length."""
    found = opinion(tools, system_of(model, removed, variants), target=model).compared()
    assert found.differences == ()
    assert found.ours.verdict == "violated"
    assert found.run is not None
    assert found.run.length == found.ours.steps


def test_every_step_of_every_kind_is_the_same(tools: Tools) -> None:
    """Loops, folds, Optionals of computed numbers, early returns, cuts and budgets give equal states and steps."""
    system, scope = small_gauges()
    specification = Specification.of(system, scope, "gauges")
    ours = reached_by_search(system, scope, specification.signature.ghosts, 100_000)
    assert reached_by_tlc(tools, specification) == ours == (5_852, 40_855, 10)


@pytest.mark.slow
def test_every_step_of_every_shape_is_the_same(tools: Tools) -> None:
    """Writes to cells with the same first key, cuts on one side, and nested turns give equal states and steps."""
    system = system_of("tests/tla/models/shapes.py")
    specification = Specification.of(system, system.scope("tiny"), "shapes")
    ours = reached_by_search(system, system.scope("tiny"), specification.signature.ghosts, 100_000)
    assert ours is not None
    assert reached_by_tlc(tools, specification) == ours


@pytest.mark.parametrize(
    "sizes", [{"Node": 1, "Index": 2, "Term": 1, "Seat": 2}, {"Node": 2, "Index": 1, "Term": 1, "Seat": 1}], ids=str
)
def test_every_step_with_a_computed_key_is_the_same(tools: Tools, sizes: dict[str, int]) -> None:
    """Computed keys in guards, quantifiers, loops, branches and writes give equal states and steps."""
    system = system_of("tests/lower/models/logs.py")
    scope = attrs.evolve(system.scope("tiny"), sizes=sizes, budgets={"append": 2})
    specification = Specification.of(system, scope, "logs")
    ours = reached_by_search(system, scope, specification.signature.ghosts, 100_000)
    assert ours is not None
    assert reached_by_tlc(tools, specification) == ours


@pytest.mark.parametrize("sizes", [{"Node": 1, "Index": 2, "Term": 1}, {"Node": 2, "Index": 1, "Term": 0}], ids=str)
def test_every_step_with_sequences_is_the_same(tools: Tools, sizes: dict[str, int]) -> None:
    """Every operation of sequences and records gives equal states and steps."""
    system = system_of("tests/lower/models/queues.py")
    scope = attrs.evolve(system.scope("tiny"), sizes=sizes)
    specification = Specification.of(system, scope, "queues")
    ours = reached_by_search(system, scope, specification.signature.ghosts, 100_000)
    assert ours is not None
    assert reached_by_tlc(tools, specification) == ours


def test_every_step_with_bags_is_the_same(tools: Tools) -> None:
    """Every operation of bags gives equal states and steps."""
    system = system_of("tests/lower/models/bags.py")
    scope = attrs.evolve(system.scope("tiny"), sizes={"Node": 2, "Term": 0, "Copies": 1})
    specification = Specification.of(system, scope, "bags")
    ours = reached_by_search(system, scope, specification.signature.ghosts, 100_000)
    assert ours is not None
    assert reached_by_tlc(tools, specification) == ours


def test_every_step_with_pools_is_the_same(tools: Tools) -> None:
    """Every operation of pools gives equal states and steps."""
    system = system_of("tests/lower/models/pools.py")
    specification = Specification.of(system, system.scope("tiny"), "pools")
    ours = reached_by_search(system, system.scope("tiny"), specification.signature.ghosts, 100_000)
    assert ours is not None
    assert reached_by_tlc(tools, specification) == ours


@pytest.mark.parametrize("model", ["answers", "holders", "moves"])
def test_every_step_with_records_is_the_same(tools: Tools, model: str) -> None:
    """Records whose parts are truth values or numbers below 0, and fields that hold records, give the same."""
    system = system_of(f"tests/lower/models/{model}.py")
    specification = Specification.of(system, system.scope("tiny"), model)
    ours = reached_by_search(system, system.scope("tiny"), specification.signature.ghosts, 100_000)
    assert ours is not None
    assert reached_by_tlc(tools, specification) == ours


@pytest.mark.parametrize("sizes", [{"Acceptor": 2, "Value": 1, "Round": 1}], ids=str)
def test_every_step_with_whole_maps_is_the_same(tools: Tools, sizes: dict[str, int]) -> None:
    """Parameters that are maps, and starts that choose them, give equal states and steps."""
    system = system_of("tests/lower/models/quorums.py")
    scope = attrs.evolve(system.scope("tiny"), sizes=sizes)
    specification = Specification.of(system, scope, "quorums")
    ours = reached_by_search(system, scope, specification.signature.ghosts, 100_000)
    assert ours is not None
    assert reached_by_tlc(tools, specification) == ours


# Faults ----------------------------------------------------------------------------------------------------------


def test_a_changed_comparison_is_noticed(tools: Tools) -> None:
    """One changed comparison in a module makes TLC disagree, and both results are shown."""

    def change(files: dict[str, str]) -> dict[str, str]:
        text = files[MODULE]
        assert "e > epoch[s]" in text
        return files | {MODULE: text.replace("e > epoch[s]", "e >= epoch[s]", 1)}

    found = opinion(tools, system_of(TABLE), change=change).compared()
    assert found.ours == CheckerAnswer("exhausted", 17, 4)
    assert "search: exhausted, 17 states, depth 4; TLC: violated after" in found.differences[0]


def _no_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "within", lambda *_: TRUE)


def _no_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    follow = bodies.Body.follow
    monkeypatch.setattr(bodies.Body, "follow", lambda self, body, _budget=None: follow(self, body))


def _no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies.Body, "value", lambda _self, read: read)


def _no_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Conjuncts, "unchanged", lambda *_: word("TRUE"))


def _other_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(expressions._COMPARED, "<=", "<")


def _steps_for_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Conjuncts, "chooses", lambda *_: False)


@pytest.mark.parametrize(
    "plant",
    [
        _no_cuts,
        _no_frame,
        _other_comparison,
        pytest.param(_no_budgets, marks=pytest.mark.slow),
        pytest.param(_no_order, marks=pytest.mark.slow),
        pytest.param(_steps_for_sides, marks=pytest.mark.slow),
    ],
    ids=lambda plant: plant.__name__[1:],
)
def test_a_fault_of_the_generator_is_noticed(
    tools: Tools, monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]
) -> None:
    """Without cuts, frames, budgets or the order of writes, with < for <=, or with two steps for one, counts differ."""
    plant(monkeypatch)
    system, scope = small_gauges(nodes=1, ticks=2)
    specification = Specification.of(system, scope, "gauges")
    ours = reached_by_search(system, scope, specification.signature.ghosts, 100_000)
    try:
        assert reached_by_tlc(tools, specification) != ours
    except TlcError:
        # TLC refuses a variable without a value, and a comparison with Nil.
        assert plant in (_no_frame, _no_cuts, _steps_for_sides)


def test_a_run_that_the_model_does_not_have_is_noticed(tools: Tools) -> None:
    """If an action of the module does more than the model's action, TLC's run does not replay on the model."""

    def change(files: dict[str, str]) -> dict[str, str]:
        text = files[MODULE].replace("opened' = [opened EXCEPT ![s] = TRUE]", "opened' = opened", 1)
        return files | {MODULE: text.replace("OneHandle ==", "OneHandle == \\A s \\in Stream : epoch[s] = 0\nOther ==")}

    found = opinion(tools, system_of(TABLE), change=change).compared()
    assert found.run is None
    assert any("the model cannot take TLC's run" in text for text in found.differences)


@pytest.mark.parametrize("claim", ["HolderOpenedLast", "NothingBroken"])
def test_what_tlc_is_not_asked_about_is_told(tools: Tools, claim: str) -> None:
    """If a property is missing from the configuration, equal counts are no agreement, and the property is named."""

    def change(files: dict[str, str]) -> dict[str, str]:
        text = files["model_tiny.cfg"]
        assert f"    {claim}\n" in text
        return files | {"model_tiny.cfg": text.replace(f"    {claim}\n", "")}

    found = opinion(tools, system_of(TABLE), change=change).compared(
        lambda: TlcAnswer("exhausted", distinct=17, depth=4)
    )
    steps = ("epochs_grow", "closed_before", "close_idempotent")
    unasked = ("holder_opened_last",) if claim == "HolderOpenedLast" else steps
    assert set(found.differences) == {f"{name}: TLC is not asked about it" for name in unasked}


def test_what_tlc_shows_no_run_of_is_asked_of_the_initial_states(tools: Tools) -> None:
    """TLC shows no run for an invariant on constants. If no initial state violates it, the two disagree."""
    found = opinion(tools, system_of(TABLE)).compared(lambda: TlcAnswer("violated", name="OneHandle"))
    assert "TLC shows no run, and no initial state of the model violates one_handle" in found.differences


def test_a_module_that_does_not_parse_is_one_error(tools: Tools) -> None:
    """A module that SANY refuses is an error of one line, with the place."""
    broken = opinion(tools, system_of(TABLE), change=lambda files: files | {"model_tiny.tla": "---- MODULE m"})
    with pytest.raises(TlcError, match="TLC cannot check the module"):
        broken.ask()


def test_differences_name_both_values() -> None:
    """Every figure that differs is shown with both values. The violated property may be another of equal length."""
    one = CheckerAnswer("exhausted", 17, 4)
    assert differences(one, CheckerAnswer("exhausted", 18, 5)) == [
        "states: search 17, TLC 18",
        "depth: search 4, TLC 5",
    ]
    violated = CheckerAnswer("violated", property="one_owner", steps=2)
    assert differences(violated, CheckerAnswer("violated", property="other", steps=3)) == ["steps: search 2, TLC 3"]
    assert differences(violated, CheckerAnswer("violated", property="other", steps=2)) == []
    assert differences(one, violated) == [
        "search: exhausted, 17 states, depth 4; TLC: violated after 2 steps: one_owner"
    ]


# Generated models ------------------------------------------------------------------------------------------------


def _agree_on(tools: Tools, seed: int) -> bool:
    """Whether TLC could be asked about the model of that seed. Fails if the two differ."""
    with loaded(model_of(seed)) as model:
        try:
            system = compile_model(model)
            scope = system.scopes["tiny"]
            asked = opinion(tools, system)
            ours = reached_by_search(system, scope, asked.specification.signature.ghosts, 1_500)
        except HoldfastError:
            # The constants of this model contradict its assumptions, or it has no initial state.
            return False
        if ours is None:
            return False
        assert reached_by_tlc(tools, asked.specification) == ours, f"seed {seed}"
        assert asked.compared().differences == (), f"seed {seed}"
        return True


@pytest.mark.slow
@pytest.mark.parametrize("seed", [133])
def test_generated_models_agree(tools: Tools, seed: int) -> None:
    """On a generated model both find the same states, steps and verdict."""
    assert _agree_on(tools, seed)


@pytest.mark.slow
def test_many_generated_models_agree(tools: Tools) -> None:
    """They agree on many more, with seeds drawn from a fixed one. TLC cannot be asked about nearly a third of them."""
    chance = random.Random(7)
    asked = [_agree_on(tools, chance.randrange(100_000)) for _ in range(30)]
    assert sum(asked) > 15
