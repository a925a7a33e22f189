"""Parts that several protocols share: state, and the checks and effects on it. Most parts declare no action."""
