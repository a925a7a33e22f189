"""Independent judges of a history: one property each. They know what clients saw, and nothing of how brokers work."""
