"""The compiler from Python source to the transition system."""

from __future__ import annotations

from holdfast.ir.compile.model import compile_model

__all__ = ["compile_model"]
