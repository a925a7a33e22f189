"""Compare two models: the steps that one can take and the other cannot."""
