"""The interpreter (generated Python functions of actions and properties), and CPython as a second executor."""
