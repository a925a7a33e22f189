"""Holdfast: one protocol model in plain Python, and every checker behind it."""

__version__ = "0.1.0"
