"""Conformance: checks whether the model allows the log of a system."""
