"""A broker: it owns streams, writes and reads them, and hands them over to other brokers."""
