"""The judge: which states a model may be in after each event of a log."""
