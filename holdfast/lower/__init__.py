"""From the transition system to what runs: the interpreter, its symmetry, and CPython as the second opinion."""
