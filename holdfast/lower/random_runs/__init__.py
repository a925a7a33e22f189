"""What random runs are: chance, and the plan that the kernel and the interpreter both follow."""
