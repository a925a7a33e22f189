"""Mappings: they give the lines and records of a foreign log a meaning in the model."""
