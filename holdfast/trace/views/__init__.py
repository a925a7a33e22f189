"""A run as a person reads it: columns, reasons, pictures."""
