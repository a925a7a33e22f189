"""Writes the log of a run for ``holdfast conform``: one order of effects, as the models of ``models/`` have them."""

from __future__ import annotations

from impl.sim.conformance.appends import Appends
from impl.sim.conformance.closes import Closes
from impl.sim.conformance.lines import LineCollector, Processes
from impl.sim.conformance.requests import Requests
from impl.sim.conformance.takeovers import Takeovers
from impl.sim.event_log import EventLog, ExecutedRequest
from impl.sim.neighbours import OUTSIDERS

NAMES = {each.name for each in OUTSIDERS}


def conform_log(log: EventLog) -> bytes:
    """The log of a run, one JSON object a line, in the order in which its steps took effect.

    The mappings ``ownership``, ``stream_log`` and ``fast_close`` read it. A line has ``event``, which ``ownership``
    reads, and ``kind``, which may say more and which the others read.
    """
    events = log.events
    lines, processes = LineCollector(events), Processes(events)
    takeovers = Takeovers(lines, processes)
    requests = Requests(lines, processes, takeovers, events)
    appends = Appends(lines, processes, requests, takeovers)
    closes = Closes(lines, processes, requests)
    for index, event in enumerate(events):
        if isinstance(event[3], ExecutedRequest):
            # A stranger is refused. Without a rule it may not be; then its effects have no cause in the log. What
            # belongs to a neighbour concerns no model.
            if event[3].sender not in NAMES:
                requests.execute(index, event[3])
        elif event[1] in processes.of:
            takeovers.see(index, event)
            appends.see(index, event)
            closes.see(index, event)
    appends.finish(takeovers.finish(requests.effective))
    closes.finish()
    return lines.render()
