"""Exhaustive search with its states in files, and Spark to work on them."""
