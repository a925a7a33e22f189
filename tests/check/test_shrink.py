"""Shrinking runs: as short as a search finds, still showing the same claim, and the same result each time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from holdfast.check.search.engine import search
from holdfast.check.walk.engine import walk
from holdfast.check.walk.options import WalkOptions
from holdfast.check.walk.result import WalkResult
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.lower import renaming_group, symmetry
from holdfast.runs.replay import Replayer, Script
from holdfast.runs.shrink import Shortcuts, ShrinkResult, shrink
from holdfast.trace.shrink import Run, Tries
from holdfast.trace.trace import Trace

OWNERSHIP = Path(__file__).parents[2] / "models" / "ownership.py"

Compiled = Callable[[str], System]

RELAY = """
    on_it: Rel[Node]
    passed: N
    idle: N
    tiny = Scope({Node: 3, N: 6})
    @init
    def nobody(self) -> None:
        self.on_it.fill(False)
        self.passed = N(0)
        self.idle = N(0)
    @action
    def grab(self, n: Node) -> None:
        require(not any(self.on_it[m] for m in Node), "RL-01")
        self.on_it[n] = True
    @action
    def drop(self, n: Node) -> None:
        require(self.on_it[n], "RL-02")
        self.on_it[n] = False
    @action
    def hand(self, n: Node, m: Node) -> None:
        require(self.on_it[n] and n != m, "RL-06")
        self.on_it[n] = False
        self.on_it[m] = True
    @action
    def climb(self, n: Node) -> None:
        require(self.on_it[n] and self.passed < N(5), "RL-03")
        self.passed = self.passed + 1
    @action
    def wait(self) -> None:
        require(self.idle < N(5), "RL-04")
        self.idle = self.idle + 1
    @action
    def leap(self, n: Node) -> None:
        require(self.on_it[n] and self.passed == N(0), "RL-05")
        self.passed = N(4)
    @invariant
    def low(self) -> bool:
        \"\"\"RL-10. Nobody comes to the top.\"\"\"
        return self.passed < N(5)
    @witness
    def half_way(self) -> bool:
        \"\"\"Somebody is half-way.\"\"\"
        return self.passed == N(3)
    @final
    def at_the_top(self) -> bool:
        return self.passed == N(5)
"""
"""One node holds the ladder and climbs; waiting is useless, and a leap counts as one step."""

NOBODY, FIRST, SECOND, THIRD = ((), (0,), (1,), (2,))

DETOUR = Script(
    NOBODY,
    (
        ("grab", FIRST),
        ("drop", FIRST),
        ("wait", NOBODY),
        ("grab", THIRD),
        ("climb", THIRD),
        ("wait", NOBODY),
        *[("climb", THIRD)] * 4,
    ),
)


@cache
def ownership(without: str | None, variant: str | None = None) -> System:
    """The ownership model with a rule removed or a variant chosen."""
    system = compile_model(load_model(str(OWNERSHIP)), variants=[variant] if variant else [])
    return remove_rules(system, [without] if without else [])


@cache
def shortest(without: str | None, variant: str | None, scope: str, name: str) -> int:
    """The length of the search's shortest run to that property."""
    system = ownership(without, variant)
    (trace,) = search(system, system.scopes[scope], properties=[name]).findings
    return trace.length


def walked(system: System, scope: str, seed: int, *, shrunk: bool = True) -> WalkResult:
    """The first violation that random runs meet."""
    campaign = WalkOptions(seed=seed, traces=3_000)
    return walk(system, system.scopes[scope], campaign, engine="interpreter", target="ownership", shrunk=shrunk)


def asked(trace: Trace) -> str:
    """The name by which a search selects a run's claim."""
    claim = trace.shown
    return claim.ids[0] if claim.kind == "idempotent" else claim.name


# As short as the search -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_a_split_brain_is_as_short_as_the_search_finds_it(seed: int) -> None:
    """The counterexample of a random run without ST-14 shrinks to the length of the search's, for twenty seeds."""
    (found,) = walked(ownership("ST-14"), "default", seed).findings
    assert found.length == shortest("ST-14", None, "default", asked(found))


