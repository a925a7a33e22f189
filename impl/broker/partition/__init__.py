"""The parts of a partition that keeps its log in streams. None of them reads a clock or draws a random number."""
