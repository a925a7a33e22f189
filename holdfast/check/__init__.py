"""The engines: what each asks of a model, and the one record in which they answer."""
