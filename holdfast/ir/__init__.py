"""The typed transition system, and the compiler from Python source to it."""
