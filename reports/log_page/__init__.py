"""The page of a judged log."""
