"""Random runs: does one of N seeded runs meet a bad state?"""
