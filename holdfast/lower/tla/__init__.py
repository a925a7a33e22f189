"""Translates the transition system into TLA+: a readable module, and a module and configuration for each scope."""
