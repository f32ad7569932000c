"""The decisions of one call: queries that ask for nothing special are drawn together, the others one by one."""

from collections.abc import Sequence

from lewa.journal.rows import Entry, KeyRow
from lewa.serve.bodies import DecisionBody
from lewa.serve.pace import Pace
from lewa.serve.schema import Query
from lewa.serve.served import Served

EMPTY = Query()
Made = tuple[int, DecisionBody] | str | int  # a decision, a refusal, or the decision that a key had before


class Drawing:
    """The results of a call, in the order of its queries."""

    def __init__(self, served: Served, at: int) -> None:
        self._served, self._at = served, at
        self.entries: list[Entry] = []
        self.keys: list[KeyRow] = []
        self.made: list[Made] = []
        self._run: list[Query] = []  # queries that wait to be drawn together
        self._keys: set[str] = set()  # and their keys

    def draw(self, queries: Sequence[Query | str], pace: Pace) -> None:
        """Draw an action for each query, as many as a moment allows. A text stands for a refused query."""
        bulk = len(queries) > 1 and self._served.hosted.in_bulk()
        for part in pace.parts(queries):
            self._draw_part(part, bulk)

    def _draw_part(self, part: Sequence[Query | str], bulk: bool) -> None:
        for query in part:
            if isinstance(query, str):
                self._draw_run()
                self.made.append(query)
            elif bulk and self._is_plain(query):
                self._run.append(query)
                if query.key is not None:
                    self._keys.add(query.key)
            else:
                self._draw_run()
                self._draw_one(query)
        self._draw_run()

    def _is_plain(self, query: Query) -> bool:
        """Whether a query asks for nothing special, and for a decision that was not made before."""
        if query == EMPTY:
            return True
        special = (query.available, query.context, query.reserve, query.advice, query.if_unused)
        if query.key is None or any(part is not None for part in special):
            return False
        return query.key not in self._keys and self._served.known_key(query.key, self._at) is None

    def _draw_run(self) -> None:
        if not self._run:
            return
        entries, decisions = self._served.hosted.decide_many(self._run, self._at)
        self.entries += entries
        self.made += decisions
        if self._keys:
            for query, (number, _) in zip(self._run, decisions, strict=True):
                self._remember(query.key, number)
        self._run, self._keys = [], set()

    def _draw_one(self, query: Query) -> None:
        known = None if query.key is None else self._served.known_key(query.key, self._at)
        if known is not None:
            self.made.append(known)
            return
        try:
            entries, number, body = self._served.hosted.decide(query, self._at)
        except ValueError as error:
            self.made.append(str(error))
            return
        self.entries += entries
        self.made.append((number, body))
        self._remember(query.key, number)

    def _remember(self, key: str | None, number: int) -> None:
        if key is not None:
            self.keys.append(self._served.remember_key(key, number, self._at))
