"""How a log is read: its lines, its own format, its names, and what is damaged."""
