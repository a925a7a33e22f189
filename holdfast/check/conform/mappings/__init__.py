"""How a mapping says what the lines and records of a foreign log mean."""
