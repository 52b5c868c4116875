"""The errors of Fieldmark, one tree.

    FieldmarkError
    ├── UsageError                 2  the request itself makes no sense
    │   └── ConfigError               an unknown or malformed setting
    ├── MissingRequirement         3  something needed is not there
    │   ├── MissingDependency         a package of an extra
    │   ├── MissingKnowledgeBase      no knowledge base at that path
    │   ├── MissingContact            a Wikimedia request without a contact address
    │   ├── SpaceMismatch             a knowledge base of another encoder space
    │   ├── NotCached                 offline, a reply that the cache does not hold
    │   └── KnowledgeBaseLocked     * another process is writing to it
    ├── BadInput                   5  what was given cannot be used
    │   ├── UnknownTaxon              with suggestions
    │   ├── BadImage                  truncated, giant, empty, or no picture at all
    │   └── NothingReadable           no item of a batch could be read
    ├── SourceError                6  a wiki or another provider failed
    │   ├── SourceUnavailable       * down, slow, 5xx
    │   │   ├── ConnectionRefused   * the connection was refused
    │   │   └── ReplyLost           * a model was asked, and no whole reply came
    │   ├── RateLimited             * 429, or a database lag that does not end
    │   ├── MalformedAnswer           something else than the promised format
    │   │   ├── TooLarge              longer than what is taken
    │   │   └── TooManyUnscored       a judge could not tell too often
    │   ├── UnsupportedParameter      a server does not know a parameter
    │   ├── PageNotFound
    │   └── Refused                   a model will not answer
    ├── CostStop                   7  going on could pass the limit of cost
    └── StoreError                 1  ledger, Chroma, files and cache disagree
        └── ChromaDiffers             Chroma lacks rows of the ledger, or has others

The number is the exit code of the command line; `*` marks what is worth another try (`retryable`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar


class FieldmarkError(Exception):
    """Base of all errors that Fieldmark raises on purpose; `hint` tells the user what to do."""

    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(FieldmarkError):
    """The request itself makes no sense: contradicting or missing arguments."""

    exit_code = 2


class ConfigError(UsageError):
    """A setting is unknown or has a value of the wrong kind."""


class MissingRequirement(FieldmarkError):
    """Something that is needed is not there."""

    exit_code = 3


class MissingDependency(MissingRequirement):
    """A package is not installed; the message holds the pip line that installs it."""

    def __init__(self, package: str, *, extra: str) -> None:
        super().__init__(f"{package} is not installed", hint=f"in Fieldmark's folder: pip install '.[{extra}]'")
        self.package = package
        self.extra = extra


class MissingKnowledgeBase(MissingRequirement):
    """There is no knowledge base at the path."""

    def __init__(self, path: Path, *, why: str = "there is no knowledge base", hint: str | None = None) -> None:
        super().__init__(f"{why} at {path}", hint=hint or f"build one: kb build --taxon Aves --kb {path}")
        self.path = path


class MissingContact(MissingRequirement):
    """Wikimedia wants a contact address in the User-Agent, and none is set."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"{host} asks every program for a contact address, and none is set",
            hint="export FIELDMARK_CONTACT='you@example.org' (or --contact); it goes into the User-Agent",
        )


class SpaceMismatch(MissingRequirement):
    """Vectors of one encoder space were offered to a store of another."""

    def __init__(self, *, expected: Sequence[str], given: Sequence[str], hint: str | None = None) -> None:
        super().__init__(
            f"the knowledge base was built in the encoder space {', '.join(expected) or '(none)'}; "
            f"the encoders given speak {', '.join(given) or '(none)'}",
            hint=hint or "build it anew with the same profile, or use the profile it was built with",
        )


class KnowledgeBaseLocked(MissingRequirement):
    """Another process is writing to the knowledge base."""

    retryable = True


class BadInput(FieldmarkError):
    """Unusable input."""

    exit_code = 5


class UnknownTaxon(BadInput):
    """No taxon of that name; `suggestions` are the nearest names known."""

    def __init__(self, name: str, *, suggestions: Sequence[str] = (), where: str = "the taxonomy") -> None:
        nearest = f"did you mean {', '.join(suggestions)}?" if suggestions else None
        super().__init__(f"{where} knows no taxon {name!r}", hint=nearest)
        self.name = name
        self.suggestions = tuple(suggestions)


class BadImage(BadInput):
    """A picture is truncated, too large, empty, of a format not allowed, or no picture at all."""


class NothingReadable(BadInput):
    """Not one item of a batch could be read."""


class SourceError(FieldmarkError):
    """A wiki or another provider failed."""

    exit_code = 6


class SourceUnavailable(SourceError):
    """The provider is down, too slow, or answers 5xx."""

    retryable = True


class ConnectionRefused(SourceUnavailable):
    """The connection was refused: at the provider's address nothing runs, not yet or not any more."""


class ReplyLost(SourceUnavailable):
    """The request went out and no whole reply came back: the provider may have worked, and may charge for it."""


class UnsupportedParameter(SourceError):
    """The server of a model does not know the parameter of this name."""

    def __init__(self, message: str, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter


class RateLimited(SourceError):
    """The provider says that we ask too often; `retry_after_s` is its own wish, where it gave one."""

    retryable = True

    def __init__(self, message: str, *, retry_after_s: float | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s


class MalformedAnswer(SourceError):
    """The provider answered with something else than the promised format, such as HTML for JSON."""


class TooLarge(MalformedAnswer):
    """The answer is longer than what is taken."""


class TooManyUnscored(MalformedAnswer):
    """A judge could not tell for more answers of a query than may be missing."""


class PageNotFound(SourceError):
    """The wiki has no such page."""


class Refused(SourceError):
    """A model declined to answer; asked again, it would decline again."""


class NotCached(MissingRequirement):
    """Offline, replies come from the cache alone, and this one is not there."""


class CostStop(FieldmarkError):
    """The next request could pass the limit of cost; what was paid for is kept."""

    exit_code = 7


class StoreError(FieldmarkError):
    """Ledger, Chroma, files and cache of a knowledge base do not agree."""


class ChromaDiffers(StoreError):
    """Chroma lacks rows of the ledger, or has others."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint with the known name nearest to a word, else with all of them."""
    from difflib import get_close_matches

    known = list(known)
    near = get_close_matches(word, known, n=1)
    return f'Did you mean "{near[0]}"?' if near else f"Known: {', '.join(known) or 'none'}."
