"""Proofs for any sizes: the questions for Z3, and the verdicts from its answers."""
