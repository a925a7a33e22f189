"""Rule ids: the meaning of each, its places in the models, and the results of removing it."""
