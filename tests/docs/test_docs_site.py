"""The documentation is built without a warning, every learner has its page, and no public name goes without a word."""

import importlib
import inspect
import pkgutil
import re
import warnings
from collections.abc import Iterator
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tools.site.mathematics import GREEK, NotAFormulaError, inline, tex, typeset
from tools.site.prose import markdown, wrap_output

import lewa
from lewa.figures import Panel
from lewa.game import Game
from lewa.learners.base import Learner

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
ABSENT = {"lewa.__main__", "lewa.adapters.litellm"}  # the latter needs what `make test-litellm` installs
# Where many classes have the same methods, what these do is said once, in the protocol.
PROTOCOLS: dict[str, Any] = {"learners": Learner, "games": Game, "report": Panel}


def modules() -> Iterator[ModuleType]:
    yield lewa
    for info in pkgutil.walk_packages(lewa.__path__, "lewa."):
        if info.name not in ABSENT:
            yield importlib.import_module(info.name)


def test_the_site_is_built_without_a_warning_and_holds_every_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # In this process, which has imported what the reference is about.
    less = {"NO_MKDOCS_2_WARNING": "1", "LEWA_PICTURE_ROUNDS": "100", "LEWA_SITE_WHOLE": "false", "NUMBA_DISABLE_JIT": "1"}
    for name, value in less.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(ROOT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of libraries; those of mkdocs are in its log, and end it
        mkdocs: Any = importlib.import_module("mkdocs.__main__")
        words = ["build", "--strict", "--site-dir", str(tmp_path / "site")]
        mkdocs.cli.main(words, prog_name="mkdocs", standalone_mode=False)
    site = tmp_path / "site"

    for name in lewa.learners.ALL:
        page = (site / "learners" / f"{name.replace('@', '-')}.html").read_text()
        assert page.count("<svg viewBox") >= 4, f"the page of {name} has no picture"
        assert all(f'id="{part}"' in page for part in ("reading", "what-is-proved", "at-work", "in-code")), name

    pages = {path: path.read_text() for path in site.rglob("*.html")}
    named = set(re.findall(r'id="(lewa\.[\w.]+)"', "".join(pages.values())))
    missing = {f"{room.__name__}.{name}" for room, name in listed() if not places(room, name) & named}
    assert not missing, f"in no page of the reference: {sorted(missing)}"

    fetched = re.compile(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="https?://(?!www\.w3\.org)')
    assert not [path.name for path, text in pages.items() if fetched.search(text)], "a page loads something from the network"


def listed() -> Iterator[tuple[ModuleType, str]]:
    """Every name of every `__all__`."""
    for room in modules():
        for name in getattr(room, "__all__", ()):
            yield room, name


def places(room: ModuleType, name: str) -> set[str]:
    """Where it is public, and where it is defined."""
    thing = getattr(room, name)
    if inspect.ismodule(thing):
        return {thing.__name__}
    return {f"{room.__name__}.{name}", f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', '')}"}


def test_no_public_name_is_undocumented() -> None:
    silent = [where for module in modules() for where in undocumented(module)]
    assert not silent, f"without a docstring: {silent}"


def undocumented(module: ModuleType) -> Iterator[str]:
    if not module.__doc__:
        yield module.__name__
    room = module.__name__.split(".")[1] if "." in module.__name__ else ""
    for name, thing in vars(module).items():
        if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(thing):
            state = room == "learners" and name not in lewa.learners.__all__  # its fields are commented, one by one
            if not state and (not thing.__doc__ or thing.__doc__.startswith(f"{name}(")):
                yield f"{module.__name__}.{name}"
            yield from (f"{module.__name__}.{name}.{silent}" for silent in silent_methods(thing, PROTOCOLS.get(room)))
        elif inspect.isfunction(getattr(thing, "py_func", thing)) and not thing.__doc__:
            yield f"{module.__name__}.{name}"


def silent_methods(kind: type, protocol: Any) -> Iterator[str]:
    """Those of which neither the class, nor what it inherits from, nor the protocol of its room says what they do."""
    said = [*kind.__mro__, protocol] if protocol else kind.__mro__
    for name, method in vars(kind).items():
        plain = method.__func__ if isinstance(method, classmethod | staticmethod) else method
        if name.startswith("_") or not (inspect.isfunction(plain) or isinstance(plain, property | cached_property)):
            continue
        if not any(inspect.getdoc(getattr(one, name, None)) or f"`{name}" in (one.__doc__ or "") for one in said):
            yield name


def test_parameters_become_a_list() -> None:
    text = markdown(
        "Do it.\n\nParameters\n----------\na, b\n    Both,\n    [0, 1].\nc : int\n    One.\n\nExamples\n--------\n>>> 1\n1\n"
    )
    assert text.split("\n\n") == [
        "Do it.",
        "**Parameters**",
        "- `a`, `b`: Both, \\[0, 1\\].\n- `c` (int): One.",
        "**Examples**",
        "```pycon\n>>> 1\n1\n```",
    ]


def test_a_docstring_becomes_markdown_that_says_the_same() -> None:
    text = markdown("""What it is, with 2*x*y <= 1 and [c0]+.

    In round t::

        p = w / sum w

        q = p

    >>> 1 + 1
    2
    """)
    assert text.split("\n\n") == [
        r"What it is, with 2\*x\*y &lt;= 1 and \[c0\]+.",
        "In round t:",
        "```text\np = w / sum w",
        "q = p\n```",
        "```pycon\n>>> 1 + 1\n2\n```",
    ]


def test_a_long_sentence_of_an_example_is_wrapped_and_a_table_is_not() -> None:
    code, table = ">>> print(" + "x" * 100 + ")", " a" + " " * 100 + "b"
    page = f"```pycon\n{code}\n{'word ' * 30}\n{table}\n\n```\n"
    lines = wrap_output(page).splitlines()
    assert lines[1] == code
    assert table in lines
    assert max(len(line) for line in lines if "word" in line) <= 88
    assert wrap_output(page).split() == page.split()
    assert wrap_output("```pycon\n>>> f()  # doctest: +ELLIPSIS\n1\n```") == "```pycon\n>>> f()\n1\n```"
    assert wrap_output("```pycon\n>>> f()\n1\n<BLANKLINE>\n2\n```") == "```pycon\n>>> f()\n1\n\n2\n```"


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda page: page.name)
def test_every_example_is_in_a_fence(page: Path) -> None:
    outside = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert ">>>" not in outside  # Markdown would show it as a quotation


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.name)
def test_the_class_of_a_paragraph_has_a_line_of_its_own(page: Path) -> None:
    lines = [line for line in page.read_text().splitlines() if re.search(r"\{ \.\w+ \}$", line)]
    assert all(line.startswith("{") for line in lines)  # Markdown would show it as text


# Formulas ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("[E V_j]+ <= sqrt(A (T + B))", r"[\mathbb{E}\, V_{j}]_+  \le  \sqrt{A (T + B)}"),
        ("c0_j - p_t.c_{t,j}", r"c_{0,j} - p_{t}\cdot c_{t,j}"),
        ("T^(-1/4)", r"T^{-1/4}"),
        ("rhat_{t,i} = r_{t,i}/p_{t,i}", r"\hat{r}_{t,i} = r_{t,i}/p_{t,i}"),
        ("lambda_1, ..., lambda_m", r"\lambda _{1}, \dots , \lambda _{m}"),
        ("P = {p : p.c >= c0}", r"P = \{ p : p\cdot c \ge  c_0\}"),
        ("V^_j", r"\widehat{V}_{j}"),
        ("R~_j(t) <= B_j", r"\tilde{R}_{j}(t) \le  B_{j}"),
        ("p_t ~ exp(G)", r"p_{t} \sim  \exp (G)"),
        ("0.25 T", "0.25 T"),
    ],
)
def test_a_formula_becomes_tex(text: str, formula: str) -> None:
    assert tex(inline(text)) == formula


