"""Formulas of the theory pages, typeset: the ASCII that the Markdown has becomes TeX, which KaTeX renders in the browser.

The Markdown stays as it is, readable in an editor. What is no formula, such as the name of a learner or a setting, stays
code; so does everything where no script runs.
"""

import re
from html import escape, unescape
from itertools import count

GREEK = (
    *(
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "zeta",
        "eta",
        "theta",
        "kappa",
        "lambda",
        "mu",
        "nu",
        "xi",
        "pi",
        "rho",
    ),
    *("sigma", "tau", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Phi", "Psi", "Sigma", "Omega"),
)
NAMES = {
    name: rf"\{name}" for name in (*GREEK, "ln", "log", "exp", "max", "min", "inf", "sup", "sum", "prod", "sinh", "cosh")
}
NAMES |= {
    "eps": r"\varepsilon",
    "Lam": r"\Lambda",
    "argmax": r"\operatorname{argmax}",
    "argmin": r"\operatorname{argmin}",
    "in": r"\in",
}
NAMES |= {name: rf"\mathrm{{{name}}}" for name in ("Regret", "Var", "KL", "Bin", "sign", "lo", "hi", "wl", "OPT", "SA")}
SIGNS = {"<=": r"\le", ">=": r"\ge", "!=": r"\ne", "->": r"\to", "<-": r"\leftarrow", "...": r"\dots", "<": "<", ">": ">"}
WORDS = ("for", "all", "over", "of", "if", "else", "and", "or", "otherwise", "some", "every", "past")  # within a formula
SIGNS |= {
    "..": r"\dots",
    "{": r"\{",
    "}": r"\}",
    "%": r"\%",
    "#": r"\#",
    "&": r"\&",
    "~": r"\sim",
    "*": r"\cdot",
    ":=": ":=",
}
TOKEN = re.compile(r"\.\.\.|\.\.|<=|>=|!=|->|<-|:=|\d+(?:\.\d+)?(?:e-?\d+)?|[A-Za-z]+|\s+|.", re.DOTALL)
HAT = re.compile(r"(?P<letter>[A-Za-z])(?P<kind>hat|bar|tilde)")
WORD = re.compile(r"[A-Za-z]{2,}")
SETTING = re.compile(r"(?<![\w{,])[A-Za-z_]\w*=\S")  # an argument, such as kappa=0
CLOSING = {"(": ")", "{": "}", "[": "]"}


class NotAFormulaError(ValueError):
    """The text is no formula."""


def tex(text: str, words: bool = False) -> str:
    """Return a formula as TeX; words of English are refused unless `words` says that they may stand between formulas."""
    return _Reader(text, words).read().strip()


class _Reader:
    """Reads tokens from left to right; groups are read by a reader of their own."""

    def __init__(self, text: str, words: bool) -> None:
        self.tokens: list[str] = TOKEN.findall(text)
        self.words = words
        self.at = 0

    def read(self) -> str:
        parts = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            parts.append(self.one(token))
        return "".join(parts)

    def one(self, token: str) -> str:
        if token.isspace():
            return " "
        if token == "sqrt" and self.next() == "(":
            return rf"\sqrt{{{self.inner()}}}"
        if token == "c" and self.next() == "0":
            return self.floor()
        if token in ("V", "Regret", "R") and self.next() == "^" and self.after() in ("_", "(", " ", "", "'"):
            self.at += 1
            return rf"\widehat{{{NAMES.get(token, token)}}}"
        if len(token) == 1 and token.isalpha() and self.next() == "~":  # R~, the debt with reserves; "p ~ q" has a space
            self.at += 1
            return rf"\tilde{{{token}}}"
        if token == "V" and self.next() == "+" and self.after() == "_":
            self.at += 1
            return "V^+"
        if token.isalpha() and self.next().isdigit() and token not in NAMES:
            self.at += 1
            return f"{token}_{{{self.tokens[self.at - 1]}}}"
        if token in "^_":
            return f"{token}{{{self.group()}}}"
        if token == "]" and self.next() == "+":
            self.at += 1
            return "]_+ "
        if token == "." and self.between_operands():
            return r"\cdot "
        if token == "E" and (self.next() == "[" or self.next() == "|" or (self.next().isspace() and self.after().isalpha())):
            return r"\mathbb{E}\," if self.next().isspace() else r"\mathbb{E}"
        if token in "{" and not self.closes():
            raise NotAFormulaError(token)
        if token in '`"\\$@;' and not (token == ";" and self.words):
            raise NotAFormulaError(token)
        return SIGNS[token] + " " if token in SIGNS else self.name(token) if token.isalpha() else token

    def name(self, token: str) -> str:
        if len(token) == 1:
            return token
        if token in NAMES:
            return NAMES[token] + " "
        if (hat := HAT.fullmatch(token)) and token not in ("that", "what"):
            return rf"\{hat['kind']}{{{hat['letter']}}}"
        if not self.words and token in WORDS and len(self.tokens) > 3:
            more = "".join(self.tokens[self.at : self.at + 2]).strip() in WORDS
            return rf"\text{{ {token}}}" + ("" if more else r"\ ")
        if not self.words and len(token) > 2:
            raise NotAFormulaError(token)
        if not self.words:  # a product, such as hX
            return token
        return rf"\text{{{token}}}"

    def floor(self) -> str:
        """Read c0, c0_j or c0_{j}."""
        self.at += 1
        if self.next() != "_":
            return "c_0"
        self.at += 1
        return f"c_{{0,{self.group()}}}"

    def group(self) -> str:
        """Read what stands below or above: a group, a number with its sign, or a name."""
        if self.next() in ("{", "("):
            return self.inner()
        sign = ""
        if self.next() in ("-", "*", "'"):
            sign = self.tokens[self.at]
            self.at += 1
            if sign != "-":
                return sign
        if not self.next().strip():
            raise NotAFormulaError("_")
        token = self.tokens[self.at]
        self.at += 1
        if token in ("max", "min") and self.next() == "(":
            return rf"{sign}\{token}({self.inner()})"
        return sign + (self.name(token) if token in NAMES or len(token) == 1 else rf"\mathrm{{{token}}}")

    def inner(self) -> str:
        """Read a group in brackets, without them."""
        opened, depth, start = self.tokens[self.at], 0, self.at + 1
        for place in range(self.at, len(self.tokens)):
            depth += (self.tokens[place] == opened) - (self.tokens[place] == CLOSING[opened])
            if depth == 0:
                self.at = place + 1
                return tex("".join(self.tokens[start:place]), self.words)
        raise NotAFormulaError(opened)

    def closes(self) -> bool:
        return "}" in self.tokens[self.at :]

    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def after(self) -> str:
        return self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else ""

    def between_operands(self) -> bool:
        """Return whether the dot that was just read is an inner product, as in p.c."""
        before = self.tokens[self.at - 2] if self.at > 1 else " "
        return not before.isspace() and (self.next().isalpha() or self.next() in ("(", "["))


# Pages -------------------------------------------------------------------------------------------------------------------

SPAN = re.compile(r"(?P<pre><pre.*?</pre>)|<code>(?P<code>[^<]*)</code>", re.DOTALL)
BLOCK = re.compile(r"<pre[^>]*>(?:<span></span>)?<code[^>]*>(?P<code>.*?)</code></pre>", re.DOTALL)


def typeset(html: str) -> str:
    """Return the page with its formulas marked for KaTeX, and, if there are some, with the files that render them."""
    counter = count()

    def span(match: re.Match[str]) -> str:
        if match["pre"]:
            return block(match["pre"])
        text = unescape(match["code"])
        try:
            return marked(tex(inline(text)), f"<code>{match['code']}</code>")
        except NotAFormulaError:
            return match[0]

    def block(pre: str) -> str:
        match = BLOCK.fullmatch(pre)
        if match is None:
            return pre
        try:
            rows = lines(unescape(re.sub("<[^>]+>", "", match["code"])))
        except NotAFormulaError:
            return pre
        shown = "".join(marked(rf"\displaystyle {row}", "", "div") for row in rows)
        return f'<div class="formulas">{shown}<div class="plain">{pre}</div></div>'  # plain: hidden once formulas are there

    def marked(formula: str, shown: str, tag: str = "span") -> str:
        next(counter)
        return f'<{tag} class="formula" data-tex="{escape(formula)}">{shown}</{tag}>'

    typeset_html = SPAN.sub(span, html)
    return typeset_html + FILES if next(counter) else html


def inline(text: str) -> str:
    """Return the text of a code span, if it looks like a formula."""
    if (
        re.fullmatch(r"\([a-z]\)", text)
        or SETTING.search(text)
        or re.search(r"[A-Za-z]-[A-Za-z]{2}|[A-Za-z]{2}-[A-Za-z]|[A-Za-z]{2}_[A-Za-z]{3}|\.(?:py|md)\b", text)
    ):
        raise NotAFormulaError(text)
    return text


def lines(text: str) -> list[str]:
    """Return the lines of a block, each as TeX; spaces that set columns apart stay."""
    rows = []
    for row in text.rstrip("\n").split("\n"):
        if re.search(r"[A-Za-z]{2}_[A-Za-z]{3}|\bdef\b|>>>|\bif\b.*:$", row):
            raise NotAFormulaError(row)
        parts = [(len(spaces), part) for spaces, part in re.findall(r"( *)((?:[^ ]| (?! ))*)", row) if spaces or part]
        rows.append("".join((rf"\hspace{{{0.5 * gap:g}em}}" if gap else "") + sentence(part) for gap, part in parts))
    return rows


def sentence(part: str) -> str:
    """Return a cell of a line, where words and formulas mix, as TeX."""
    if re.fullmatch(r"\([A-Z]\w?\)", part):  # the name of a formula
        return words(part)
    pieces = re.split(r"(\s+)", part)
    joined: list[str] = []
    for piece in pieces:
        word = WORD.fullmatch(piece.strip(",.;:()"))
        english = word is not None and word[0] not in NAMES and not HAT.fullmatch(word[0]) and word[0] != "sqrt"
        if english and joined and joined[-1].startswith("\0"):
            joined[-1] += piece
        elif english:
            joined.append("\0" + piece)
        elif piece.isspace() and joined and joined[-1].startswith("\0"):
            joined[-1] += " "
        else:
            joined += [piece] if not joined or joined[-1].startswith("\0") else []
            if joined[-1] is not piece:
                joined[-1] += piece
    return "".join(words(piece[1:]) if piece.startswith("\0") else tex(piece, words=True) for piece in joined)


def words(text: str) -> str:
    """Return words of English as TeX."""
    if re.search(r"[\\{}$%#&_^~]", text):
        raise NotAFormulaError(text)
    return rf"\;\text{{{text}}}\;"


FILES = """
<link rel="stylesheet" href="assets/katex/katex.min.css">
<script defer src="assets/katex/katex.min.js"></script>
<script defer src="assets/katex/formulas.js"></script>
"""
