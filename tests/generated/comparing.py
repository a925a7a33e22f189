"""Compare the oracle's and the engines' answers on one model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import attrs

from holdfast.ir.errors import HoldfastError
from tests.differential.running import reduced
from tests.generated import engines as quick
from tests.generated import others as slow
from tests.generated.case import LEGITIMATE, Case, case_of, refusal
from tests.generated.engines import Check, starts_nowhere
from tests.generated.small import model_of

ENGINES: dict[str, Check] = {
    "interpreter": quick.interpreter,
    "kernel-text": quick.kernel_text,
    "live": quick.liveness,
    "prove": quick.proofs,
    "mutate": slow.mutate,
    "resume": slow.resume,
    "machine": quick.machine,
    "tlc": slow.tlc,
}
"""All engines, the quick ones first."""


@attrs.frozen
class Outcome:
    """The result for one seed: the reason why nothing was compared, or the differences."""

    seed: int
    skipped: str | None = None
    differences: tuple[str, ...] = ()


def compare(seed: int, engines: Sequence[str], source: str | None = None) -> Outcome:
    """Compare the engines with the oracle on the model of a seed, or on this source."""
    with case_of(seed, source) as case:
        problem = refusal(case)
        unfit = case.unfit()
        if problem is not None:
            expected = unfit is not None or any(part in problem for part in LEGITIMATE)
            return Outcome(seed, f"refused: {problem}", () if expected else (f"compile: refused: {problem}",))
        if unfit is not None:
            return Outcome(seed, unfit, (f"compile: taken, though {unfit}",))
        if not starts_nowhere(case) and not case.graph.whole:
            return Outcome(seed, "too many states")
        return Outcome(seed, None, tuple(dict.fromkeys(differences(case, engines))))


def reduced_model(seed: int, engines: Sequence[str], source: str | None = None) -> str:
    """The smallest part of a seed's model that still shows a difference of the same kind."""
    first = compare(seed, engines, source).differences[0]

    def fails(text: str) -> bool:
        try:
            found = compare(seed, engines, text).differences
        except Exception:  # noqa: BLE001 - what is left may be no model at all
            return False
        return any(kind_of(each) == kind_of(first) for each in found)

    return reduced(model_of(seed) if source is None else source, fails)


def kind_of(difference: str) -> str:
    """The kind of a difference: its first words, without the parts that depend on the model."""
    return re.sub(r"\d+", "", difference)[:22]


def differences(case: Case, engines: Sequence[str]) -> Iterator[str]:
    """The engines' differences from the oracle; an engine's error is a difference too."""
    for name in engines:
        try:
            yield from ENGINES[name](case)
        except HoldfastError as error:
            yield f"{name}: {type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001 - whatever an engine raises, it is no answer
            yield f"{name}: internal error: {type(error).__name__}: {str(error)[:300]}"
