"""The answer about a log: the verdict, its reasons, and a run that explains the log."""
