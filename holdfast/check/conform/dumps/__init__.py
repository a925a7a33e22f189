"""How a dump of a metadata log is read."""
