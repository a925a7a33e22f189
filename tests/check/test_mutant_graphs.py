"""When a mutant has the whole model's graph, on interpreter and kernel; and when a lost witness kills a mutant."""

from __future__ import annotations

import pytest

from holdfast.check.budget import Budget
from holdfast.check.mutate import bench
from holdfast.check.mutate.bench import Bench
from holdfast.check.mutate.limits import MutationLimits
from holdfast.check.mutate.result import Pair
from holdfast.check.search.plain_search import PlainSearch
from holdfast.ir.removal import remove_rules
from tests.check.conftest import Compiled
from tests.check.mutating import lock, mutation, ways
from tests.kernel.plain import use_python


@pytest.fixture(params=["interpreter", "kernel"], autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The search and comparison engine: the interpreter, or the kernel after one state, which Python runs here."""
    if request.param == "kernel":
        use_python(monkeypatch)
        monkeypatch.setattr(bench, "PATIENCE", 1)
        monkeypatch.setattr(bench, "BRIEF", 1)
    found: str = request.param
    return found


TWO_CHOICES = """
on: Rel[Node]
with_: Map[Node, Node | None]
ok: Rel[Node]
tiny = Scope({Node: 2})
@init
def begin(self) -> None:
    self.on.fill(False)
    self.with_.fill(None)
    self.ok.fill(True)
@action
def go(self, a: Node, b: Node) -> None:
    require(self.ok[b], "RR-01")
    require(not self.on[a], "RR-02")
    self.on[a] = True
    self.with_[a] = b
@action
def mend(self, b: Node) -> None:
    self.ok[b] = True
@invariant
def kept(self) -> bool:
    return all(self.with_[a] is not None for a in Node if self.on[a])
"""


def test_the_order_of_steps_says_nothing(compiled: Compiled) -> None:
    """Removing a rule that always holds changes the order of an action's loops, but not its steps."""
    assert ways(mutation(compiled(TWO_CHOICES)).report()) == {"RR-01": "equivalent", "RR-02": "survived"}


def test_steps_of_other_arguments_are_other_steps(compiled: Compiled) -> None:
    """Steps with different arguments differ, even if they lead to the same state or change nothing."""
    body = TWO_CHOICES.replace(
        "self.ok[b] = True", 'require(any(self.on[n] for n in Node), "RR-03")\n    self.ok[b] = True'
    )
    assert ways(mutation(compiled(body), "RR-03").report()) == {"RR-03": "survived"}


def test_what_a_bound_cuts_is_not_refused(compiled: Compiled) -> None:
    """If a rule refuses only steps beyond a bound, its mutant still differs in a larger scope and is not equivalent."""
    body = """
    n: N
    tiny = Scope({N: 2})
    @init
    def begin(self) -> None:
        self.n = N(0)
    @action
    def up(self) -> None:
        require(self.n < N(2), "RR-01")
        self.n = self.n + 1
    """
    assert ways(mutation(compiled(body)).report()) == {"RR-01": "survived"}
    bounded = body.replace("Scope({N: 2})", 'Scope({N: 3}, budgets={"up": 2})')
    assert ways(mutation(compiled(bounded)).report()) == {"RR-01": "equivalent"}


def test_a_ghost_that_a_mutant_no_longer_needs_makes_no_difference(compiled: Compiled) -> None:
    """The states of the mutant are compared with all ghosts of the whole model."""
    body = TWO_CHOICES.replace("ok: Rel[Node]", "ok: Rel[Node]\nseen: Ghost[bool]\nmore: Ghost[bool]")
    body = body.replace("self.ok.fill(True)", "self.ok.fill(True)\n    self.seen = True\n    self.more = False")
    body = body.replace("self.ok[b] = True", "self.ok[b] = True\n    if not self.ok[b]:\n        self.seen = self.more")
    body += """
@variant("unseen", replaces="mend")
def mend_unseen(self, b: Node) -> None:
    \"\"\"Nothing is noted.\"\"\"
    self.ok[b] = True
@invariant
def was_seen(self) -> bool:
    return self.seen
"""
    assert ways(mutation(compiled(body), "unseen").report()) == {"unseen": "equivalent"}


def test_a_variant_with_another_property_is_searched_whole(compiled: Compiled) -> None:
    """A variant with the model's own steps may still violate its other property late, so it is searched completely."""
    body = """
    n: N
    strict: Flag
    \"\"\"One step less.\"\"\"
    tiny = Scope({N: 6})
    @init
    def begin(self) -> None:
        self.n = N(0)
    @action
    def up(self) -> None:
        require(self.n < N(6), "RR-01")
        self.n = self.n + 1
    @invariant
    def low(self) -> bool:
        return not self.strict or self.n < N(6)
    """
    report = mutation(compiled(body), "strict").report()
    assert ways(report) == {"strict": "killed"}


WITNESSED = """
on: bool
far: bool
tiny = Scope({})
@init
def begin(self) -> None:
    self.on = False
    self.far = False
@action
def go(self) -> None:
    if rule("RR-01"):
        self.on = True
@action
def go_far(self) -> None:
    if rule("RR-02", self.on and WANTED):
        self.far = True
@witness
def goes(self) -> bool:
    \"\"\"RR-09. It goes.\"\"\"
    return self.on
@witness
def goes_far(self) -> bool:
    \"\"\"It goes far.\"\"\"
    return self.far
"""


def test_a_witness_that_is_lost_kills(compiled: Compiled) -> None:
    """Each mutant is killed by the first witness that it no longer reaches, and the report names that witness."""
    rows = mutation(compiled(WITNESSED.replace("WANTED", "not self.far"))).report().rows
    assert [(row.way, str(row.kill)) for row in rows] == [
        ("killed", "goes (RR-09) is not reached"),
        ("killed", "goes_far is not reached"),
    ]


def test_a_witness_that_the_model_lacks_kills_nothing(compiled: Compiled) -> None:
    """A witness that the whole model does not reach kills no mutant."""
    report = mutation(compiled(WITNESSED.replace("WANTED", "self.far")), "RR-02").report()
    assert ways(report) == {"RR-02": "equivalent"}


def test_a_witness_lost_without_one_rule_is_no_find_of_the_pair(compiled: Compiled) -> None:
    """A pair counts only witnesses that are not already lost by removing its killed rule alone."""
    body = WITNESSED.replace("WANTED", "not self.far").replace(
        "def go_far(self) -> None:\n", 'def go_far(self) -> None:\n    require(not self.far, "RR-03")\n'
    )
    report = mutation(compiled(body), "RR-03").report()
    [row] = report.rows
    assert (row.way, row.facts.pairs) == ("survived", (Pair("RR-02", None),))


def test_the_interpreter_looks_at_a_mutant_once(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    """If a short search by the interpreter leaves a mutant open, the kernel alone makes the long search.

    Once the kernel is compiled, the interpreter stops after fewer states; a limit of states that a user sets changes
    that.
    """
    looked: list[int | None] = []

    class RecordedSearch(PlainSearch):
        """Records the patience of each search that the interpreter begins."""

        def explore(self) -> None:
            looked.append(self.patience)
            super().explore()

    monkeypatch.setattr(bench, "PlainSearch", RecordedSearch)
    monkeypatch.setattr(bench, "PATIENCE", 2 if engine == "kernel" else 4_000)
    system = compiled(lock())
    for budget, patience in ((Budget(), 1), (Budget(states=10_000), 2)):
        trials = Bench(system, system.scopes["tiny"], "lock", MutationLimits(budget, cores=1))
        assert trials.whole.verdict == "exhausted"
        looked.clear()
        found = trials.try_alone(remove_rules(system, ["LS-06"]), ("leave",))
        assert (found.kill, found.ended_by, found.same) == (None, None, False)
        assert looked == ([patience] if engine == "kernel" else [4_000])
