"""The pieces of a partition that keeps its log in streams. None of them waits, reads a clock or draws a number."""
