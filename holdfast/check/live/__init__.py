"""Liveness: does what is owed always come, if every fair action that stays possible is taken?

``components`` and ``fair`` find where a fair run can stay for ever, ``lasso`` makes a run of it, ``engine`` asks that
of each property; ``shown`` judges a lasso by itself, on the interpreter alone.
"""
