"""The object store: one interface, and adapters to it."""
