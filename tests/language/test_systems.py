"""The parts of a compiled system: variables, types, scopes, actions and rules."""

from __future__ import annotations

import itertools

import attrs
import pytest

from holdfast.ir.compile.results import results
from holdfast.ir.errors import ModelError, UsageError
from holdfast.ir.expr import TRUE, Expr, IfElse, Name
from holdfast.ir.scopes import any_scope, scope_of_runs, smallest_scope, usual_scopes
from holdfast.ir.types import BOOL, NatType
from holdfast.lang import Model
from holdfast.lower.python.interpreter import Interpreter
from tests.language.conftest import Build
from tests.language.toy import Epoch, Node, Phase, Stream
from tests.language.writing import disagreement

# State --------------------------------------------------------------------------------------------------------

CONSTANTS = """
class M(Table):
    home: Map[Stream, Node]
    spare: Node | None
    mode: Phase
    width: Gap
    safe: Rel[Stream, Node]
    first: Stream
    cause: Ghost[Node | None]

    tiny = Scope(
        {Node: 2, Stream: 2, Epoch: 1},
        given={"home": (1, 0), "spare": None, "mode": "BUSY", "width": -2, "safe": (True, False, False, True)},
    )

    @init
    def start_first(self, s: Stream) -> None:
        self.first = s
        self.cause = None

    @action
    def follow(self, s: Stream) -> None:
        require(self.safe[s, self.home[s]] and self.mode == Phase.BUSY and self.width < 0, "EL-01")
        self.leader = self.home[s] if self.spare is None else self.spare

    @assume
    def homes_differ(self) -> bool:
        return all(self.home[s] != self.home[t] for s in Stream for t in Stream if s != t)
"""


def test_variables_that_no_action_writes_are_constants(build: Build) -> None:
    """A field that no action writes is a constant. If no initial condition sets it either, the scope gives it."""
    system = build(CONSTANTS)

    assert [var.name for var in system.variables if not var.constant] == ["leader"]
    assert [var.name for var in system.variables if var.given] == ["home", "spare", "mode", "width", "safe"]
    assert [var.name for var in system.variables if var.ghost] == ["seen", "cause"]


def test_a_member_of_an_enum_is_given_by_itself_or_by_its_name(build: Build) -> None:
    """``Phase.BUSY`` and ``"BUSY"`` give the same constant."""
    by_name, by_itself = build(CONSTANTS), build(CONSTANTS.replace('"mode": "BUSY"', '"mode": Phase.BUSY'))
    assert by_itself.scopes["tiny"].given == by_name.scopes["tiny"].given


def test_a_scope_gives_constants_in_the_order_of_their_keys(build: Build) -> None:
    """Constants of a scope mean the same to the compiled system and to the class: row by row, elements by index."""
    system = build(CONSTANTS)
    state = system.python.at("tiny")  # type: ignore[attr-defined]

    assert system.scopes["tiny"].given["safe"] == (True, False, False, True)
    assert disagreement(system) is None
    assert state.home[Stream.element(0)] is Node.element(1)
    assert state.safe[Stream.element(0), Node.element(1)] is False
    assert (state.spare, state.mode, state.width) == (None, Phase.BUSY, -2)


def test_scopes_are_read_in_order_with_sizes_and_budgets(build: Build) -> None:
    """A scope has the sizes of the model's sorts and Nats, and budgets in the order of the actions."""
    system = build("""
    class M(Table):
        wide = Scope({Epoch: 4, Stream: 1, Node: 3}, budgets={"crash": 0, "elect": 2})

        @action
        def elect(self, n: Node) -> None:
            self.leader = n

        @action
        def crash(self) -> None:
            self.leader = None
    """)
    wide = system.scopes["wide"]

    assert list(system.scopes) == ["tiny", "wide"]
    assert wide.sizes == {"Stream": 1, "Node": 3, "Epoch": 4}
    assert list(wide.budgets.items()) == [("elect", 2), ("crash", 0)]
    assert disagreement(system, "wide") is None


