"""The client of pages is polite, keeps to public addresses and gives up with a clear error."""

from collections.abc import Callable

import pytest

from data import errors
from data.errors import Disallowed, MalformedAnswer, MissingContact, PageNotFound, PrivateAddress, SourceUnavailable
from kb.addresses import PageSettings
from kb.http import RetryPolicy, is_public
from kb.sources.web_pages import PageClient
from tests.servers.ugly_site import Reply, UglySite

Connect = Callable[..., PageClient]


@pytest.fixture
def connect(request: pytest.FixtureRequest) -> Connect:
    """Return a maker of clients; by default without a pause, and with this machine allowed."""

    def make(*, pause_s: float = 0.0, private_addresses: bool = True, contact: str | None = None) -> PageClient:
        settings = PageSettings(pause_s=pause_s, private_addresses=private_addresses)
        client = PageClient(contact=contact, settings=settings, retry=RetryPolicy(first_wait_s=0.01, tries=3))
        request.addfinalizer(client.close)
        return client

    return make


def test_robots_are_asked_once_and_obeyed_with_the_contact(site: UglySite, connect: Connect) -> None:
    site.robots = "User-agent: other\nDisallow: /\n\nUser-agent: fieldmark\nDisallow: /no\nAllow: /no/but\n"
    client = connect(contact="ann@example.org")
    client.fetch(site.url("/mallard"))
    with pytest.raises(Disallowed, match=r"robots\.txt of 127"):
        client.fetch(site.url("/no/such"))
    with pytest.raises(PageNotFound):
        client.fetch(site.url("/no/but"))
    assert [path for path, _ in site.requests] == ["/robots.txt", "/mallard", "/no/but"]
    assert client.n_requests == 3
    [agent] = {headers["User-Agent"] for _, headers in site.requests}
    assert agent.startswith("fieldmark/") and "(ann@example.org)" in agent
    with pytest.raises(MissingContact):
        connect().fetch("https://en.wikipedia.org/wiki/Mallard")
    site.robots = "User-agent: *\nDisallow: /mallard\n"
    with pytest.raises(Disallowed):
        connect().fetch(site.url("/moved"))
    assert site.asked[3:] == []  # a redirect to a disallowed page is not followed
    for site.robots, site.robots_status in ((None, 401), (None, 403), (None, 404)):
        assert connect().fetch(site.url("/mallard"))[2]


def test_unreachable_or_excessive_robots_forbid_all(site: UglySite, connect: Connect) -> None:
    """RFC 9309, section 2.3.1.4: unreachable rules mean that nothing is allowed."""
    site.robots_status = 500
    client = connect()
    for _ in range(2):
        with pytest.raises(SourceUnavailable, match="500"):
            client.fetch(site.url("/mallard"))
    assert len(site.requests) == 3, "three tries for the first page, none for the second"
    site.robots = "User-agent: *\nCrawl-delay: 86400\n"
    with pytest.raises(MalformedAnswer, match="86400 s between requests"):
        connect().fetch(site.url("/mallard"))
    assert site.asked == []


def test_requests_to_a_host_are_spaced(site: UglySite, connect: Connect) -> None:
    crawl_delay, request_rate = ("User-agent: *\n" + line for line in ("Crawl-delay: 0.1\n", "Request-rate: 10/1\n"))
    for site.robots, pause_s in (("", 0.1), (crawl_delay, 0.0), (request_rate, 0.0)):
        client, before = connect(pause_s=pause_s), len(site.times)
        for path in ("/mallard", "/gzip"):
            client.fetch(site.url(path))
        assert site.times[before + 2] - site.times[before + 1] > 0.095, site.robots


def test_a_request_is_repeated_and_an_error_says_what_happened(site: UglySite, connect: Connect) -> None:
    for path in ("/busy-once", "/broken-once"):
        assert connect().fetch(site.url(path))[2]
    assert site.asked == ["/busy-once", "/busy-once", "/broken-once", "/broken-once"]
    refusals: dict[str, tuple[type[errors.SourceError], str, int]] = {
        "/busy": (errors.RateLimited, "retry after 3600 s", 1),
        "/broken": (SourceUnavailable, "500", 3),
        "/forbidden": (MalformedAnswer, "403", 1),
        "/nowhere": (PageNotFound, "404", 1),
        "/truncated": (SourceUnavailable, "closed the connection early", 3),
        "/loop": (MalformedAnswer, "endlessly", 6),
        "/to-file": (MalformedAnswer, "not allowed", 1),
        "/bomb": (errors.TooLarge, "20,000,000", 1),
    }
    for path, (error, message, n_asked) in refusals.items():
        before = len(site.asked)
        with pytest.raises(error, match=message):
            connect().fetch(site.url(path))
        assert len(site.asked) == before + n_asked, path


def test_private_addresses_are_refused_before_any_request(
    site: UglySite, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = connect(private_addresses=False)
    for url in (site.url("/mallard"), site.url("/mallard").replace("127.0.0.1", "localhost")):
        with pytest.raises(PrivateAddress, match="private_addresses=true"):
            client.fetch(url)
    assert site.requests == []
    inner = ("10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "169.254.169.254", "224.0.0.1", "::1")
    assert [is_public(address) for address in ("93.184.215.14", "2606:4700::1111", *inner)] == [True] * 2 + [False] * 7
    # The address that the site listens on stands for a public one.
    monkeypatch.setattr("kb.http.is_public", lambda address: address == "127.0.0.1")
    client = connect(private_addresses=False)
    assert client.fetch(site.url("/moved"))[2]
    target = site.url("/mallard").replace("127.0.0.1", "127.0.0.2")
    site.pages["/inside"] = Reply(status=302, headers={"Location": target})
    before = len(site.requests)
    with pytest.raises(PrivateAddress):
        client.fetch(site.url("/inside"))
    assert [path for path, _ in site.requests[before:]] == ["/inside"]


def test_the_address_that_was_checked_is_the_one_connected_to(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that changes its address between check and connection gains nothing."""
    answers, connected = iter(["93.184.215.14", "127.0.0.1"]), []

    def connect_tcp(_self: object, host: str, *_: object, **__: object) -> None:
        connected.append(host)
        raise OSError

    answer = lambda host, port, **_: [(2, 1, 6, "", (next(answers), port))]  # noqa: E731
    monkeypatch.setattr("kb.http.socket.getaddrinfo", answer)
    monkeypatch.setattr("httpcore.SyncBackend.connect_tcp", connect_tcp)
    with pytest.raises(OSError):
        connect(private_addresses=False).fetch("http://rebinding.example/")
    assert connected == ["93.184.215.14"] and list(answers) == ["127.0.0.1"]
