"""The transition system made executable: layouts of states, the interpreter, the kernel, CPython, and other targets."""
