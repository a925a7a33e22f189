"""Which cells a value or a step read: the interpreter once more, slowly, for reasons."""
