"""Rules of the implementation whose lack the machine notices, and rules whose lack it does not, with the reason.

Both were measured with 450 runs or more.
"""

from __future__ import annotations

TEETH = (
    *("CA-53", "CL-08", "CS-24", "FO-06.barrier", "FO-10.fence"),
    *("RA-02.fenced", "RA-05", "RA-11", "RA-12", "RA-14", "RA-16.leads"),
    *("RC-05", "ST-17.seal", "ST-31", "ST-37.end", "ST-37.entry"),
)

UNNOTICED = {
    "CK-01.expired": "in 300 runs no request of a replaced process arrives after the next one has registered",
    "CL-07.flag": "a log that closes takes no appends by RA-16; noticed once, in run 433 of an earlier machine",
    "EL-13": "a timer that should be gone elects nobody, as its epoch is an earlier one (EL-12.tag)",
    "PT-04": "a broker that was passed over gives up later, when the newer owner has the meta stream (RA-22.epoch)",
    "PT-05": "the operations of a partition, and with them those of its streams, have their order from RA-11",
    "RA-16": "the streams close behind a batch that comes during the close (CL-07.wait), and the next leader counts "
    "every batch behind the newest snapshot of the producers",
    "RA-22": "an open that comes before the close is refused, and tried again (ST-14)",
    "SP-09.scan": "without it, a log that was closed in order is scanned too, and comes to the same state",
    "ST-14": "the meta stream is the last to close (PT-02, RA-22), unless the close of a data stream is overtaken; "
    "noticed once, in run 68 of an earlier machine",
}
"""By label: another rule that gives the same answer, or why the runs do not get there."""
