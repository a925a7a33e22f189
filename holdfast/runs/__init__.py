"""Runs on a model: loaded, replayed, matched, explained, shrunk."""
