"""The clients of a cluster, and the history of their operations."""
