"""The exact search: is a bad state reachable within these bounds?"""
