"""Mutation testing of Holdfast's own engine: are faults in ``lower/``, ``ir/`` and ``check/`` noticed by its tests?

``python -m mutants --seed 1`` draws faults, plants each in a copy of the tree, and runs the tests that reach its line
until one fails.

Why no library is used: mutmut 3 replaces each function by a set of variants, which breaks the drivers of the kernel
(``holdfast`` reads and compiles their text), and cannot draw a sample by a seed. Cosmic Ray edits the files of the
checkout, runs one fixed command for each fault, and also edits annotations. mutatest is no longer maintained.
"""
