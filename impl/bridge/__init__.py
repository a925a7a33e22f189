"""The bridge between models and the implementation: what an action of a model asks of a controller."""
