"""Runs of a model: kept whole, shown to people, written to files."""
