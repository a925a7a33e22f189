"""What several protocols share: state with the checks and effects on it. A part declares no action."""
