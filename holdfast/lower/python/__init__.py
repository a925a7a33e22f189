"""The interpreter: Python functions of actions and properties, as text; CPython as the other executor."""
