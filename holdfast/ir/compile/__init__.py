"""The compiler: it translates the Python source of a model to a transition system."""

from __future__ import annotations

from holdfast.ir.compile.model import compile_model

__all__ = ["compile_model"]
