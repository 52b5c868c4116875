"""The errors of Fieldmark: `exit_code` is that of `kb`, and `retryable` ones are worth a retry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

CONVERT_HINT: Final = "A published data set goes through `python -m papers convert`, from a checkout of Fieldmark."


class FieldmarkError(Exception):
    """Base of all errors that Fieldmark raises on purpose; `hint` is the remedy."""

    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str | None = None, may_adapt: bool = False) -> None:
        super().__init__(message)
        self.hint = hint
        self.may_adapt = may_adapt
        """Whether a model server may take the request without an optional part."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Let errors come back from other processes, whatever arguments their class takes."""
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[FieldmarkError], args: tuple[object, ...], values: dict[str, object]) -> FieldmarkError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(values)
    return error


class UsageError(FieldmarkError):
    """Contradicting or missing arguments."""

    exit_code = 2


class ConfigError(UsageError):
    """An unknown setting, or a value of the wrong type."""


class MissingContents(UsageError):
    """A knowledge base lacks the descriptions or reference photos of a preset."""


class MissingRequirement(FieldmarkError):
    """Something that the command needs is missing."""

    exit_code = 3


class MissingDependency(MissingRequirement):
    """A package is not installed; the hint is the pip command."""

    def __init__(self, package: str, *, extra: str) -> None:
        text = f'The extra "{extra}" is missing: {package} is not installed.'
        super().__init__(text, hint=f"In Fieldmark's folder: pip install '.[{extra}]'")


class MissingKnowledgeBase(MissingRequirement):
    """There is no knowledge base at the path."""

    def __init__(self, path: Path, *, why: str = "No knowledge base", hint: str | None = None) -> None:
        super().__init__(
            f"{why} at {path}",
            hint=hint or f"Build one with kb build --kb {path} and --taxon, --list, --category or --names.",
        )


class MissingContact(MissingRequirement):
    """A Wikimedia request without the contact address that Wikimedia asks for."""

    def __init__(self, host: str, given: str = "") -> None:
        found = f'"{given}" is neither an e-mail address nor a URL' if given else "none is set"
        super().__init__(
            f"{host} requires a contact address in the User-Agent, and {found}.",
            hint="Use --contact you@example.org, or export FIELDMARK_CONTACT='you@example.org'.",
        )


class PrivateWiki(MissingRequirement):
    """Whoever asks may not read the wiki."""


class SpaceMismatch(MissingRequirement):
    """Encoders and knowledge base have different vector spaces."""

    def __init__(self, *, expected: Sequence[str], given: Sequence[str], hint: str | None = None) -> None:
        super().__init__(
            f"The knowledge base has vectors of {', '.join(expected) or '(none)'}; "
            f"these encoders make vectors of {', '.join(given) or '(none)'}.",
            hint=hint or "Use the profile it was built with, or build it again with this one.",
        )


class NoEvidence(MissingRequirement):
    """A judge has nothing to go by for a query, whatever the photos; another judge is needed."""


class KeyRejected(MissingRequirement):
    """A server rejects the API key, or, where it `may_adapt`, perhaps only an optional part of the request."""


class NotCached(MissingRequirement):
    """With --offline only cached replies are available, and this one is not cached."""


class KnowledgeBaseLocked(MissingRequirement):
    """Another process is writing to the knowledge base."""

    retryable = True


class BadInput(FieldmarkError):
    """Unusable input."""

    exit_code = 5


class UnknownTaxon(BadInput):
    """No taxon has that name; the hint gives similar names."""

    def __init__(
        self, name: str, *, suggestions: Sequence[str] = (), where: str = "the taxonomy", limits: str = ""
    ) -> None:
        self.name, self.suggestions, self.where, self.limits = name, tuple(suggestions), where, limits
        nearest = f"Did you mean {', '.join(suggestions)}?" if suggestions else ""
        super().__init__(
            f'Unknown taxon "{name}": not in {where}.', hint=" ".join(filter(None, (nearest, limits))) or None
        )


class AmbiguousTaxon(BadInput):
    """Several taxa have that name; the hint gives names that tell them apart."""

    def __init__(self, name: str, *, choices: Sequence[str], where: str, more_with: str = "") -> None:
        shown = ", ".join(f'"{choice}"' for choice in choices[:10])
        more = f" and {len(choices) - 10:,} more" if len(choices) > 10 else ""
        rest = f" ({more_with})" if more and more_with else ""
        super().__init__(f'"{name}" names {len(choices):,} taxa in {where}.', hint=f"Choose one: {shown}{more}{rest}")


class BadImage(BadInput):
    """An image is truncated, too large, empty, of an unsupported format, or not an image."""


class NothingReadable(BadInput):
    """Every item of a batch is unreadable."""


class SourceError(FieldmarkError):
    """A wiki or another provider failed."""

    exit_code = 6


class SourceUnavailable(SourceError):
    """The provider is down, too slow, or answers 5xx."""

    retryable = True


class ConnectionRefused(SourceUnavailable):
    """The provider refused the connection; it may not be running."""


class StillLoading(SourceUnavailable):
    """A model server has not loaded its model yet."""


class ReplyLost(SourceUnavailable):
    """The request was sent but no complete reply arrived; the provider may charge for it."""


class BadRequest(SourceError):
    """A model server refuses a request; where it `may_adapt`, perhaps not without an optional part or tokens."""


class TooManyTokens(BadRequest):
    """A prompt, or with it the tokens asked for, is longer than a model server allows."""


class TooFewTokens(BadRequest):
    """A model server asks for more tokens than the request allows for the reply."""


class RateLimited(SourceError):
    """Too many requests; `retry_after_s` is the wait that the provider asks for, if any."""

    retryable = True

    def __init__(self, message: str, *, retry_after_s: float | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s


class PaidFailure(SourceError):
    """A failure for which replies may have been paid: their known cost, None if the price of the model is unknown."""

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        cost_usd: float | None = 0.0,
        input_tokens: int = 0,
        output_tokens: int = 0,
    ) -> None:
        super().__init__(message, hint=hint)
        self.cost_usd, self.input_tokens, self.output_tokens = cost_usd, input_tokens, output_tokens


class MalformedAnswer(PaidFailure):
    """The answer has an unexpected format, such as HTML instead of JSON."""


class CutOff(MalformedAnswer):
    """A model's reply ended at its limit of tokens; with the tokens and the cost of all tries."""


class TooLarge(MalformedAnswer):
    """The answer exceeds the size limit."""


class TooManyUnscored(MalformedAnswer):
    """Too many answers of a judge are missing."""


class PageNotFound(SourceError):
    """The wiki or site has no such page."""


class Disallowed(SourceError):
    """The robots.txt of a site disallows the page."""


class PrivateAddress(MalformedAnswer):
    """A web page on this machine or its network, which is not allowed by default."""


class Refused(PaidFailure):
    """A model declined to answer; a retry would be declined too."""

    @property
    def has_usage(self) -> bool:
        """Whether the server stated tokens, so that the cost is known."""
        return self.input_tokens + self.output_tokens > 0


class CostStop(FieldmarkError):
    """The next request could exceed the cost limit; results so far are saved."""

    exit_code = 7


class StoreError(FieldmarkError):
    """Ledger, Chroma, matrices and files of a knowledge base disagree."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint with the known name nearest to a word, or with all known names."""
    from data.words import nearest

    known = list(known)
    near = nearest(word, known, 1)
    return f'Did you mean "{near[0]}"?' if near else f"Known: {', '.join(known) or 'none'}."
