"""Conformance: whether a log of a system is one that the model allows."""
