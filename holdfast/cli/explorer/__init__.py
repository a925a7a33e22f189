"""The explorer's screen; nothing else in holdfast needs textual."""
