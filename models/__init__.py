"""The protocols, one model a file."""
