"""``--engine spark``: what explores is found through the entry points of the group ``holdfast.engines``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.metadata import entry_points
from typing import Annotated

import attrs
from cyclopts import Parameter

from holdfast.check.search.engine import Explorer
from holdfast.ir.errors import UsageError

GROUP = "holdfast.engines"
SPARK = "spark"


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class ExternalEngine:
    """Where Spark runs.

    Parameters
    ----------
    master
        With --engine spark: a master of Spark, local[*] if not given.
    conf
        With --engine spark: a setting of Spark, KEY=VALUE. May be repeated.
    s3
        With --engine spark: where s3://BUCKET/PREFIX lies, if not at Amazon.
    """

    master: str | None = None
    conf: Annotated[tuple[str, ...], Parameter(negative="", consume_multiple=False)] = ()
    s3: str | None = None

    def refuse(self, engine: str) -> None:
        """Raise UsageError if any was given, for an engine that has no use for it."""
        for option, there in (("--master", self.master), ("--conf", self.conf), ("--s3", self.s3)):
            if there:
                raise UsageError(f"{option} is for --engine spark, and the engine is {engine}; leave one out")

    def engine(self, checkpoint: str | None, resume_from: str | None) -> AbstractContextManager[Explorer]:
        """What explores on Spark, while the context lasts."""
        return _engine(SPARK)(
            master=self.master, conf=self.conf, s3=self.s3, checkpoint=checkpoint, resume_from=resume_from
        )


NOWHERE = ExternalEngine()


def _engine(name: str) -> Callable[..., AbstractContextManager[Explorer]]:
    for found in entry_points(group=GROUP, name=name):
        try:
            engine: Callable[..., AbstractContextManager[Explorer]] = found.load()
        except ImportError as error:
            raise UsageError(
                f"--engine {name}: {error.name or error} is missing; install holdfast with its extra {name}"
            ) from error
        return engine
    raise UsageError(f"no engine {name} is installed (entry points {GROUP}); install holdfast again")
