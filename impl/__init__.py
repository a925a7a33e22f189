"""The reference implementation: real code for the protocols that the models describe.

It imports nothing of ``holdfast`` or ``models``, so that the models can judge it: two independent readings of the same
pages (``docs/protocol``). What they share is names: rule ids, errors, actions.
"""
