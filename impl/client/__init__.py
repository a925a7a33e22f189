"""The clients of a cluster, and the history that they keep."""
