"""Steps with which scenarios of several tests begin."""

from __future__ import annotations

OPENED = """
  - {op: openings, node: 0, node_epoch: 1}
  - {op: create, node: 0, node_epoch: 1, topic: t, partition: 0}
  - {op: open, node: 0, node_epoch: 1, stream: 0, epoch: 0}
"""
