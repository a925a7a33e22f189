"""The judge: computes the states that the model may be in after each event of a log."""
