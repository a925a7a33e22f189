"""``python -m holdfast`` is the command ``holdfast``."""

from __future__ import annotations

from holdfast.cli.app import run

if __name__ == "__main__":  # worker processes import this module under another name
    run()
