"""The reference implementation: real code for the protocols that the models describe.

The implementation and the models are two independent readings of the same pages (``docs/protocol``), so that the models
can judge the implementation. Only ``impl.cli`` imports ``holdfast``; nothing here imports ``models``. Both sides share
names only: rule ids, errors, actions.
"""
