"""Find the sources of a module by following its import statements."""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

DOOR = "lewa"  # the package's own __init__ offers everything and computes nothing
INSTALLED = ("site-packages", "dist-packages")  # folders whose packages have nothing to do with each other


def sources(module: str, root: Path) -> list[Path]:
    """Return the files below the folder `root` that a module comes from: its own, and those that it imports, sorted."""
    return sorted(_follow(module, root)[0])


def top_names(module: str, root: Path) -> set[str]:
    """Return the first parts of the names of a module and of all that its sources below the folder `root` import."""
    return {name.partition(".")[0] for name in _follow(module, root)[1]}


def _follow(module: str, root: Path) -> tuple[set[Path], set[str]]:
    """Return the files below `root` that a module comes from, and the names of modules that stand in them."""
    files: set[Path] = set()
    names, visited = [module], set[str]()
    while names:
        name = names.pop()
        if name in visited or name == DOOR:
            continue
        visited.add(name)
        file = _file(root, name)
        if file is None or file in files:
            continue
        if root.name in INSTALLED and name.partition(".")[0] != module.partition(".")[0]:
            continue
        files.add(file)
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        for needed in (package, *_imports(file, package)):
            parts = needed.split(".")
            names += [".".join(parts[:n]) for n in range(1, len(parts) + 1)]  # a package is imported before its modules
    return files, visited


def _file(root: Path, module: str) -> Path | None:
    place = root.joinpath(*module.split("."))
    files = (place / "__init__.py", place.parent / f"{place.name}.py")
    return next((file for file in files if module and file.is_file()), None)


def _imports(file: Path, package: str) -> Iterator[str]:
    """Yield the names that a file of this package imports, of which some are modules."""
    for node in _statements(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            name = ".".join([*parents, *([node.module] if node.module else [])])
            yield from (f"{name}.{alias.name}" for alias in node.names)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements below a node. An import is never inside an expression, and expressions are most of a file."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(node, field, ()):
            yield statement
            yield from _statements(statement)


def fingerprint(files: list[Path], root: Path) -> str:
    """Return a hash of the files and of where they are below `root`."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


@cache
def fingerprint_of(module: str) -> str:
    """Return a hash of a module of the user's, and of what it imports from its own folder or package."""
    root = root_of(module)
    return fingerprint(sources(module, root), root)


def root_of(module: str) -> Path:
    """Return the folder on the path from which a module is imported."""
    spec = find_spec(module)
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        raise ValueError(f"the source of the module {module} cannot be found")
    file = Path(spec.origin)
    above = module.count(".") + (file.name == "__init__.py")
    return file.parents[above]
