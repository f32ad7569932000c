"""The command `lewa`, or a sentence that names the missing package."""

import sys

from lewa.version import install


def main() -> None:
    """Run the command line, whose packages are an extra."""
    try:
        from lewa import cli
    except ModuleNotFoundError as error:
        print(f"lewa: the command line needs {error.name}: {install('cli')}", file=sys.stderr)
        sys.exit(2)
    cli.main()


if __name__ == "__main__":
    main()
