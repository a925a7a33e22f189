"""A model may use any name that occurs in generated text: no engine confuses the two."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from holdfast.check.live.engine import live
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import LIVENESS, System
from holdfast.lower.graph.fairness import Demands
from holdfast.lower.kernel import build, comparing, graphs, kernel, walks
from holdfast.lower.kernel.comparing import MutantComparison
from holdfast.lower.kernel.graphs import KernelGraph
from holdfast.lower.kernel.llvm.text import RESERVED
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.python.names import refuse_clashes
from tests.check.walking import WalkPair
from tests.kernel.comparing import Engines, differences
from tests.kernel.searching import equal_searches
from tests.kernel.writing import written

MODEL = '''
from __future__ import annotations
from enum import Enum
from typing import Self
from holdfast.lang import (
    Flag, Ghost, Int, Map, Model, Nat, Rel, Scope, Sort,
    action, count, eventually_always, final, init, invariant, leads_to, require, rule, step, witness,
)


class rows(Sort): ...
class notes(Nat): ...
class jit(Enum):
    WORDS = 1
    FAN = 2
class entry(Int, lo=-2, hi=2): ...


class numba(Model):
    """Every name is one that generated text has, or once had."""

    s0: Map[rows, notes]
    t: jit
    k: entry | None
    out: Map[rows, rows | None]
    HITS: bool
    best: Ghost[notes]
    tiny = Scope({rows: 2, notes: 2}, budgets={"every_0": 3})

    @init
    def start_(self, s: rows) -> None:
        self.s0.fill(notes(0))
        self.t = jit.WORDS
        self.k = None
        self.out.fill(None)
        self.out[s] = s
        self.HITS = False
        self.best = notes(0)

    @action
    def of_all(self, s: rows, s_: rows, t: notes) -> None:
        require(s != s_, "SA-01")
        l_t_1 = self.s0[s]
        t_1 = l_t_1 + t
        v_1 = t_1
        l_v_1_2 = v_1
        require(l_v_1_2 > l_t_1, "SA-02")
        self.s0[s] = l_v_1_2
        self.out[s_] = s
        self.best = t

    @action(idempotent="SB-01", fair="weak", per=("p_s",))
    def every_0(self, p_s: rows, p_p_s: jit, s0: notes) -> None:
        require(s0 < notes(2), "SB-03")
        if rule("SB-02", self.t != p_p_s):
            self.t = p_p_s
        for o in rows:
            if self.out[o] is None:
                self.out[o] = p_s

    @action
    def load(self, np: entry, args: rows, c: notes, k0: jit) -> None:
        wrapped = self.k
        if wrapped is None:
            self.k = np
        else:
            peek = wrapped + np
            if rule("SC-01", peek > entry(0)):
                self.k = None
            else:
                self.k = peek
        if self.s0[args] < c and self.t == k0:
            self.HITS = not self.HITS

    @action(idempotent="SD-01")
    def successors(self, rows_: rows, jit_: jit) -> None:
        i = self.out[rows_]
        require(i is not None and i != rows_ and self.t == jit_, "SD-02")
        self.out[rows_] = None

    @action
    def canonical(self, hashed: rows, invariants: notes) -> None:
        min_ = min((self.s0[max] for max in rows), default=notes(2))
        abs_ = count(self.s0[range] == invariants for range in rows)
        require(min_ > invariants and abs_ < 2, "SE-01")
        self.s0[hashed] = invariants

    @action
    def steps_of_all(self, ﬁ: rows, µ: notes) -> None:
        int = self.s0[ﬁ]
        require(int == µ, "SF-01")
        self.s0[ﬁ] = int + 1

    @invariant
    def of_al(self) -> bool:
        """INV-01. Holds."""
        return all(self.s0[s] >= notes(0) for s in rows)

    @invariant
    def invariants_failing(self) -> bool:
        """INV-02. Fails."""
        return not (self.HITS and self.t == jit.FAN)

    @witness
    def witnesses(self) -> bool:
        """Some time."""
        return any(self.s0[k] == notes(2) for k in rows)

    @final
    def finals(self) -> bool:
        """The end."""
        return self.HITS

    @step
    def step_premises(self, old: Self) -> bool:
        """INV-03. Fails: the first clock falls."""
        return all(self.s0[t] >= old.s0[t] for t in rows)

    @step(of="of_all")
    def steps(self, old: Self, s: rows, t: notes) -> bool:
        """INV-04. Holds, of one action's steps."""
        return self.s0[s] > old.s0[s] or t == notes(0)

    @step(of="load")
    def judge(self, old: Self, np: entry, c: notes) -> bool:
        """INV-05. Fails."""
        return np != entry(2) or c > notes(1) or self.HITS == old.HITS

    @leads_to
    def asked(self, found: rows, states: notes) -> tuple[bool, bool]:
        """LIVE-01. Something follows."""
        return self.s0[found] == states, self.t == jit.WORDS

    @eventually_always
    def n(self, found: rows, states: notes) -> bool:
        """LIVE-02. Something lasts."""
        return self.s0[found] == states