@pytest.mark.parametrize(
    ("without", "variant"),
    [
        ("ST-12", None),
        ("ST-13", None),
        ("ST-17.seal", None),
        ("CS-26", None),
        ("CL-08", None),
        ("FO-09", None),
        ("PT-04.fresh_epoch", None),
        (None, "reopen_same_epoch"),
    ],
)
def test_other_bugs_too(without: str | None, variant: str | None) -> None:
    """Runs that violate invariants, step properties or idempotence shrink to at most two steps above the shortest."""
    result = walked(ownership(without, variant), "tiny", 1)
    (found,) = result.findings
    least = shortest(without, variant, "tiny", asked(found))

    assert least <= found.length <= least + 2
    assert result.raw_length is not None
    assert result.raw_length > found.length


def test_where_nothing_is_shorter_it_says_so() -> None:
    """A run is called shortest only if it has the search's length; with fewer tries nothing is claimed."""
    system = ownership("PT-04.fresh_epoch")
    (raw,) = walked(system, "tiny", 1, shrunk=False).findings
    replayer = Replayer(system, system.scopes["tiny"])
    script, name = replayer.script(raw), raw.shown.name

    enough, few = shrink(replayer, script, name), shrink(replayer, script, name, budget=40)

    assert (enough.shortest, enough.trace.length) == (True, shortest("PT-04.fresh_epoch", None, "tiny", name))
    assert not few.shortest
    assert enough.trace.length < few.trace.length < raw.length
    assert few.tried == 40


# Still the same -------------------------------------------------------------------------------------------------------


def small(system: System, script: Script, claim: str, budget: int = 20_000) -> ShrinkResult:
    """A run in scope tiny, shrunk."""
    return shrink(Replayer(system, system.scopes["tiny"]), script, claim, budget=budget)


def names(script: Script) -> list[str]:
    """The names of the actions, in order."""
    return [action for action, _ in script.steps]


def test_what_is_left_shows_the_same(compiled: Compiled) -> None:
    """The shrunk run can be replayed and violates the same property; only steps that it does not need were dropped."""
    system = compiled(RELAY)
    found = small(system, DETOUR, "low")
    replayed = Replayer(system, system.scopes["tiny"]).trace(found.script, "low")

    assert names(found.script) == ["grab", "leap", "climb"]
    assert [args for _, args in found.script.steps] == [FIRST] * 3
    assert (found.removed, found.shortest) == (7, True)
    assert found.trace == replayed
    assert found.trace.shown.name == "low"


def test_a_witness_stays_reached(compiled: Compiled) -> None:
    """A run to a witness shrinks to a shortest run to that witness, and not to a violation."""
    system = compiled(RELAY)
    found = small(system, Script(NOBODY, DETOUR.steps[:8]), "half_way")
    assert names(found.script) == ["grab", "climb", "climb", "climb"]


def test_a_deadlock_stays_one(compiled: Compiled) -> None:
    """A run to a deadlock shrinks to a run to a deadlock, though other runs end elsewhere."""
    system = compiled("""
    n: N
    stuck: bool
    tiny = Scope({N: 4})
    @init
    def zero(self) -> None:
        self.n = N(0)
        self.stuck = False
    @action
    def up(self) -> None:
        require(not self.stuck and self.n < N(4), "UP-01")
        self.n = self.n + 1
    @action
    def jam(self) -> None:
        require(self.n >= N(2) and not self.stuck, "UP-02")
        self.stuck = True
    @final
    def done(self) -> bool:
        return self.n == N(4)
    """)
    found = small(system, Script((), (("up", ()), ("up", ()), ("up", ()), ("jam", ()))), "deadlock")
    assert names(found.script) == ["up", "up", "jam"]


