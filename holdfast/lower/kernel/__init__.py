"""The kernel: generated machine code on packed states."""
