"""Mutation: a model's rules removed one at a time, and what becomes of each mutant."""
