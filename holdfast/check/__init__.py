"""The engines. Each answers one question about a model; ``result`` has the records that they share."""