RUNS = """
    class M(Table):
        far = Scope({Epoch: 9, Stream: 2, Node: 3}, budgets={"tick": 5}, depth=300)
        wide = Scope({Epoch: 4, Stream: 1, Node: 3})

        @action
        def tick(self) -> None:
            self.leader = None
"""


def test_a_scope_with_a_depth_is_for_random_runs(build: Build) -> None:
    """Whoever takes all scopes, or one of them without a name, leaves it out; a name finds it."""
    system = build(RUNS)

    assert (list(system.scopes), list(system.run_scopes)) == (["tiny", "wide"], ["far"])
    assert system.scope("far") is system.run_scopes["far"]
    assert (system.scope("far").depth, system.scope("wide").depth) == (300, None)
    assert [scope.name for scope in (*usual_scopes(system), any_scope(system), smallest_scope(system))] == ["tiny"] * 3
    assert [scope.name for scope in usual_scopes(system, "far")] == ["far"]
    with pytest.raises(UsageError, match="M has no scope 'near'; it has: tiny, wide, far"):
        system.scope("near")


def test_random_runs_take_the_scope_for_runs(build: Build) -> None:
    """Without a name runs take the scope for runs; in a model without one they take default, or tiny."""
    with_one, without = build(RUNS), build(RUNS.replace(", depth=300", ""))

    assert scope_of_runs(with_one, None).name == "far"
    assert scope_of_runs(with_one, "wide").name == "wide"
    assert scope_of_runs(without, None).name == "tiny"


def test_the_largest_sizes_and_budgets_are_taken(build: Build) -> None:
    """254 is the largest size, bound and budget, since a cell has 255 codes. 0 is a valid bound and budget."""
    system = build("""
    class M(Table):
        tiny = Scope({Node: 254, Stream: 1, Epoch: 254}, budgets={"tick": 254})
        small = Scope({Node: 1, Stream: 1, Epoch: 0}, budgets={"tick": 0})

        @action
        def tick(self) -> None:
            self.leader = None
    """)

    assert system.scopes["tiny"].sizes == {"Stream": 1, "Node": 254, "Epoch": 254}
    assert [scope.budgets for scope in system.scopes.values()] == [{"tick": 254}, {"tick": 0}]


def test_a_scope_of_the_extending_model_wins(build: Build) -> None:
    """A scope of the extending model replaces the inherited scope of the same name."""
    system = build("class M(Table):\n    tiny = Scope({Node: 1, Stream: 1, Epoch: 1})\n")

    assert system.scopes["tiny"].sizes == {"Stream": 1, "Node": 1, "Epoch": 1}


def test_types_are_listed_by_kind(build: Build) -> None:
    """A system lists its Sorts, Nats, Enums and Ints, also types that only a parameter or an error mentions."""
    system = build("""
    class Disk(Sort): ...

    class M(Table):
        tiny = Scope({Node: 1, Stream: 1, Epoch: 1, Disk: 2})

        @action
        def fail(self, d: Disk) -> None:
            require(d == d, "DI-01", error=E.FENCED)
            self.leader = None
    """)

    assert [kind.name for kind in system.sorts] == ["Stream", "Node", "Disk"]
    assert [kind.name for kind in system.nats] == ["Epoch"]
    assert [kind.name for kind in system.enums] == ["Phase", "E"]
    assert [(kind.name, kind.lo, kind.hi) for kind in system.ints] == [("Gap", -2, 2)]


def test_a_bound_exceeded_at_the_start_names_scope_and_place(build: Build) -> None:
    """A scope whose bound the initial state exceeds refuses it, at the line of the assignment. Other scopes do not."""
    system = build("""
    class M(Table):
        wide = Scope({Node: 1, Stream: 1, Epoch: 3})

        @init
        def start_late(self) -> None:
            self.clock = Epoch(3)
    """)

    assert Interpreter(system, system.scopes["wide"]).initial()
    with pytest.raises(ModelError, match=r"a bound exceeded at the start: .*beyond Epoch in scope tiny") as refused:
        Interpreter(system, system.scopes["tiny"]).initial()
    assert refused.value.place.line == 7


# Actions ------------------------------------------------------------------------------------------------------


