"""Rules of the implementation without which the machine fails, each with what may happen then."""

from __future__ import annotations

TEETH = {
    "ST-14": "a stream is opened while another process has it open",
    "CL-08": "a legacy close leaves behind what is not uploaded",
    "CK-01.expired": "a process that was replaced goes on to ask the controller",
}