'''


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> System:
    """A model in which every name also occurs in generated text."""
    path = tmp_path_factory.mktemp("names") / "names.py"
    path.write_text(MODEL, encoding="utf-8")
    return compile_model(load_model(str(path)))


def unbound(text: str) -> Iterator[str]:
    """The ambiguous names of a module.

    These are locals named like something that the module defines or calls, and names without a definition.
    """
    tree = ast.parse(text)
    top = [name for node in tree.body for name in bound(node)]
    yield from (f"{name} is defined twice" for name in set(top) if top.count(name) > 1)
    for function in tree.body:
        if isinstance(function, ast.FunctionDef):
            names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
            own = {arg.arg for arg in function.args.args}
            own |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
            yield from (f"{function.name} hides {name}" for name in own & {*top, *dir(builtins)})
            known = own | {*top} | {*dir(builtins)}
            yield from (f"{function.name} knows no {node.id}" for node in names if node.id not in known)


def bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module defines."""
    match node:
        case ast.FunctionDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name for alias in names)
        case ast.Assign(targets=targets):
            yield from (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))
        case _:
            pass


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The texts of the modules that are built from now on, by driver; none of them is compiled."""
    found: dict[str, str] = {}

    def keep(functions: str, driver: str = "driver.py", **_: bool) -> SimpleNamespace:
        found[driver] = build.kernel_text(functions, driver)
        return SimpleNamespace()

    for module in (kernel, walks, graphs, comparing):
        monkeypatch.setattr(module, "build", keep)
    return found


def test_no_name_in_generated_text_is_taken_for_another(system: System, texts: dict[str, str]) -> None:
    """In every compiled text each name has one meaning, whatever names the model uses."""
    engines = Engines(system, system.scopes["tiny"])
    assert engines.make_kernel(mutable=True).module is not None
    WalkPair.of(system, system.scopes["tiny"], 0, 5, 2, sampled=True)
    MutantComparison(engines.interpreter)
    machine = Interpreter(system, system.scopes["tiny"], properties=())
    KernelGraph(machine, Demands(machine.layout), tuple(system.of_kind(*LIVENESS)))

    assert set(texts) == {"driver.py", "walk_driver.py", "compare_driver.py", "graph_driver.py"}
    language = "".join(f"{word} = 0\n" for word in sorted(RESERVED - {"np", *dir(builtins)}))
    for driver, text in texts.items():
        assert list(unbound(language + text)) == [], driver
    known = "HIT = CUT = OUTCOME = Taken = 0\n"
    for name, text in engines.interpreter.sources.items():
        assert list(unbound(known + text)) == [], name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(a): return a\ndef f(b): return b\n", ["f is defined twice"]),
        ("def f(): return 1\ndef g(f): return f\n", ["g hides f"]),
        ("def g(max): return max\n", ["g hides max"]),
        ("def g(): return h\n", ["g knows no h"]),
    ],
)
def test_the_look_at_names_sees_them_clash(text: str, said: list[str]) -> None:
    """The check of the test above finds a clash of names."""
    assert list(unbound(text)) == said


@pytest.mark.parametrize(
    "functions", ["def load(rows, i): return 1\n\n\ndef load(s): return 2\n", "WORDS = 1\nWORDS = 2\n", "p_s = 1\n"]
)
def test_a_module_that_defines_a_name_twice_is_refused(functions: str) -> None:
    """A module that defines a name twice is refused."""
    with pytest.raises(RuntimeError, match="defines the name"):
        refuse_clashes(functions)


@pytest.mark.usefixtures("uncompiled")
def test_engines_agree_where_every_name_is_taken(system: System) -> None:
    """CPython, the interpreter and the kernel's text agree on states and steps, and searches agree."""
    assert differences(Engines(system, system.scopes["tiny"]), states=3) == []
    for keep_going in (False, True):
        equal_searches(system, "tiny", keep_going=keep_going, properties=["INV-01", "INV-03"])


@pytest.mark.slow
def test_compiled_engines_agree_where_every_name_is_taken(system: System) -> None:
    """The engines agree on machine code, random runs and liveness too."""
    assert differences(Engines(system, system.scopes["tiny"]), states=20) == []
    equal_searches(system, "tiny", keep_going=True)
    both = WalkPair.of(system, system.scopes["tiny"], 3, 12)
    assert both.walks.runs(0, 300) == both.interpreted(300)
    answers = [live(system, system.scopes["tiny"], engine=engine).verdict for engine in ("interpreter", "kernel")]
    assert answers[0] == answers[1]


OF_ALL = """
n: N
on: bool
tiny = Scope({N: 2})
@init
def zero(self) -> None:
    self.n = N(0)
    self.on = False
@action
def tick(self, k: N) -> None:
    self.n = k
@action
def of_all(self) -> None:
    self.on = not self.on
@step
def never_up(self, old: Self) -> bool:
    return self.n <= old.n
"""


@pytest.mark.usefixtures("uncompiled")
def test_a_step_property_is_looked_at_beside_an_action_called_of_all(tmp_path: Path) -> None:
    """The function that judges every step is not replaced by an action called ``of_all``."""
    found = equal_searches(written(tmp_path, OF_ALL), "tiny")

    assert (found.verdict, found.exit_code) == ("violated", 12)
