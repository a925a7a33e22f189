"""Writes a ``match`` out as ``if`` and ``elif``: the language has patterns that name values, and no others."""

from __future__ import annotations

import ast
import copy
from typing import NoReturn, Protocol


class Refuse(Protocol):
    """Raises the ModelError for a node, with a problem and a remedy."""

    def __call__(self, node: ast.AST, problem: str, remedy: str) -> NoReturn: ...


def without_match(method: ast.FunctionDef, refuse: Refuse) -> ast.FunctionDef:
    """The method with each ``match`` written out. ``refuse`` is called for a pattern outside the language."""
    if not any(isinstance(node, ast.Match) for node in ast.walk(method)):
        return method
    # The tree of a file is read once for all that ask for it, so it stays as it is.
    found = _Writer(refuse).visit(copy.deepcopy(method))
    assert isinstance(found, ast.FunctionDef)
    return found


class _Writer(ast.NodeTransformer):
    def __init__(self, refuse: Refuse) -> None:
        self._refuse = refuse

    def visit_Match(self, node: ast.Match) -> ast.stmt:
        """An ``if`` for the first case, with the others in its ``else``.

        Python evaluates the subject once. Here each test has it, which is the same: no test writes anything.
        """
        self.generic_visit(node)
        orelse: list[ast.stmt] = []
        for place, case in reversed(list(enumerate(node.cases))):
            test = self._test(node.subject, case)
            if isinstance(test, ast.Constant) and place > 0:
                orelse = case.body
                continue
            where = node if place == 0 else case.pattern
            orelse = [ast.copy_location(ast.If(test, case.body, orelse), where)]
        return orelse[0]

    def _test(self, subject: ast.expr, case: ast.match_case) -> ast.expr:
        pattern = self._pattern(subject, case.pattern)
        if case.guard is None:
            return pattern
        return ast.copy_location(ast.BoolOp(ast.And(), [pattern, case.guard]), case.pattern)

    def _pattern(self, subject: ast.expr, pattern: ast.pattern) -> ast.expr:
        """The test of a pattern: the literal True if it matches everything."""
        found: ast.expr
        match pattern:
            case ast.MatchValue(value=value):
                found = ast.Compare(subject, [ast.Eq()], [value])
            case ast.MatchSingleton(value=None):
                found = ast.Compare(subject, [ast.Is()], [ast.copy_location(ast.Constant(None), pattern)])
            case ast.MatchSingleton():
                self._refuse(pattern, "a case of True or False", "use if and else")
            case ast.MatchOr(patterns=patterns):
                found = ast.BoolOp(ast.Or(), [self._pattern(subject, each) for each in patterns])
            case ast.MatchAs(pattern=None, name=None):
                found = ast.Constant(True)
            case ast.MatchAs(pattern=None, name=name):
                self._refuse(
                    pattern,
                    f"{name} in a case is no constant: it matches everything",
                    "name a member: Enum.MEMBER, or _",
                )
            case _:
                self._refuse(pattern, "this pattern is outside the language", "name values: Enum.MEMBER, None, _")
        return ast.copy_location(found, pattern)
