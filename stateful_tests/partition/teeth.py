"""Rules of the implementation whose absence the machine notices, and rules whose absence it does not, with the reason.

Measured with 500 runs each. A reason that begins with "by reading" comes from reading the code; no run confirms it.
"""

from __future__ import annotations

TEETH = (
    *("CA-53", "CL-08", "CS-24", "FO-06.barrier", "FO-10.fence"),
    *("RA-02.fenced", "RA-05", "RA-11", "RA-12", "RA-14"),
    *("RC-05", "ST-17.seal", "ST-31", "ST-37.end", "ST-37.entry"),
)

UNNOTICED = {
    "CK-01.expired": "in no run does a request of a replaced process arrive after the next one has registered",
    "CL-07.flag": "not explained: noticed once, in run 433 of an earlier machine; by reading, a log that closes "
    "takes no appends (RA-16), but without both rules the runs break nothing either",
    "EL-13": "by reading, a timer elects the only replica of a partition, whenever it fires; without EL-12.tag too, "
    "the runs break nothing",
    "PT-04": "a broker that was passed over gives up later, when the newer owner has the meta stream: without "
    "RA-22.epoch too, run 5 breaks LP-01",
    "PT-05": "by reading, the operations of a partition, and so those of its streams, have their order from RA-11",
    "RA-16": "by reading, the next leader counts every batch behind the newest snapshot of the producers, also after a "
    "clean close; without CL-07.wait and CL-07.flag too, the runs break nothing",
    "RA-16.leads": "a broker without an open log refuses anyway; by reading, the rule matters only between an open "
    "and the election; runs of the part partition-reading notice it there",
    "RA-22": "an open that comes before the close is refused, and tried again (ST-14)",
    "SP-09.scan": "by reading, a log that was closed in order is then scanned too, and comes to the same state",
    "ST-14": "rare: the meta stream closes last (PT-02), so a data stream is OPENED then only if its close is "
    "overtaken; run 510 notices it",
}
"""By label: another rule that gives the same answer, or the reason why the runs do not reach a difference."""
