"""Whether the engines agree: each asked about the same models, and its answer held against another's.

``opinions`` compares two engines on one system; ``jobs`` says which comparisons there are to make of a folder of
models, and ``running`` makes them side by side.
"""
