"""Verify that the engines agree: each one answers about the same models, and the answers are compared.

``opinions`` compares two engines on one system. ``jobs`` lists the comparisons for a folder of models. ``engine`` makes
them in parallel. ``manifest`` has the pinned outcomes.
"""
