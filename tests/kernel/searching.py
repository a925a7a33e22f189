"""The kernel's search compared with the interpreter's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from holdfast.check.result import Result, to_json
from holdfast.check.search.engine import search
from holdfast.check.summary import render_result
from holdfast.ir.system import System
from holdfast.lower.kernel.kernel import Kernel


def equal_searches(
    system: System, scope: str, *, cores: Sequence[int] = (1,), kernel: Kernel | None = None, **options: Any
) -> Result:
    """The answer of both searches, with these numbers of cores. They must be equal in every letter except the times."""
    wanted = search(system, system.scopes[scope], engine="interpreter", **options)
    for number in cores:
        found = search(system, system.scopes[scope], engine="kernel", cores=number, kernel=kernel, **options)
        found = attrs.evolve(found, timing=wanted.timing)
        assert to_json(found) == to_json(wanted)
        assert render_result(found) == render_result(wanted)
        assert found == wanted
    return wanted