def test_words_that_end_like_a_hat_stay_words() -> None:
    assert tex("what the step saw", words=True) == r"\text{what} \text{the} \text{step} \text{saw}"
    assert tex("that chat", words=True) == r"\text{that} \hat{c}"


@pytest.mark.parametrize(
    "text", ["hp-lewa", "kappa=0", "source", "best_fixed_play", "lewa.guarantee", "LEWA (a)", "sqrt(T", "p_"]
)
def test_what_is_no_formula_stays_code(text: str) -> None:
    with pytest.raises(NotAFormulaError):
        tex(inline(text))
    page = f"<p><code>{text}</code></p>"
    assert typeset(page) == page


def test_every_formula_of_the_proofs_has_matching_brackets_and_known_commands() -> None:
    known = {
        "sqrt",
        "mathbb",
        "mathrm",
        "widehat",
        "hat",
        "bar",
        "tilde",
        "cdot",
        "varepsilon",
        "text",
        "operatorname",
        "{",
        "}",
    }
    known |= {
        *GREEK,
        "ln",
        "log",
        "exp",
        "max",
        "min",
        "inf",
        "sup",
        "sum",
        "prod",
        "in",
        "le",
        "ge",
        "ne",
        "to",
        "leftarrow",
    }
    known |= {"dots", "sim", "%", "#", "&", ",", ";", " ", "cosh", "sinh", "Lambda"}
    typeset_count = 0
    for document in (ROOT / "docs").glob("theory*.md"):
        text = re.sub("```.*?```", "", document.read_text(), flags=re.DOTALL)
        for span in re.findall("`([^`]+)`", text):
            try:
                formula = tex(inline(" ".join(span.split())))
            except NotAFormulaError:
                continue
            typeset_count += 1
            bare = re.sub(r"\\[{}]", "", formula)
            assert bare.count("{") == bare.count("}"), span
            assert set(re.findall(r"\\([A-Za-z]+|.)", formula)) <= known, span
    assert typeset_count > 1000


def test_the_files_that_typeset_are_those_of_katex() -> None:
    folder = ROOT / "docs" / "assets" / "katex"
    sums = [line.split() for line in (folder / "SHA256SUMS").read_text().splitlines()]
    assert all(sha256((folder / name).read_bytes()).hexdigest() == digest for digest, name in sums)
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.*")} - {"formulas.js"} <= {
        name for _, name in sums
    }
