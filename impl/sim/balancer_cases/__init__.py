"""The balancer on random clusters with constant loads, round after round, and oracles that judge each plan."""
