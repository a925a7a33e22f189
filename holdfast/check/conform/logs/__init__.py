"""Read a log: its lines, its own format, its names, and errors about damage."""
