"""The record from which every report is written (``record``), and a module for each engine that makes its records."""
