"""The page of one run: a counterexample that a reader can step through in a browser."""
