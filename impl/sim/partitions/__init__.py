"""Clients of partitions in a simulated cluster: producers, consumers, and operators who move partitions."""
