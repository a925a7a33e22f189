"""Mutation: remove the rules of a model one at a time, and find out which mutants the properties kill."""
