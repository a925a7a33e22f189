"""The comparison of one model: what the oracle and the engines say differently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from holdfast.ir.errors import HoldfastError
from tests.generated.case import LEGITIMATE, Case, case_of, refusal
from tests.generated.engines import ENGINES, starts_nowhere


@attrs.frozen
class Outcome:
    """What became of a seed: why nothing was compared, or the differences."""

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


def differences(case: Case, engines: Sequence[str]) -> Iterator[str]:
    """What the engines say differently; an error of one is a difference too."""
    for name in engines:
        try:
            yield from ENGINES[name](case)
        except HoldfastError as error:
            yield f"{name}: {type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001 - whatever an engine raises, it is no answer
            yield f"{name}: internal error: {type(error).__name__}: {str(error)[:300]}"
