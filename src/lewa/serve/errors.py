"""Refusals, each one sentence with its HTTP status."""


class RequestError(Exception):
    """An invalid request. `retry_after` is in seconds."""

    def __init__(self, status: int, sentence: str, retry_after: float | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.retry_after = status, sentence, retry_after


class UnavailableError(RequestError):
    """A valid request that should be sent again in a moment."""

    def __init__(self, sentence: str, retry_after: float = 1.0) -> None:
        super().__init__(503, sentence, retry_after)
