"""Oracles judge a history, one property each. They see only the operations of clients, and nothing of the brokers."""
