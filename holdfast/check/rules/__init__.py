"""Rule ids: what each one means, where the models hold it, and what its removal shows."""
