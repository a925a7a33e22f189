"""Options that several verbs share: their types, as cyclopts reads them, and the order of exit codes."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter, validators

from holdfast.check.result import DEADLOCK, HOLDS, OUT_OF_BUDGET, UNSHOWN, VIOLATED

GRAVITY = (VIOLATED, DEADLOCK, UNSHOWN, OUT_OF_BUDGET, HOLDS)
"""Exit codes, the gravest first. If several scopes are searched, the gravest code is the command's."""

Names = Annotated[tuple[str, ...], Parameter(negative="", consume_multiple=False)]
"""An option that may be repeated, one name each time."""

Switch = Annotated[bool, Parameter(negative="")]
"""An option without a value."""

Cores = Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=256))]
"""A number of cores; None is all that there are."""

RUNS = Parameter(name=["--runs", "--traces"])
"""The number of random runs. Earlier versions called it ``--traces``; scripts may still do."""

Expectation = Literal["holds", "violated"]
Expected = Annotated[Expectation, Parameter(show_choices=False)]
"""The verdict that ends a verb with exit code 0."""
