"""Liveness: does every run that is fair to the actions have what the liveness properties promise?

``components`` and ``fair`` find the components in which a fair run can stay for ever. ``lasso`` makes a run of one.
``engine`` does this for each liveness property, and ``explain`` says why a lasso is fair. ``runs/lasso_judge.py``
checks every lasso again, on the interpreter alone.
"""
