"""Run by .ci/wheel: link what the wheel requires, and nothing else, from where this Python has it."""

import sys
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement


def required(package: Distribution) -> list[Distribution]:
    """Return what a package needs without extras."""
    asked = map(Requirement, package.requires or [])
    found = [distribution(one.name) for one in asked if one.marker is None or one.marker.evaluate({"extra": ""})]
    return [*found, *(inner for one in found for inner in required(one))]


here = Path(sys.argv[1])
(wheel,) = distributions(path=[str(here)], name="lewa")
for package in required(wheel):
    for part in {Path(file).parts[0] for file in package.files or []} - {"..", "__pycache__"}:
        if not (here / part).exists():
            (here / part).symlink_to(Path(str(package.locate_file(part))))
