"""Checks of addresses: http or https, on the wiki itself or on Wikimedia, which requires a contact."""

from __future__ import annotations

from data.errors import MalformedAnswer, MissingContact, UsageError
from kb.http import is_loopback, split_address

WIKIMEDIA_DOMAINS = (
    "wikipedia.org", "wikimedia.org", "wiktionary.org", "wikidata.org", "wikibooks.org", "wikiquote.org",
    "wikisource.org", "wikiversity.org", "wikivoyage.org", "wikinews.org", "wikifunctions.org", "mediawiki.org",
    "wmcloud.org", "wmflabs.org", "toolforge.org",
)  # fmt: skip


def host_of(url: str) -> str:
    """Return host and port of an address, without user name and password.

    Example:
        >>> host_of("http://me:secret@birds.example:8080/api.php?a=b")
        'birds.example:8080'
    """
    parts = split_address(url)
    try:
        port = parts.port
    except ValueError:
        port = None
    host = parts.hostname or "(no host)"
    return f"{host}:{port}" if port else host


def check_url(url: str) -> None:
    """Check that `url` is an http or https address with a host.

    Raises:
        UsageError: if it is not.
    """
    parts = split_address(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(
            f"Expected an http or https address, got {url.split('?')[0].rsplit('@', 1)[-1]!r}",
            hint="Give the address of a wiki's api.php, such as https://en.wikipedia.org/w/api.php.",
        )


def check_redirect(url: str, *, origin: str) -> None:
    """Check that the wiki at `origin` may redirect to `url`: to its own host, or to Wikimedia over https.

    On its own host the port must be its own or a default one, since others belong to other services. A wiki on loopback
    may redirect to any port there; no other wiki may redirect to this machine or its network.

    Raises:
        MalformedAnswer: if the redirect is not allowed.
    """
    parts, own = split_address(url), split_address(origin)
    host, own_host = (parts.hostname or "").lower(), (own.hostname or "").lower()
    is_downgrade = own.scheme == "https" and parts.scheme == "http"  # would expose the request
    port = _port_of(url)
    is_own = host == own_host and port is not None and port in (_port_of(origin), 80, 443)
    is_known = is_own or is_wikimedia(url) or (is_loopback(host) and is_loopback(own_host))
    if parts.scheme not in ("http", "https") or not host or is_downgrade or not is_known:
        raise MalformedAnswer(
            f"{host_of(origin)} redirects to {parts.scheme or 'no scheme'}://{host_of(url)}, which is not allowed"
        )


def _port_of(url: str) -> int | None:
    """Return the port of an address, None for an impossible one."""
    parts = split_address(url)
    try:
        return parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None


def is_wikimedia(url: str) -> bool:
    """Return whether an address belongs to Wikimedia.

    Example:
        >>> is_wikimedia("https://en.wikipedia.org/w/api.php"), is_wikimedia("https://notwikipedia.org/")
        (True, False)
    """
    host = (split_address(url).hostname or "").lower().rstrip(".")
    return any(host == domain or host.endswith("." + domain) for domain in WIKIMEDIA_DOMAINS)


def require_contact(url: str, contact: str | None) -> None:
    """Check that the host may be contacted.

    Raises:
        MissingContact: if it is Wikimedia's and there is no e-mail address or URL for the User-Agent.
    """
    given = (contact or "").strip()
    if is_wikimedia(url) and not ("@" in given or "://" in given):
        raise MissingContact(host_of(url), given)
