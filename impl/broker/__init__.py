"""A broker: what it writes, reads and hands over."""
