"""The wiki client over real HTTP: rate limits, retries and messages."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from data.errors import (
    MalformedAnswer,
    MissingContact,
    PageNotFound,
    RateLimited,
    SourceError,
    SourceUnavailable,
    UsageError,
)
from kb.http import parse_retry_after
from kb.sources.mediawiki.client.hosts import check_redirect
from kb.sources.mediawiki.client.retry import RetryPolicy
from kb.sources.mediawiki.client.wiki_client import Timeouts, WikiClient
from tests.servers.faulty_wiki import Fault, FaultyWiki, File, busy, html_page, jpeg, lagging
from tests.servers.free_port import free_port

QUICK = RetryPolicy(tries=4, tries_at_first=2, first_wait_s=0.01, longest_wait_s=2.0, total_s=5.0)


@pytest.fixture
def wiki() -> Iterator[FaultyWiki]:
    with FaultyWiki().running() as wiki:
        wiki.pages["Red bird"] = "<p>It is red.</p>"
        yield wiki


@pytest.fixture
def client(wiki: FaultyWiki) -> Iterator[WikiClient]:
    client = WikiClient(wiki.api_url, retry=QUICK)
    yield client
    client.close()


@pytest.fixture
def hasty(wiki: FaultyWiki) -> Iterator[WikiClient]:
    """A client with a read timeout of two seconds, which still suffices on a slow machine."""
    client = WikiClient(wiki.api_url, retry=QUICK, timeouts=Timeouts(connect_s=5, read_s=2, total_s=6))
    yield client
    client.close()


def test_every_request_sends_polite_parameters_and_headers(wiki: FaultyWiki, client: WikiClient) -> None:
    """These are maxlag, format version 2, gzip, and a User-Agent with Fieldmark, contact and library."""
    client.parse_page("Red bird")
    polite = WikiClient(wiki.api_url, contact="birds@example.org")
    polite.parse_page("Red bird")
    polite.close()
    assert {k: wiki.requests[0][k] for k in ("maxlag", "format", "formatversion", "redirects")} == {
        "maxlag": "5", "format": "json", "formatversion": "2", "redirects": "1",
    }  # fmt: skip
    headers = wiki.headers[1]
    assert "gzip" in headers["Accept-Encoding"]
    agent = headers["User-Agent"]
    assert agent.startswith("fieldmark/")
    assert "(birds@example.org)" in agent
    assert "Wikipedia-API/" in agent


@pytest.mark.integration
def test_library_methods_use_the_same_client(wiki_api_url: str) -> None:
    client = WikiClient(wiki_api_url)
    page = client.page("Baikal teal")
    assert page.exists()
    assert "duck" in page.summary
    assert client.n_requests == 2
    client.close()


@pytest.mark.parametrize(
    "fault",
    [
        busy("0"),
        busy(),
        busy("0", status=503),
        Fault(status=502, body=b"bad gateway"),
        lagging(),
        Fault(cut_at=20),
        Fault(body=b'{"parse": {"title": "Re', headers={"Content-Type": "application/json"}),
        html_page(),
    ],
    ids=["429-now", "429", "503", "502", "maxlag", "cut-off", "half-json", "html"],
)
def test_a_transient_failure_is_retried(wiki: FaultyWiki, client: WikiClient, fault: Fault) -> None:
    client.parse_page("Red bird")
    wiki.faults = [fault]
    assert client.parse_page("Red bird")["text"] == "<p>It is red.</p>"
    assert client.n_requests == 3


def test_a_stalled_request_is_retried(wiki: FaultyWiki, hasty: WikiClient) -> None:
    hasty.parse_page("Red bird")
    wiki.faults = [Fault(stall_s=60)]
    assert hasty.parse_page("Red bird")["text"] == "<p>It is red.</p>"
    assert hasty.n_requests == 3


def test_all_threads_obey_retry_after(wiki: FaultyWiki, client: WikiClient) -> None:
    """After one thread gets a Retry-After of one second, no thread sends a request within that second."""
    client.parse_page("Red bird")
    wiki.faults = [busy("1")]
    refused, other = (threading.Thread(target=client.parse_page, args=("Red bird",)) for _ in range(2))
    refused.start()
    while not client._retrier._not_before:  # until the first thread has read its refusal
        time.sleep(0.01)
    other.start()
    for thread in (refused, other):
        thread.join()
    _, refused_at, *later = wiki.times
    assert len(later) == 2
    assert min(later) - refused_at >= 1.0


def test_a_retry_after_may_be_a_date() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    later = format_datetime(now + timedelta(seconds=90), usegmt=True)
    assert parse_retry_after(later, now=now) == 90
    assert parse_retry_after(format_datetime(now - timedelta(days=1), usegmt=True), now=now) == 0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1.5", 1.5),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        ("Wed, 21 Oct 99999999999 07:28:00 GMT", None),
    ],
)
def test_a_retry_after_is_a_finite_number_of_seconds(value: str, expected: float | None) -> None:
    assert parse_retry_after(value) == expected


def test_a_long_retry_after_fails_at_once(wiki: FaultyWiki, client: WikiClient) -> None:
    wiki.always = busy("3600")
    started = time.monotonic()
    with pytest.raises(RateLimited, match=r"busy \(429\), retry after 3600 s") as caught:
        client.parse_page("Red bird")
    assert caught.value.retry_after_s == 3600
    assert time.monotonic() - started < 60  # not 3600; immediate, except on a busy machine
    assert client.n_requests == 1


def test_no_request_is_sent_during_a_long_retry_after(wiki: FaultyWiki, client: WikiClient) -> None:
    """Later calls fail without a request and state when to retry."""
    wiki.faults = [busy("3600")]
    for _ in range(3):
        with pytest.raises(RateLimited) as caught:
            client.parse_page("Red bird")
    assert client.n_requests == len(wiki.requests) == 1
    assert str(caught.value).startswith(f"{client.host} accepts no requests for ")
    assert "run the same command again in" in (caught.value.hint or "")


def test_a_permanently_busy_wiki_is_rate_limited(wiki: FaultyWiki, client: WikiClient) -> None:
    wiki.always = lagging()
    with pytest.raises(RateLimited, match=r"busy \(maxlag\).*tried 4 times"):
        client.parse_page("Red bird")


def test_an_unreachable_wiki_fails_fast_without_showing_secrets() -> None:
    port = free_port()
    client = WikiClient(f"http://me:secret@127.0.0.1:{port}/w/api.php?token=hidden")
    started = time.monotonic()
    with pytest.raises(SourceUnavailable, match=f"127.0.0.1:{port} is not reachable") as caught:
        client.parse_page("Red bird")
    client.close()
    assert time.monotonic() - started < 20  # about 1 s, except on a busy machine
    assert "secret" not in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_a_failing_wiki_is_retried_fully_only_once(wiki: FaultyWiki, client: WikiClient) -> None:
    client.parse_page("Red bird")
    wiki.always = Fault(status=500, body=b"oops")
    for _ in range(5):
        with pytest.raises(SourceUnavailable, match="answered 500"):
            client.parse_page("Red bird")
    assert client.n_requests == 1 + QUICK.tries + 4
    wiki.always = None
    assert client.parse_page("Red bird")["revid"] == 1
    wiki.faults = [Fault(status=500, body=b"oops")]
    assert client.parse_page("Red bird")["revid"] == 1  # full number of tries again


def test_html_instead_of_json_is_reported(wiki: FaultyWiki, client: WikiClient) -> None:
    wiki.always = html_page()
    with pytest.raises(MalformedAnswer, match=r"Expected JSON from http://127.*/w/api.php, got text/html") as caught:
        client.parse_page("Red bird")
    assert "api.php" in str(caught.value.hint)
    assert client.n_requests == 3


def test_an_address_without_an_api_is_reported(wiki: FaultyWiki, client: WikiClient) -> None:
    wiki.always = Fault(status=404, body=b"nothing here")
    with pytest.raises(MalformedAnswer, match="answered 404") as caught:
        client.parse_page("Red bird")
    assert "api.php" in str(caught.value.hint)
    assert client.n_requests == 1


def test_a_slow_server_times_out(wiki: FaultyWiki, hasty: WikiClient) -> None:
    wiki.always = Fault(stall_s=600)
    with pytest.raises(SourceUnavailable, match="too slow"):
        hasty.parse_page("Red bird")
    assert hasty.n_requests == QUICK.tries_at_first


def test_a_missing_page_is_not_retried(client: WikiClient) -> None:
    with pytest.raises(PageNotFound, match="doesn't exist"):
        client.parse_page("No such bird")
    assert client.n_requests == 1


def test_an_oversized_answer_is_refused(wiki: FaultyWiki, client: WikiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kb.sources.mediawiki.client.wiki_client.MAX_ANSWER_BYTES", 1000)
    wiki.pages["Red bird"] = "x" * 5000
    limited = WikiClient(wiki.api_url, retry=QUICK)
    with pytest.raises(MalformedAnswer, match="more than the"):
        limited._send("GET", f"{wiki.api_url}?action=parse&page=Red+bird", limit=1000)
    limited.close()


def test_at_most_three_requests_run_at_once(wiki: FaultyWiki, client: WikiClient) -> None:
    wiki.delay_s = 0.05
    threads = [threading.Thread(target=client.parse_page, args=("Red bird",)) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wiki.most_at_once <= 3
    assert client.n_requests == 12


def test_a_long_query_is_posted(wiki: FaultyWiki, client: WikiClient) -> None:
    titles = [f"{'ü' * 60} {i}" for i in range(50)]
    answer = client.query_titles(titles, {})
    assert [page["title"] for page in answer.pages] == titles


def test_a_redirect_is_followed_on_the_same_host_only(wiki: FaultyWiki, client: WikiClient) -> None:
    wiki.faults = [Fault(status=301, headers={"Location": f"{wiki.api_url}?action=parse&page=Red+bird"}, body=b"-")]
    assert client.parse_page("Red bird")["title"] == "Red bird"
    wiki.faults = [Fault(status=302, headers={"Location": "http://192.168.0.1/api.php"}, body=b"-")]
    with pytest.raises(MalformedAnswer, match=r"redirects to http://192\.168\.0\.1, which is not allowed"):
        client.parse_page("Red bird")
    wiki.always = Fault(status=302, headers={"Location": wiki.api_url}, body=b"-")
    with pytest.raises(MalformedAnswer, match="redirects endlessly"):
        client.parse_page("Red bird")


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("file:///etc/passwd", "http://127.0.0.1/api.php"),
        ("http://10.0.0.1/x.jpg", "https://birds.example/api.php"),
        ("http://localhost/x.jpg", "https://birds.example/api.php"),
        ("http://birds.example/x.jpg", "https://birds.example/api.php"),
        ("https://birds.example.evil.example/x.jpg", "https://birds.example/api.php"),
        ("https://upload.wikimedia.org.evil.example/x.jpg", "https://birds.example/api.php"),
        ("https://birds.example:6379/x.jpg", "https://birds.example/api.php"),
        ("http://birds.example:99999/x.jpg", "http://birds.example:99998/api.php"),
    ],
)
def test_redirects_to_other_hosts_are_refused(url: str, origin: str) -> None:
    with pytest.raises(MalformedAnswer, match="not allowed"):
        check_redirect(url, origin=origin)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://birds.example/x.jpg", "https://birds.example/api.php"),
        ("https://upload.wikimedia.org/x.jpg", "https://birds.example/api.php"),
        ("http://127.0.0.1:81/x.jpg", "http://localhost:80/api.php"),
        ("http://birds.example:8080/x.jpg", "http://birds.example:8080/api.php"),
        ("https://birds.example/x.jpg", "https://birds.example:8443/api.php"),
    ],
)
def test_redirects_to_trusted_hosts_are_allowed(url: str, origin: str) -> None:
    check_redirect(url, origin=origin)


@pytest.mark.parametrize("url", [None, "https://commons.wikimedia.org/w/api.php", "https://DE.Wikipedia.org/w/api.php"])
@pytest.mark.parametrize("contact", [" ", "nobody"])
def test_wikimedia_requires_a_contact(url: str | None, contact: str) -> None:
    with pytest.raises(MissingContact, match="contact address"):
        WikiClient(url, contact=contact)


def test_the_default_wiki_is_wikipedia_in_the_given_language() -> None:
    client = WikiClient(contact="birds@example.org", language="de")
    assert client.api_url == "https://de.wikipedia.org/w/api.php"
    client.close()


@pytest.mark.parametrize("language", ["../x", "evil.example/", "", "EN", "en "])
def test_an_invalid_language_code_is_refused(language: str) -> None:
    with pytest.raises(UsageError, match="Expected a Wikipedia language code"):
        WikiClient(language=language, contact="you@example.org")


def test_only_http_addresses_are_accepted() -> None:
    with pytest.raises(UsageError, match="Expected an http or https address"):
        WikiClient("ftp://birds.example/api.php")


def test_a_photo_must_be_an_image_within_the_size_limit(
    wiki: FaultyWiki, client: WikiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki.files["red.jpg"] = File(content=jpeg())
    url = f"{wiki.origin}/photos/red.jpg"
    assert client.fetch_photo(url) == jpeg()
    wiki.photo_faults = [html_page()]
    assert client.fetch_photo(url) == jpeg()
    wiki.photo_faults = [html_page()] * QUICK.tries
    with pytest.raises(MalformedAnswer, match=r"Expected an image from 127.*, got text/html"):
        client.fetch_photo(url)
    wiki.photo_faults = [busy("0"), Fault(cut_at=30)]
    assert client.fetch_photo(url) == jpeg()
    with pytest.raises(SourceError, match="not allowed"):
        client.fetch_photo("http://10.1.1.1/red.jpg")
    monkeypatch.setattr("kb.sources.mediawiki.client.wiki_client.MAX_PHOTO_BYTES", 100)
    with pytest.raises(MalformedAnswer, match="limit of 100 bytes"):
        client.fetch_photo(url)
    assert client.n_requests == 0


def test_a_wiki_that_answers_with_errors_gets_all_tries(wiki: FaultyWiki, client: WikiClient) -> None:
    wiki.faults = [busy(status=503), Fault(status=500, body=b"starting"), busy()]
    assert client.parse_page("Red bird")["revid"] == 1
    assert client.n_requests == 4
