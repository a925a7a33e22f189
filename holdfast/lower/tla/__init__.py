"""From the transition system to TLA+: a module that people read, and a module and configuration for each scope."""