def test_the_start_may_be_another(compiled: Compiled) -> None:
    """Shrinking may use another initial state if fewer steps suffice from there."""
    system = compiled("""
    n: N
    tiny = Scope({N: 4})
    @init
    def anywhere(self, a: N) -> None:
        require(a < N(3), "AN-01")
        self.n = a
    @action
    def up(self) -> None:
        self.n = self.n + 1
    @invariant
    def low(self) -> bool:
        return self.n < N(4)
    """)
    found = small(system, Script((0,), (("up", ()),) * 4), "low")
    assert found.script == Script((2,), (("up", ()),) * 2)


def test_a_shortcut_to_another_name_renames_what_follows(compiled: Compiled) -> None:
    """If a shortcut leads to a renamed state of the run, the rest of the run is renamed too."""
    system = compiled(RELAY)
    replayer = Replayer(system, system.scopes["tiny"])
    steps = (("grab", SECOND), ("hand", (1, 2)), *[("climb", THIRD)] * 5)
    run: Run = (("init", ()), *steps)

    shorter = Shortcuts(replayer, "low", Tries(1)).shorter(run)

    assert shorter == (("init", ()), ("grab", FIRST), *[("climb", FIRST)] * 5)
    assert replayer.shows(Script((), shorter[1:]), "low")


@pytest.mark.parametrize("seed", range(6))
def test_every_shortcut_can_be_replayed(seed: int) -> None:
    """Every candidate that the shortcut search offers is a run that shows the claim, without a further check."""
    system = ownership("FO-06.newer")
    (raw,) = walked(system, "tiny", seed, shrunk=False).findings
    replayer = Replayer(system, system.scopes["tiny"])
    script = replayer.script(raw)
    shortcuts = Shortcuts(replayer, raw.shown.name, Tries(2_000))
    run: Run = (("init", script.start), *script.steps)

    while (shorter := shortcuts.shorter(run)) is not None:
        (_, start), *steps = shorter
        assert len(shorter) < len(run)
        assert replayer.shows(Script(start, tuple(steps)), raw.shown.name)
        run = shorter


# The same each time ---------------------------------------------------------------------------------------------------


def test_equal_runs_shrink_to_equal_runs() -> None:
    """The same run shrinks to the same result each time, with equally many tries."""
    system = ownership("FO-09")
    one, two = (walked(system, "tiny", 1).shrunk for _ in range(2))
    assert one is not None
    assert one == two


def test_without_renamings_it_does_too(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there are too many renamings to try, states that differ by names stay different; the result is the same."""
    system = compiled(RELAY)
    with_names = small(system, DETOUR, "low")
    monkeypatch.setattr(renaming_group, "MOST_COSETS", 0)
    assert small(system, DETOUR, "low").script == with_names.script


def test_with_a_canonical_form_it_does_too(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """If canonical states and renamings come from a form, as in a large group, the result is the same."""
    system = compiled(RELAY)
    listed = small(system, DETOUR, "low")
    monkeypatch.setattr(symmetry, "MOST_LISTED", 0)
    assert small(system, DETOUR, "low") == listed


def test_once_stopped_the_least_so_far_is_the_answer(compiled: Compiled) -> None:
    """If shrinking is stopped early, the shortest run so far is returned and is not called shortest."""
    system = compiled(RELAY)
    found = shrink(Replayer(system, system.scopes["tiny"]), DETOUR, "low", stopped=lambda: True)
    assert (found.script, found.removed, found.shortest) == (DETOUR, 0, False)
    assert isinstance(found.trace, Trace)


# What cannot be shrunk ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "claim", "said"),
    [
        (Script(NOBODY, DETOUR.steps[:-1]), "low", "the run does not show low at its end"),
        (Script(NOBODY, (("drop", FIRST),)), "low", "the run does not show low at its end"),
        (DETOUR, "lwo", "has no property 'lwo' that a run shows; did you mean low?"),
    ],
)
def test_a_run_that_shows_nothing_is_refused(compiled: Compiled, script: Script, claim: str, said: str) -> None:
    """A run that does not show the claim or cannot be followed, and an unknown claim, are errors."""
    with pytest.raises(UsageError, match=said.replace("?", r"\?")):
        small(compiled(RELAY), script, claim)
