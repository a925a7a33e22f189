"""The zone of a client: what its client id says, or the block of its address (ZR-09)."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from urllib.parse import parse_qsl

import attrs

KEY = "automq_az"
"""The key of the zone in a client id."""


@attrs.frozen
class CidrBlock:
    """A block of addresses, and its zone. ``text``: as the setting has it."""

    text: str
    zone: str
    network: ipaddress.IPv4Network

    def __contains__(self, address: str) -> bool:
        return ipaddress.IPv4Address(address) in self.network


class CidrBlocks:
    """The blocks of ``automq.zone.cidr.blocks``, such as ``zone1@10.0.0.0/24,10.0.1.0/24<>zone2@10.0.2.0/24``.

    A part of the text without exactly one ``@`` is ignored. Raises ValueError for a block that is none.
    """

    def __init__(self, text: str) -> None:
        # Of two blocks of one length the first wins: the sort is stable.
        self._blocks = sorted(_blocks(text), key=lambda block: -block.network.prefixlen)

    def of(self, address: str) -> CidrBlock | None:
        """The longest block that has the address; None if no block has it."""
        return next((block for block in self._blocks if address in block), None)


def _blocks(text: str) -> Iterator[CidrBlock]:
    for part in text.split("<>"):
        zone, at, blocks = part.partition("@")
        if at and blocks and "@" not in blocks:
            for block in blocks.split(","):
                # The bits behind the prefix do not count.
                yield CidrBlock(block, zone, ipaddress.IPv4Network(block, strict=False))


def said_zone(client_id: str) -> str | None:
    """The zone that a client id names, as a query string; None if it names none."""
    return next((value for key, value in parse_qsl(client_id, keep_blank_values=True) if key == KEY), None)
