"""``--engine spark``: the engine is found through the entry points of the group ``holdfast.engines``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.metadata import entry_points

import attrs
from cyclopts import Parameter

from holdfast.check.search.engine import Explorer
from holdfast.cli.options import Names
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
        With --engine spark: the Spark master (local[*]).
    conf
        With --engine spark: a Spark setting, KEY=VALUE. May be repeated.
    s3
        With --engine spark: the address of the server that holds s3://BUCKET/PREFIX, if it is not Amazon's.
    """

    master: str | None = None
    conf: Names = ()
    s3: str | None = None

    def refuse(self, engine: str) -> None:
        """Raise UsageError if any of these options is given with an engine other than Spark."""
        for option, there in (("--master", self.master), ("--conf", self.conf), ("--s3", self.s3)):
            if there:
                raise UsageError(f"{option} is for --engine spark, and the engine is {engine}; leave one out")

    def engine(self, checkpoint: str | None, resume_from: str | None) -> AbstractContextManager[Explorer]:
        """A context that starts Spark, gives the explorer on it, and ends Spark.

        Raises UsageError if the engine, or a library that it needs, is not installed.
        """
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
