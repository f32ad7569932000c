"""The syntax trees of source files, read once for all tests that look at the code."""

import ast
from functools import cache


@cache
def tree_of(text: str) -> ast.Module:
    return ast.parse(text)


@cache
def nodes_of(text: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(text)))
