"""The named switches of the implementation: suspicious spots of AutoMQ, which the default repairs (streams.md 18)."""

from __future__ import annotations

import ast
from functools import cache

from impl.rules import ROOT

ALWAYS = {
    "AM-04": "a larger node epoch passes (CK-01), and only ND-01 stores it",
    "AM-05": "items of one request are judged on the state before it (EX-05)",
    "AM-06": "a commit is judged range by range (CS-20 to CS-29)",
    "AM-11": "a close looks at no failover flag (ST-31), and a delete at nothing (ST-51)",
    "AM-17": "an equal epoch opens a CLOSED stream again (ST-24), whatever AutoMQ's comment says",
    "AM-18": "an open may remove ranges between others (ST-18)",
    "AM-19": "an equal epoch overwrites the failover flag (ND-01)",
    "AM-20": "an equal epoch opens a CLOSED stream again (ST-24); a broker has to prevent the rest",
}
"""The spots that the controller's tables always have, each with its row. Their switches change nothing."""


OF_BROKERS = ("AM-01", "AM-03", "AM-08", "AM-10", "AM-13", "AM-14", "AM-15", "AM-16")
"""The spots of brokers and their clients. A scenario runs a controller alone."""
REFUSED = {
    "AM-09": "it is about AutoMQ's test double",
    "AM-12": "AutoMQ fails with an error that it does not handle; the controller refuses such a compaction (CS-04)",
}
"""The spots that no switch builds in, with the reason."""


RUN = ("balancer", "controller", "metadata", "zone")
"""The packages that a scenario runs."""


@cache
def switches(packages: tuple[str, ...] = RUN) -> tuple[str, ...]:
    """The switches that the source of some packages reads (``"AM-07" in profile.as_built``), sorted."""
    found = set()
    # Read from the source, so that the list cannot differ from the code.
    for path in sorted(path for package in packages for path in (ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Compare(
                    left=ast.Constant(value=str(name)),
                    ops=[ast.In() | ast.NotIn()],
                    comparators=[ast.Attribute(attr="as_built" | "_as_built") | ast.Name(id="as_built")],
                ):
                    found.add(name)
    return tuple(sorted(found))
