"""The log of a run in the form that ``holdfast conform`` reads with a mapping of the repository."""
