"""Print a search's whole answer for the small table. A test runs this file in processes of their own."""

from __future__ import annotations

import json
from pathlib import Path

from holdfast.check.result import to_json
from holdfast.check.search.engine import search
from holdfast.check.summary import render_result
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.trace.itf import itf_text

table = compile_model(load_model(str(Path(__file__).parent / "models" / "table.py")))
broken = remove_rules(table, ["ST-14"])
for keep_going in (False, True):
    for symmetry in (False, True):
        result = search(broken, broken.scopes["default"], keep_going=keep_going, symmetry=symmetry)
        record = to_json(result)
        del record["timing"]
        print(render_result(result, full=True), itf_text(result.findings[0]), json.dumps(record))  # noqa: T201
