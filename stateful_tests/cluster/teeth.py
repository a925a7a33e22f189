"""Rules of the implementation without which the machine fails, each with what may happen then."""

from __future__ import annotations

TEETH = {
    "ST-14": "a stream is opened while another process has it open",
    "CL-08": "a legacy close leaves behind what is not uploaded",
    "CK-01.expired": "a process that was replaced goes on to ask the controller",
    "CS-24": "an object that was formed before a trim is refused for ever, so that its stream is never closed",
    "RA-11": "a broker opens a partition again before it has closed it",
    "WL-05.verify": "a process that has lost its reservation acknowledges what no recovery reads",
}
