"""Measures Holdfast's engines: searches, random runs, liveness, and the profile of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

from benchmarks.clock import own
from benchmarks.scope_search import ScopeSearch
from holdfast.check.budget import Budget
from holdfast.check.live.engine import live
from holdfast.check.prove.engine import prove
from holdfast.check.search.engine import Engine, search
from holdfast.check.walk.engine import plan_of, walk
from holdfast.check.walk.options import WalkOptions
from holdfast.check.walk.walker import Walker
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_with_lemmas
from holdfast.ir.system import System
from holdfast.ir.variants import load_variant
from holdfast.lower.kernel.kernel import Kernel
from holdfast.lower.kernel.store import Store
from holdfast.lower.kernel.walks import Walks
from holdfast.lower.python.interpreter import Interpreter
from holdfast.runs.selection import select
from holdfast.runs.starts import initial_states

MODEL = Path(__file__).with_name("takeover.py")

DEPTH = 50
"""The length of random runs in a scope that does not say one."""


@attrs.frozen
class SearchProfile:
    """The profile of a search on one core: nanoseconds for each stored state, by part; see ``PARTS``."""

    parts: dict[str, float]
    bytes_per_state: float
    steps_per_state: float


PARTS = {
    "expand": "successors, step properties, hashing them, and sorting them by partition",
    "insert": "looking new states up in the tables, and storing them",
    "move": "moving states and tables that grow",
    "check": "invariants, of each state once",
    "rest": "Python",
}
"""The parts of a search, each with its task. All parts but ``rest`` are functions of the kernel's driver."""


def system() -> System:
    """The benchmark's model."""
    return load_variant(str(MODEL))


def explore(model: System, scope: str, *, engine: Engine, cores: int = 1, states: int | None = None) -> ScopeSearch:
    """Search a scope without symmetry, up to ``states`` states if given. Raises RuntimeError for another verdict."""
    result = search(
        model, model.scopes[scope], symmetry=False, engine=engine, cores=cores, budget=Budget(states=states)
    )
    if result.verdict != ("exhausted" if states is None else "out_of_budget"):
        raise RuntimeError(f"{engine} in scope {scope}: {result.verdict}, {result.ended_by}")
    figures = result.figures
    return ScopeSearch(figures.distinct, figures.generated, figures.depth, result.timing.seconds)


def walked(model: System, scope: str, *, traces: int, depth: int, properties: Sequence[str] | None = None) -> float:
    """Steps per second of random runs on one core. Each step checks the named properties, or all."""
    campaign = WalkOptions(seed=1, traces=traces, depth=depth)
    result = walk(model, model.scopes[scope], campaign, cores=1, engine="kernel", properties=properties)
    if result.verdict != "not_found":
        raise RuntimeError(f"walks in scope {scope}: {result.verdict}")
    return result.timing.steps_per_second


def sampled(scope: str, *, traces: int) -> float:
    """Steps per second of a thread's processor time: runs of `ownership`, with all that a campaign counts.

    The runs are as long as the scope says, or ``DEPTH`` steps in another scope. The first call compiles the kernel,
    which is not measured.
    """
    model = load_variant("ownership")
    chosen, selection = model.scope(scope), select(model, None)
    machine = Interpreter(model, chosen, ghosts=selection.ghosts, properties=selection.properties)
    options = WalkOptions(seed=1, traces=traces, depth=chosen.depth or DEPTH)
    plan = plan_of(machine, options, initial_states(machine, selection))
    walker = Walker(machine, selection, plan)
    runs = Walks(
        machine,
        plan,
        witnesses=walker.witnesses,
        finals=walker.finals,
        idempotent=selection.idempotent,
        sampled=True,
    )
    begun = own()
    steps = runs.sample(0, traces).tally.steps
    return steps / (own() - begun)


@attrs.frozen
class LivenessCost:
    """Liveness compared with the search of the same states: the number of states, and the seconds of each on a core."""

    states: int
    search: float
    live: float

    @property
    def times(self) -> float:
        """The seconds of the liveness check, divided by those of the search."""
        return self.live / self.search


def lived(scope: str) -> LivenessCost:
    """Measure liveness of `stream_log` in a scope, and a search of the same graph.

    The search runs without symmetry, and with no property beyond those that liveness needs. Kernels are compiled before
    the measurement.
    """
    model = load_variant("stream_log")
    chosen, asked = model.scopes[scope], ["opened_has_range"]
    # The first calls compile the kernels; only the second ones are measured.
    live(model, chosen, engine="kernel")
    search(model, chosen, symmetry=False, properties=asked, engine="kernel", cores=1)
    owed = live(model, chosen, engine="kernel")
    found = search(model, chosen, symmetry=False, properties=asked, engine="kernel", cores=1)
    if owed.verdict != "exhausted" or found.figures.distinct != owed.figures.states:
        raise RuntimeError(f"stream_log in scope {scope}: live and the search do not agree on the states")
    return LivenessCost(owed.figures.states, found.timing.seconds, owed.timing.seconds)


def proved(names: Sequence[str]) -> float:
    """How many seconds Python takes for each second of Z3 in the proofs of these models, with their lemmas.

    Both are processor time of one process, which asks Z3 itself. The time to read the models is Python's.
    """
    begun, solver = own(), 0.0
    for name in names:
        solver += prove(compile_model(load_with_lemmas(name).model), cores=0).timing.solver_seconds
    return (own() - begun - solver) / solver


def profile(model: System, scope: str) -> SearchProfile:
    """Search a scope on one core, and measure each call of machine code.

    The clock is the processor time of the thread, so other load on the machine does not count.
    """
    machine = Interpreter(model, model.scopes[scope])
    kernel = Kernel(machine, None)
    spent = dict.fromkeys(PARTS, 0.0)
    # The store calls machine code only through the kernel's module, so the wrapper sees every call.
    kernel.module = _Timed(kernel.module, spent)
    store = Store(kernel, 1)
    begun = own()
    store.begin(machine.initial())
    while store.advance(lambda: False):
        pass
    spent["rest"] = own() - begun - sum(spent.values())
    taken = sum(int(notes.taken.sum()) for notes in store.notes)
    parts = {part: seconds / store.count * 1e9 for part, seconds in spent.items()}
    return SearchProfile(parts, store.bytes_per_state, taken / store.count)


class _Timed:
    """A wrapper of a kernel's module that adds up the time of each call in ``spent``, by function."""

    def __init__(self, module: Any, spent: dict[str, float]) -> None:
        self._module = module
        self._spent = spent

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return self._timed(name, found) if name in self._spent else found

    def _timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any) -> Any:
            begun = own()
            try:
                return function(*args)
            finally:
                self._spent[name] += own() - begun

        return timed
