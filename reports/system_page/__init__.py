"""The page of a run of a system, simulated or real."""
