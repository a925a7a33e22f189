"""Liveness: is every owed goal reached at last, in all runs that are fair to the actions?

``components`` and ``fair`` find the components in which a fair run can stay for ever. ``lasso`` makes a run of one.
``engine`` does this for each leads-to property, and ``explain`` says why a lasso is fair. ``runs/lasso_judge.py``
checks every lasso again, on the interpreter alone.
"""
