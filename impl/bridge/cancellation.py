"""The pairing of ``models/cancellation.py``, which includes ``models/reassignment.py``: one elastic partition."""

from __future__ import annotations

from typing import ClassVar

from impl.bridge.differences import Arguments, Cells
from impl.bridge.pairing import Facts, number
from impl.bridge.reassignment import KEY, ReassignmentPairing, altered
from impl.bridge.request import OperationRequest
from impl.controller.node import Controller
from impl.metadata.image import Image


class CancellationPairing(ReassignmentPairing):
    """As the pairing of reassignment; moves are cancelled at any time, too."""

    name = "cancellation"
    decided: ClassVar = ReassignmentPairing.decided | {"cancel": ("direct",)}

    def of_model(self, cells: Cells) -> Facts:
        moves = cells["moved_under",] == cells["leader_epoch",] and cells["origin",] != cells["replica",]
        marker = {
            "origin": (number(cells["origin",]),) if moves else None,
            "marker": cells["leader_epoch",] if moves else None,
        }
        return super().of_model(cells) | marker

    def of_controller(self, controller: Controller) -> Facts:
        row = controller.image.partitions[KEY]
        return super().of_controller(controller) | {"origin": row.original, "marker": row.marker}

    def requests(self, image: Image, action: str, cells: Cells, args: Arguments) -> tuple[OperationRequest, ...]:
        if action == "cancel":
            return (altered(None),)
        return super().requests(image, action, cells, args)
