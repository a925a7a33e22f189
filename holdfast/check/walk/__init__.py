"""Random runs: is a bad state met on one of many seeded runs?"""
