"""What one run of the benchmark measures: each part fills in its measurements, and none stops the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from typing import Literal

import attrs

from benchmarks import commands, engines, native, spin, tlc
from benchmarks.limits import limits
from benchmarks.measurements import Measurements
from benchmarks.scope_search import ScopeSearch
from holdfast.ir.load import names_in
from holdfast.ir.system import Scope, System

Part = Literal["check", "search", "walks", "live", "prove", "mutate", "verify", "test"]
LONG: frozenset[Part] = frozenset({"mutate", "verify", "test"})
"""The parts that only ``--whole`` measures, unless they are chosen."""
QUICK: frozenset[Part] = frozenset({"check", "search", "walks", "live"})
"""The parts of ``--quick``."""

MODELS = names_in(commands.ROOT / "models")
"""All models of the repository, wherever the benchmark is called."""

INTERPRETED = 400_000
"""The most states that the interpreter explores; its rate is measured on them."""


@attrs.frozen
class Effort:
    """How much to measure. ``repeat``: how often; ``quick``: on small scopes; ``say``: called with what is measured."""

    repeat: int
    quick: bool
    say: Callable[[str], None]

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes to search."""
        return ("small",) if self.quick else ("one_word", "two_words")


def gather(parts: Collection[Part], effort: Effort) -> Measurements:
    """Measure the chosen parts, one after the other. After Ctrl-C, what was measured until then is returned."""
    measured = Measurements()
    try:
        for part, measure in PARTS.items():
            if part in parts:
                measure(measured, effort)
    except KeyboardInterrupt:
        measured.interrupted = True
    return measured


def check(measured: Measurements, effort: Effort) -> None:
    """The first verdict of a user, with an empty cache of kernels, and the second."""
    for turn in range(effort.repeat):
        effort.say(f"check ownership: turn {turn + 1} of {effort.repeat}")
        with commands.empty_cache() as cache:
            ask = partial(commands.holdfast, ["check", "ownership"], cache)
            measured.attempt("check.cold", ask, cost=float)
            measured.attempt("check.again", ask, cost=float)


def search(measured: Measurements, effort: Effort) -> None:
    """Searches of the benchmark's model by every checker, and what the machine allows two threads."""
    for name in effort.scopes:
        effort.say(f"{name}: the interpreter, and the kernel by parts")
        measured.attempt(f"{name}.interpreter", partial(_interpreted, name))
        # The first search compiles the kernel. Of several, the fastest counts, which is a later one.
        measured.attempt(f"{name}.one", partial(_searched, name, 1), cost=seconds)
        measured.attempt(f"{name}.profile", partial(_profiled, name))
        race(
            measured,
            name,
            {
                "one": partial(_searched, name, 1),
                "two": partial(_searched, name, 2),
                "c": partial(_compiled, name),
                "spin": partial(_with_spin, name),
                "tlc": partial(_with_tlc, name),
            },
            effort,
        )
    effort.say("what the machine allows two threads")
    measured.attempt("limits", partial(limits, effort.repeat))


def race(measured: Measurements, scope: str, checkers: Mapping[str, Callable[[], ScopeSearch]], effort: Effort) -> None:
    """Let checkers search a scope in turns, so that other load on the machine affects them equally.

    The first checker is the reference: another that has found other states, steps or depth has not done the same work,
    so it fails.
    """
    for turn in range(effort.repeat):
        for checker, explore in checkers.items():
            effort.say(f"{scope}: {checker}, turn {turn + 1} of {effort.repeat}")
            measured.attempt(f"{scope}.{checker}", explore, cost=seconds)
    reference, *others = (f"{scope}.{checker}" for checker in checkers)
    for other in others:
        if {reference, other} <= measured.values.keys():
            expected, found = _counts(measured.values[reference]), _counts(measured.values[other])
            if found != expected:
                measured.fail(other, f"{other} found (states, steps, depth) {found}, and {reference} {expected}")


