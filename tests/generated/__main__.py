"""Compare the engines with the oracle on many generated models: ``python -m tests.generated --models 5000 --seed 1``.

Prints each difference with the seed of its model, and how it goes. Ends with 1 if there is a difference, and with what
was found if it is interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from holdfast.check.budget import Budget, Meter
from tests.generated.comparing import ENGINES, Outcome, compare, reduced_model

EVERY = 100
"""After every N models a line reports the progress."""

USUAL = "interpreter,kernel-text,live,prove"


def outcomes(seeds: Sequence[int], engines: Sequence[str], jobs: int) -> Iterator[Outcome]:
    """The outcomes of all seeds, in order."""
    asked = partial(compare, engines=engines)
    if jobs == 1:
        yield from map(asked, seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        try:
            yield from pool.map(asked, seeds, chunksize=5)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def main(words: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.generated", description=__doc__)
    parser.add_argument("--models", type=int, default=100, help="how many models")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the first; the others follow it")
    parser.add_argument("--engines", default=USUAL, help=f"some of {','.join(ENGINES)}")
    parser.add_argument("--reduce", action="store_true", help="show the smallest part of each model that differs")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    asked = parser.parse_args(words)
    engines = asked.engines.split(",")
    unknown = [name for name in engines if name not in ENGINES]
    if unknown:
        parser.error(f"--engines {','.join(unknown)}: there is no such engine; choose from {', '.join(ENGINES)}")
    meter, done, wrong = Meter(Budget()), 0, 0
    skipped: Counter[str] = Counter()
    try:
        for outcome in outcomes(range(asked.seed, asked.seed + asked.models), engines, asked.jobs):
            done += 1
            wrong += bool(outcome.differences)
            skipped.update([outcome.skipped.partition(":")[0]] if outcome.skipped else [])
            for difference in outcome.differences:
                say(f"seed {outcome.seed}: {difference}")
            if asked.reduce and outcome.differences:
                say(reduced_model(outcome.seed, engines))
            if done % EVERY == 0:
                say(
                    f"# {done} of {asked.models} models, {done / meter.seconds:.1f} a second, {wrong} with a difference"
                )
    except KeyboardInterrupt:
        say("# interrupted")
    reasons = ", ".join(f"{number} {reason}" for reason, number in skipped.most_common(8))
    say(f"# {done} models in {meter.seconds:.0f} s by {', '.join(engines)}: {wrong} with a difference")
    say(f"# {sum(skipped.values())} not compared: {reasons}")
    return 1 if wrong else 0


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
