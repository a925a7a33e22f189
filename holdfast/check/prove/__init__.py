"""Proofs for any number of everything: what is asked of Z3, and what is made of its answers."""
