"""The page of a state graph."""
