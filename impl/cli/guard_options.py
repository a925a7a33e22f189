"""The options of ``holdfast simulate`` for all rules of the implementation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import attrs
from cyclopts import Parameter, validators

from holdfast.cli.options import Switch
from holdfast.cli.output_files import GuardsFile

Count = Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=1_000_000))]


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class GuardOptions:
    """The rules of the implementation, instead of runs that are named.

    Parameters
    ----------
    update
        Switch off every rule, one at a time, and store what finds its lack in impl/guards.json.
    guards
        Write the page of all rules to this file, from what --update has stored.
    runs
        With --update: the number of runs of the default mix that are made with all rules (20000, also the most).
    tries
        With --update: the number of runs and of walks that are made without each rule (12).
    resume
        With --update: save what is done in this file, and do not repeat what it holds.
    """

    update: Switch = False
    guards: GuardsFile = None
    runs: Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=20_000))] = None
    tries: Count = None
    resume: Path | None = None

    @property
    def asked(self) -> bool:
        """Whether one of the two commands is asked for."""
        return self.update or self.guards is not None

    @property
    def given(self) -> dict[str, object]:
        """The options that only --update allows, by name; None if not given."""
        return {"--runs": self.runs, "--tries": self.tries, "--resume": self.resume}


NO_GUARDS = GuardOptions()
