"""The definition of random runs: the random numbers, and the plan that both the kernel and the interpreter follow."""
