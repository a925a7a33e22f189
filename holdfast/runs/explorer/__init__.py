"""A run under exploration: everything that a person at the explorer can ask and do, without a screen."""
