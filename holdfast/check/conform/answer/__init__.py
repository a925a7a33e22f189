"""What is said of a log: the verdict, its reasons, and a run that explains it."""
