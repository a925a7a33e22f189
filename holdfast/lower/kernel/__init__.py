"""The kernel: generated Numba code on packed states."""
