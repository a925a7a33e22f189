"""Random runs of single parts of a node, each judged by a second statement of what the facts demand of the part."""
