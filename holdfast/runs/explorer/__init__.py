"""A run looked at step by step: what a person at the explorer can ask and do, without a screen."""
