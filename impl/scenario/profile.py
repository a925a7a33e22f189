"""The profile of a scenario, which selects the behaviour of its controller."""

from __future__ import annotations

import yaml

from impl.controller.view import Profile
from impl.scenario.types import OneOf, Struct, may

VERSIONS = tuple(f"V{number}" for number in range(7))

PROFILE = Struct(
    {
        "automq_version": may(OneOf(VERSIONS, "version"), "V6"),
        "cancel": may(OneOf(("H", "K"), "profile of cancel"), "H"),
        "handshake": may(OneOf(("G0", "G1"), "handshake"), "G0"),
        "timer": may(OneOf(("epoch", "automq"), "timer"), "epoch"),
        "balancer": may(OneOf(("parity", "safe"), "balancer"), "parity"),
    },
    "profile key",
)


def read_profile(node: yaml.Node | None) -> Profile:
    """Read a profile from a YAML node; None stands for the default profile. Raises MalformedError."""
    if node is None:
        return Profile()
    given = PROFILE.value(node)
    return Profile(
        v6=given["automq_version"] == "V6",
        cancel=given["cancel"],
        handshake=given["handshake"],
        timer=given["timer"],
        balancer=given["balancer"],
    )