def walks(measured: Measurements, effort: Effort) -> None:
    """Random runs, those of TLC's simulation, and those of a campaign in a scope for runs and in one for searches."""
    traces, runs = (20_000, 200) if effort.quick else (1_000_000, 10_000)
    for turn in range(effort.repeat):
        effort.say(f"walks: turn {turn + 1} of {effort.repeat}")
        measured.attempt("simulated", partial(_simulated, runs), cost=lambda found: 1 / found.rate)
        measured.attempt("walked", partial(_walked, traces), cost=lambda rate: 1 / rate)
        # Runs that check one cheap property spend their time on drawing steps.
        measured.attempt("drawn", partial(_walked, traces, ["opened_has_owner"]), cost=lambda rate: 1 / rate)
        # Runs in the scope for runs are longer.
        for scope, share in (("deep", 200), ("default", 20)):
            sample = partial(engines.sampled, scope, traces=traces // share)
            measured.attempt(f"{scope}.sampled", sample, cost=lambda rate: 1 / rate)


def live(measured: Measurements, effort: Effort) -> None:
    """Liveness of `stream_log`, and a search of the same states."""
    for turn in range(effort.repeat):
        effort.say(f"live: turn {turn + 1} of {effort.repeat}")
        scope = "tiny" if effort.quick else "default"
        measured.attempt("lived", partial(engines.lived, scope), cost=lambda found: found.times)


def prove(measured: Measurements, effort: Effort) -> None:
    """Proofs of all models, in one command, and the work of Python and of Z3 in them."""
    effort.say("prove: all models")
    # Code 20: some properties have no answer. Two models of the balancer count beyond what formulas say.
    measured.attempt("prove", partial(commands.once, ["prove", *MODELS], (0, 20)))
    effort.say("prove: Python against Z3")
    measured.attempt("prove.python", partial(engines.proved, MODELS))


def mutate(measured: Measurements, effort: Effort) -> None:
    """Mutants of all models, in one command."""
    effort.say("mutate: all models")
    measured.attempt("mutate", partial(commands.once, ["mutate", *MODELS]))


def verify(measured: Measurements, effort: Effort) -> None:
    """Every engine on every model."""
    effort.say("verify")
    measured.attempt("verify", partial(commands.once, ["verify"]))


def test(measured: Measurements, effort: Effort) -> None:
    """The tests that a change must pass, in a fresh clone."""
    effort.say("make test, in a fresh clone of the last commit")
    measured.attempt("test", commands.fresh_clone)


PARTS: dict[Part, Callable[[Measurements, Effort], None]] = {
    "check": check, "search": search, "walks": walks, "live": live,
    "prove": prove, "mutate": mutate, "verify": verify, "test": test,
}  # fmt: skip
"""By name, in the order of measuring: what fills in the measurements."""


def seconds(found: ScopeSearch) -> float:
    """The cost of a search, by which the fastest is chosen."""
    return found.seconds


def _counts(found: ScopeSearch) -> tuple[int, int, int]:
    return found.distinct, found.generated, found.depth


@cache
def model() -> System:
    """The benchmark's model. Each measurement asks for it, so if it does not compile, each of them fails."""
    return engines.system()


def _scope(name: str) -> Scope:
    return model().scopes[name]


def _searched(name: str, cores: int) -> ScopeSearch:
    return engines.explore(model(), name, engine="kernel", cores=cores)


def _profiled(name: str) -> engines.SearchProfile:
    return engines.profile(model(), name)


def _compiled(name: str) -> ScopeSearch:
    """The faster one of the programs that the C compilers of this machine make."""
    scope = _scope(name)
    return min((native.explore(scope, compiler) for compiler in native.compilers()), key=seconds)


def _with_spin(name: str) -> ScopeSearch:
    return spin.explore(_scope(name))


def _with_tlc(name: str) -> ScopeSearch:
    return tlc.explore(_scope(name))


def _interpreted(name: str) -> ScopeSearch:
    """The interpreter's search. It stops early in a large scope, so it counts for its rate alone."""
    return engines.explore(model(), name, engine="interpreter", states=None if name == "small" else INTERPRETED)


def _walked(traces: int, properties: Sequence[str] | None = None) -> float:
    return engines.walked(model(), "one_word", traces=traces, depth=engines.DEPTH, properties=properties)


def _simulated(runs: int) -> tlc.SimulationSpeed:
    return tlc.simulate(_scope("one_word"), runs=runs, depth=engines.DEPTH)
