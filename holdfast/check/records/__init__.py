"""The records of the engines that do not search: proofs, mutants, liveness, second opinions, verification, campaigns.

A record is what every report is written from (``holdfast.check.record``).
"""
