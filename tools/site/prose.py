"""Docstrings as Markdown. They are written for the terminal, and their layout says what is a box, an example, prose."""

import re
from inspect import cleandoc
from textwrap import fill
from typing import Any

from griffe import Attribute, Class, Extension, Object

EXAMPLE = re.compile(r"^```pycon\n.*?^```", re.DOTALL | re.MULTILINE)
DIRECTIVE = re.compile(r"\s*# doctest: .*$")
WIDTH = 88  # characters of an example that fit beside the two columns of links
CODE = re.compile(r"(`+[^`]+`+)")
UNDERLINED = re.compile(r"(\w+)\n-{3,}\n")  # the heading of a section
COMMENT = re.compile(r"^\s*\w+\s*:[^#]*#\s*(?P<said>.+)$")


def markdown(docstring: str) -> str:
    """The docstring with its boxes (indented) and its examples (>>>) in fences, and prose that stays as it is written."""
    return "\n\n".join(map(fenced, blocks(docstring)))


def blocks(docstring: str) -> list[str]:
    """What stands between blank lines; the parts of a box stay together."""
    found: list[str] = []
    for block in re.split(r"\n\s*\n", cleandoc(docstring)):
        if found and is_box(block) and is_box(found[-1]):
            found[-1] += "\n\n" + block
        else:
            found.append(block)
    return found


def is_box(block: str) -> bool:
    """Whether it is indented throughout."""
    return all(line.startswith("    ") for line in block.splitlines() if line.strip())


def fenced(block: str) -> str:
    """One block as Markdown."""
    if heading := UNDERLINED.match(block):
        content = block[heading.end() :]
        return f"**{heading[1]}**\n\n{fenced(content) if content.startswith('>>>') else entries(content)}"
    if block.startswith(">>>"):
        return f"```pycon\n{block}\n```"
    if is_box(block):
        return f"```text\n{cleandoc(block)}\n```"
    return prose(re.sub("::$", ":", block))


def entries(content: str) -> str:
    """The parameters of a section as a list: names stand at the margin, what they are is indented below them."""
    items: list[str] = []
    for line in content.splitlines():
        if line.startswith(" "):
            items[-1] += " " + prose(line.strip())
        else:
            names, _, kind = line.partition(" : ")
            items.append(
                "- " + ", ".join(f"`{name}`" for name in names.split(", ")) + (f" ({prose(kind)}):" if kind else ":")
            )
    return "\n".join(items)


def prose(text: str) -> str:
    """Text in which no sign of a formula means anything to Markdown; code stays code."""
    parts = CODE.split(text)
    parts[::2] = [re.sub(r"([*\[\]])", r"\\\1", part.replace("<", "&lt;")) for part in parts[::2]]
    return "".join(parts)


class Docstrings(Extension):
    """For the reference: the same, and the fields of a class in a table, each with the comment beside it."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called once for each object that is read."""
        if obj.docstring:
            obj.docstring.value = "\n\n".join(
                [markdown(obj.docstring.value), *([fields(obj)] if isinstance(obj, Class) else [])]
            )


def fields(kind: Class) -> str:
    """A row for each field of a named tuple or a dataclass: name, type, comment."""
    if not (kind.labels & {"dataclass"} or any(str(base).endswith("NamedTuple") for base in kind.bases)):
        return ""
    rows = []
    for name, one in kind.members.items():
        if isinstance(one, Attribute) and one.annotation is not None and not name.startswith("_"):
            comment = COMMENT.match(one.source)
            said = prose(comment["said"]).replace("|", r"\|") if comment else ""
            rows.append(f"| `{name}` | `{one.annotation}` | {said} |")
    return "\n".join(("| field | type | what it is |", "|---|---|---|", *rows))


def wrap_output(markdown: str) -> str:
    """Wrap the sentences that examples print to the width of the page, and leave out what only doctest reads."""

    def wrapped(text: str) -> str:
        if text.startswith((">>>", "...")):
            return DIRECTIVE.sub("", text)
        if text == "<BLANKLINE>":
            return ""
        return text if "  " in text else fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)

    return EXAMPLE.sub(lambda example: "\n".join(map(wrapped, example[0].splitlines())), markdown)
