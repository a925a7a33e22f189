"""The verbs of ``holdfast campaign``."""
