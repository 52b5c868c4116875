"""The client of pages is polite, keeps to public addresses and gives up with a clear error."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from data.errors import (
    Disallowed,
    MalformedAnswer,
    MissingContact,
    PageNotFound,
    PrivateAddress,
    RateLimited,
    SourceError,
    SourceUnavailable,
    TooLarge,
)
from kb.sources.web.client import PageClient
from tests.servers.ugly_site import Reply, UglySite, page

Connect = Callable[..., PageClient]


def test_the_user_agent_has_the_contact(site: UglySite, connect: Connect) -> None:
    connect(contact="ann@example.org").fetch(site.url("/mallard"))
    agents = {headers["User-Agent"] for _, headers in site.requests}
    assert len(agents) == 1
    assert agents.pop().startswith("fieldmark/")
    assert all("(ann@example.org)" in headers["User-Agent"] for _, headers in site.requests)


def test_robots_are_asked_once_and_obeyed(site: UglySite, connect: Connect) -> None:
    site.robots = "User-agent: other\nDisallow: /\n\nUser-agent: fieldmark\nDisallow: /no\nAllow: /no/but\n"
    client = connect()
    client.fetch(site.url("/mallard"))
    with pytest.raises(Disallowed, match=r"robots\.txt of 127"):
        client.fetch(site.url("/no/such"))
    with pytest.raises(PageNotFound):
        client.fetch(site.url("/no/but"))
    assert [path for path, _ in site.requests] == ["/robots.txt", "/mallard", "/no/but"]


def test_a_redirect_to_a_disallowed_page_is_not_followed(site: UglySite, connect: Connect) -> None:
    site.robots = "User-agent: *\nDisallow: /mallard\n"
    with pytest.raises(Disallowed):
        connect().fetch(site.url("/moved"))
    assert site.asked == ["/moved"]


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_site_without_readable_robots_allows_all(site: UglySite, connect: Connect, status: int) -> None:
    site.robots_status = status
    assert connect().fetch(site.url("/mallard")).content is not None


def test_broken_robots_forbid_all(site: UglySite, connect: Connect) -> None:
    """RFC 9309, section 2.3.1.4: unreachable rules mean that nothing is allowed."""
    site.robots_status = 500
    client = connect()
    for _ in range(2):
        with pytest.raises(SourceUnavailable, match="500"):
            client.fetch(site.url("/mallard"))
    assert site.asked == []
    assert len(site.requests) == 3, "three tries for the first page, none for the second"


@pytest.mark.parametrize(("robots", "pause_s"), [("", 0.2), ("User-agent: *\nCrawl-delay: 0.2\n", 0.0)])
def test_requests_to_a_host_are_spaced(site: UglySite, connect: Connect, robots: str, pause_s: float) -> None:
    site.robots = robots
    client = connect(pause_s=pause_s)
    for path in ("/mallard", "/gzip", "/no-title"):
        client.fetch(site.url(path))
    between = [later - earlier for earlier, later in zip(site.times[1:], site.times[2:], strict=False)]
    assert min(between) > 0.19


def test_an_excessive_crawl_delay_is_refused(site: UglySite, connect: Connect) -> None:
    site.robots = "User-agent: *\nCrawl-delay: 86400\n"
    with pytest.raises(MalformedAnswer, match="86400 s between requests"):
        connect().fetch(site.url("/mallard"))


@pytest.mark.parametrize("path", ["/busy-once", "/broken-once"])
def test_a_request_is_repeated(site: UglySite, connect: Connect, path: str) -> None:
    assert connect().fetch(site.url(path)).content is not None
    assert site.asked == [path, path]


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ("/busy", RateLimited, "retry after 3600 s"),
        ("/broken", SourceUnavailable, "500"),
        ("/forbidden", MalformedAnswer, "403"),
        ("/nowhere", PageNotFound, "404"),
        ("/truncated", SourceUnavailable, "closed the connection early"),
        ("/loop", MalformedAnswer, "endlessly"),
        ("/to-file", MalformedAnswer, "not allowed"),
        ("/bomb", TooLarge, "20,000,000"),
    ],
)
def test_an_error_says_what_happened(
    site: UglySite, connect: Connect, path: str, error: type[SourceError], message: str
) -> None:
    with pytest.raises(error, match=message):
        connect().fetch(site.url(path))


def test_a_busy_host_gets_no_other_request(site: UglySite, connect: Connect) -> None:
    client = connect()
    with pytest.raises(RateLimited):
        client.fetch(site.url("/busy"))
    with pytest.raises(RateLimited, match="accepts no requests"):
        client.fetch(site.url("/mallard"))
    assert site.asked == ["/busy"]


def test_private_addresses_are_refused_before_any_request(site: UglySite, connect: Connect) -> None:
    client = connect(private_addresses=False)
    for url in (site.url("/mallard"), site.url("/mallard").replace("127.0.0.1", "localhost")):
        with pytest.raises(PrivateAddress, match="private_addresses=true"):
            client.fetch(url)
    assert site.requests == []


def test_a_redirect_to_a_private_address_is_refused(
    site: UglySite, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address that the site listens on stands for a public one."""
    monkeypatch.setattr("kb.connections.is_public", lambda address: address == "127.0.0.1")
    client = connect(private_addresses=False)
    assert client.fetch(site.url("/moved")).content is not None
    site.pages["/inside"] = Reply(
        status=302, headers={"Location": site.url("/mallard").replace("127.0.0.1", "127.0.0.2")}
    )
    before = len(site.requests)
    with pytest.raises(PrivateAddress):
        client.fetch(site.url("/inside"))
    assert [path for path, _ in site.requests[before:]] == ["/inside"]


def test_the_address_that_was_checked_is_the_one_connected_to(
    site: UglySite, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that changes its address between check and connection gains nothing."""
    answers = iter(["93.184.215.14", "127.0.0.1"])
    asked = []

    def getaddrinfo(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        asked.append(host)
        return [(2, 1, 6, "", (next(answers), port))]

    connected = []

    def connect_tcp(_self: object, host: str, *_: object) -> None:
        connected.append(host)
        raise OSError

    monkeypatch.setattr("kb.connections.socket.getaddrinfo", getaddrinfo)
    monkeypatch.setattr("httpcore.SyncBackend.connect_tcp", connect_tcp)
    with pytest.raises(OSError):
        connect(private_addresses=False).fetch("http://rebinding.example/")
    assert (asked, connected) == (["rebinding.example"], ["93.184.215.14"])


def test_wikimedia_requires_a_contact(connect: Connect) -> None:
    with pytest.raises(MissingContact):
        connect().fetch("https://en.wikipedia.org/wiki/Mallard")


def test_an_unchanged_page_is_not_sent_again(site: UglySite, connect: Connect) -> None:
    client = connect()
    first = client.fetch(site.url("/mallard"))
    assert first.validators == {"If-None-Match": '"1"'}
    assert client.fetch(site.url("/mallard"), first.validators).content is None
    site.pages["/mallard"] = Reply(body=page("<p>New</p>"), headers={"ETag": '"2"'})
    changed = client.fetch(site.url("/mallard"), first.validators).content
    assert changed is not None and b"New" in changed