def test_rules_know_their_place_kind_error_and_actions(build: Build) -> None:
    """A rule has its own line, even inside other rules, and lists every action that reaches it."""
    system = build("""
    class M(Table):
        def check(self, s: Stream) -> None:
            require(self.opened[s], "ST-14", error=E.NOT_CLOSED)

        @action
        def close(self, s: Stream) -> None:
            self.check(s)
            if rule("EX-01", self.leader is None):
                if rule("EX-02"):
                    self.opened[s] = False

        @action
        def work(self, s: Stream) -> None:
            self.check(s)
            self.phase = Phase.IDLE if rule("EX-03", self.phase == Phase.BUSY) else Phase.BUSY

        @init
        def choose(self, n: Node) -> None:
            require(n == n, "IN-01")
            self.leader = n
    """)

    assert [(rule.label, rule.kind, rule.error, rule.at.line, rule.actions) for rule in system.rules] == [
        ("IN-01", "require", None, 20, ("init",)),
        ("ST-14", "require", "NOT_CLOSED", 4, ("close", "work")),
        ("EX-01", "condition", None, 9, ("close",)),
        ("EX-02", "effect", None, 10, ("close",)),
        ("EX-03", "condition", None, 16, ("work",)),
    ]


def test_systems_are_equal_whatever_class_they_come_from(build: Build) -> None:
    """Two systems with the same declarations are equal: the class is only for the CPython executor, and not shown."""
    system = build(CONSTANTS)
    assert attrs.evolve(system, python=Model) == system
    assert attrs.evolve(system, name="Other") != system
    assert "python" not in repr(system)


def test_each_local_is_looked_through_once() -> None:
    """However often the values of a local are asked for, its own value is given once.

    Otherwise a body whose locals choose between earlier ones would take twice as long for each of them.
    """
    number, chosen = NatType("Epoch"), Name("chosen", BOOL)
    first, other, last = (Name(name, number) for name in ("first", "other", "last"))
    locals_ = {"last": IfElse(chosen, other, other, number), "other": IfElse(chosen, first, first, number)}
    assert list(results(last, locals_)) == [first, first]


def test_the_class_runs_on_its_own(build: Build) -> None:
    """An author can step the class by hand: start it, take actions, ask why one is refused, and evaluate properties."""
    model: type[Model] = build("""
    class M(Table):
        @action
        def open(self, n: Node, s: Stream, e: Epoch) -> None:
            require(e > self.epoch[s], "ST-12", error=E.FENCED)
            require(not self.opened[s], "ST-14")
            self.opened[s] = True
            self.owner[s] = n
            self.epoch[s] = e

        @invariant
        def owned(self) -> bool:
            return all(self.owner[s] is not None for s in Stream if self.opened[s])
    """).python
    n, s = Node.element(0), Stream.element(1)
    fresh = model.at("tiny").start()
    opened = fresh.take("open", n=n, s=s, e=Epoch(1))
    label, error = opened.refusal("open", n=n, s=s, e=Epoch(1)) or ("", None)

    assert (label, error and error.name) == ("ST-12", "FENCED")
    assert opened.refusal("open", n=n, s=s, e=Epoch(2)) == ("ST-14", None)
    assert fresh.refusal("open", n=n, s=s, e=Epoch(1)) is None
    assert opened.holds("owned") is True


def test_the_class_is_no_part_of_a_system(build: Build) -> None:
    """Systems of equal content are equal and have equal texts, whichever classes they were compiled from."""
    system = build(CONSTANTS)
    other = attrs.evolve(system, python=Model)
    assert system == other
    assert repr(system) == repr(other)


def test_a_local_gives_its_sources_once() -> None:
    """A local that is read in both branches of a choice, again and again, is looked through once."""
    chain: dict[str, Expr] = {"x0": TRUE}
    for number in range(1, 40):
        before = Name(f"x{number - 1}", BOOL)
        chain[f"x{number}"] = IfElse(Name("c", BOOL), before, before, BOOL)
    assert list(itertools.islice(results(Name("x39", BOOL), chain), 3)) == [TRUE]
