"""Two models compared: what one can do and the other cannot."""
