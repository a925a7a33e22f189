"""Rules without which the controller differs from a model, by the name of the pairing."""

from __future__ import annotations

TEETH = {
    "ownership": (
        *("CK-01.expired", "CK-01.flag", "CK-02.missing", "CK-02.epoch_old", "CK-02.epoch_new", "CK-02.node"),
        *("ST-12", "ST-14", "ST-17.seal", "ST-21", "ST-23", "ST-41", "ST-42", "ST-43", "ST-51"),
        *("CS-20", "CS-28", "CS-29a", "CS-29b", "ND-01"),
    ),
    "fast_close": (
        *("ST-15", "ST-33", "ST-34", "ST-35", "ST-37.end", "ST-37.entry"),
        *("CS-22", "CS-24", "CS-25", "CS-30", "CS-33", "ND-03"),
    ),
    "cancellation": (
        *("RA-02.fenced", "RA-03", "RA-04", "RA-05", "CA-20.returned", "CA-41", "CA-43", "CA-53"),
        *("CK-01.flag", "FO-10.fence", "FO-10.unfence"),
        *("EL-08.active", "EL-12.again", "EL-12.leaderless", "EL-12.restore", "EL-13"),
    ),
    "replica_reassignment": (
        *("RA-05", "RA-44", "RA-46", "RA-47.active", "RA-47.replicas"),
        *("CA-20", "CA-26.alive", "CA-26.min_isr", "CA-27"),
    ),
    "kraft": ("CA-20", "CA-22"),
}
