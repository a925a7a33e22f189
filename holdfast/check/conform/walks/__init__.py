"""Logs of random runs of a model."""
