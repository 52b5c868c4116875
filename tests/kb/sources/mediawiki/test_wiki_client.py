"""The wiki client over real HTTP: politeness, retries, hosts, limits, messages and logins."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from data import errors
from data.errors import MalformedAnswer, MissingRequirement, RateLimited, SourceError, SourceUnavailable, UsageError
from kb.addresses import parse_retry_after
from kb.http import Refusal, Retrier, RetryPolicy, Timeouts
from kb.sources.mediawiki.wiki_client import WikiClient, check_redirect
from tests.servers.faulty_wiki import Fault, FaultyWiki, File, busy, html_page, jpeg, lagging

QUICK = RetryPolicy(tries=4, tries_at_first=2, first_wait_s=0.01, longest_wait_s=2.0, total_s=5.0)
OOPS = Fault(status=500, body=b"oops")


@pytest.fixture
def client(wiki: FaultyWiki) -> Iterator[WikiClient]:
    wiki.pages["Red bird"] = "<p>It is red.</p>"
    client = WikiClient(wiki.api_url, retry=QUICK)
    yield client
    client.close()


def test_every_request_is_polite(wiki: FaultyWiki, client: WikiClient) -> None:
    client.parse_page("Red bird")
    polite = WikiClient(wiki.api_url, contact="birds@example.org (é)")
    polite.parse_page("Red bird")
    polite.close()
    fields = {"maxlag": "5", "format": "json", "formatversion": "2", "redirects": "1"}
    assert fields.items() <= wiki.requests[0].items()
    assert wiki.headers[1]["Accept-Encoding"] == "gzip, deflate"
    agent = wiki.headers[1]["User-Agent"]
    assert agent.startswith("fieldmark/") and "(birds@example.org )" in agent and "Wikipedia-API/" in agent
    assert "(no contact given)" in wiki.headers[0]["User-Agent"]


def test_transient_failures_are_retried(wiki: FaultyWiki, client: WikiClient) -> None:
    client.parse_page("Red bird")
    faults = {
        "429 at once": busy("0"),
        "429": busy(),
        "408": Fault(status=408, body=b"-"),
        "507 with Retry-After": Fault(status=507, headers={"Retry-After": "0"}, body=b"-"),
        "maxlag": lagging(),
        "cut off": Fault(cut_at=20),
        "half of JSON": Fault(body=b'{"parse": {"title": "Re', headers={"Content-Type": "application/json"}),
        "HTML": html_page(),
    }
    for name, fault in faults.items():
        before, wiki.faults = client.n_requests, [fault]
        assert client.parse_page("Red bird")["text"] == "<p>It is red.</p>", name
        assert client.n_requests == before + 2, name
    wiki.faults = [busy(status=503), OOPS, busy()]
    assert client.parse_page("Red bird")["revid"] == 1, "a wiki that answers with errors gets all tries"


def test_a_silent_server_times_out_and_is_tried_again(wiki: FaultyWiki, client: WikiClient) -> None:
    hasty = WikiClient(wiki.api_url, retry=QUICK, timeouts=Timeouts(read_s=0.4))
    wiki.faults = [Fault(stall_s=60)] * QUICK.tries_at_first
    with pytest.raises(SourceUnavailable, match=r"too slow: no data for 0.4 s \(tried 2 times\)"):
        hasty.parse_page("Red bird")
    hasty.parse_page("Red bird")
    assert hasty.n_requests == 2 + 1
    hasty.close()


def test_waits_grow_up_to_the_longest_and_end_with_the_total(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("random.uniform", lambda *_: 0.0)
    monkeypatch.setattr("time.sleep", waited.append)
    monkeypatch.setattr("time.monotonic", lambda: sum(waited))

    def tries(policy: RetryPolicy, *, is_silent: bool = False) -> list[float]:
        def fail() -> None:
            raise Refusal(SourceUnavailable("down"), is_silent=is_silent)

        waited.clear()
        with pytest.raises(SourceUnavailable, match=r"^down \(tried \d times\)$"):
            Retrier(policy).run(fail)
        return list(waited)

    assert tries(RetryPolicy()) == [0.5, 1, 2, 4]
    assert tries(RetryPolicy(), is_silent=True) == [0.5]
    assert tries(RetryPolicy(longest_wait_s=1.5)) == [0.5, 1, 1.5, 1.5]
    assert tries(RetryPolicy(total_s=3.4)) == [0.5, 1]


def test_a_retry_after_is_a_finite_number_of_seconds_or_a_date() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    later, earlier = (format_datetime(now + timedelta(seconds=s), usegmt=True) for s in (90, -90))
    values = ("1.5", "0", "-1", "nan", "inf", "", "Wed, 21 Oct 99999999999 07:28:00 GMT", later, earlier)
    assert [parse_retry_after(value, now=now) for value in values] == [1.5, 0, *[None] * 5, 90, 0]


def test_a_long_retry_after_fails_at_once_and_holds_for_later_calls(wiki: FaultyWiki, client: WikiClient) -> None:
    wiki.faults = [busy("3600")]
    with pytest.raises(RateLimited, match=r"busy \(429\), retry after 3600 s$") as caught:
        client.parse_page("Red bird")
    assert caught.value.retry_after_s == 3600
    for _ in range(2):
        with pytest.raises(RateLimited) as caught:
            client.parse_page("Red bird")
    assert client.n_requests == len(wiki.requests) == 1
    assert str(caught.value).startswith(f"{client.host} accepts no requests for ")
    assert "run the same command again in" in (caught.value.hint or "")


def test_a_failing_wiki_is_retried_fully_only_once(wiki: FaultyWiki, client: WikiClient) -> None:
    client.parse_page("Red bird")
    wiki.always = OOPS
    for _ in range(5):
        with pytest.raises(SourceUnavailable, match="answered 500"):
            client.parse_page("Red bird")
    assert client.n_requests == 1 + QUICK.tries + 4
    wiki.always = None
    for wiki.faults in ([], [OOPS]):  # full number of tries again
        assert client.parse_page("Red bird")["revid"] == 1


def test_errors_say_what_happened_and_cost_no_needless_request(wiki: FaultyWiki) -> None:
    def api_error(code: str) -> Fault:
        return Fault(body=b'{"error": {"code": "%s", "info": "Why"}}' % code.encode())

    def moved(to: str) -> Fault:
        return Fault(status=302, headers={"Location": to}, body=b"-")

    address = "Is this the address of api.php?"
    cases: dict[str, tuple[Fault, type[SourceError], str | None, int]] = {
        r"Expected JSON from http://127.*/w/api.php, got text/html": (html_page(), MalformedAnswer, address, 2),
        "got truncated application/json": (Fault(body=b"{"), MalformedAnswer, None, 4),
        "Expected a JSON object from .*, got list": (Fault(body=b"[]"), MalformedAnswer, None, 1),
        "answered 404 Not Found": (Fault(status=404, body=b"-"), MalformedAnswer, address, 1),
        "answered 403": (Fault(status=403, body=b"-"), MalformedAnswer, "require a contact", 1),
        r"busy \(maxlag\), retry after 0 s \(tried 4 times\)": (lagging(), RateLimited, None, 4),
        "Internal error of .*: Why": (api_error("internal_api_error_DBQueryError"), SourceUnavailable, None, 4),
        "rejected the request: badtoken: Why": (api_error("badtoken"), SourceError, None, 1),
        "^127.*: Why$": (api_error("invalidtitle"), errors.PageNotFound, None, 1),
        "redirects endlessly": (moved(wiki.api_url), MalformedAnswer, None, 1),
        r"redirects to http://192\.168\.0\.1, which is not allowed": (
            moved("http://192.168.0.1/api.php"), MalformedAnswer, None, 1,
        ),
    }  # fmt: skip
    for message, (fault, error, hint, n_requests) in cases.items():
        client, wiki.always = WikiClient(wiki.api_url, retry=QUICK), fault
        with pytest.raises(error, match=message) as caught:
            client.parse_page("Red bird")
        assert type(caught.value) is error
        assert (hint or "") in (caught.value.hint or "none"), message
        assert client.n_requests == n_requests, message
        client.close()


def test_answers_of_another_shape_are_malformed(wiki: FaultyWiki, client: WikiClient) -> None:
    def refused(ask: Callable[[], object], body: bytes) -> str:
        wiki.always = Fault(body=body)
        with pytest.raises(MalformedAnswer) as caught:
            ask()
        return str(caught.value)

    query = lambda: client.query_titles(["A"], {})  # noqa: E731
    assert "Expected the parsed page 'A'" in refused(lambda: client.parse_page("A"), b'{"parse": {"text": 1}}')
    assert "'pages' in the wiki's answer, got int" in refused(query, b'{"query": {"pages": 1}}')
    assert "'title' in the wiki's answer, got null" in refused(query, b'{"query": {"pages": [{"title": null}]}}')
    assert "'ns' in the wiki's answer, got int" in refused(query, b'{"query": {"pages": [{"ns": %d}]}}' % 2**63)
    assert "continues a query in an unknown way" in refused(query, b'{"query": {}, "continue": {"a": []}}')


def test_a_long_query_is_posted_and_an_oversized_answer_refused(wiki: FaultyWiki, client: WikiClient) -> None:
    titles = [f"{'Ü' * 60} {i}" for i in range(50)]
    assert [page["title"] for page in client.query_titles(titles, {}).pages] == titles
    wiki.pages["Red bird"] = "x" * 5000
    with pytest.raises(MalformedAnswer, match="more than the limit of 1,000 bytes"):
        client._send("GET", f"{wiki.api_url}?action=parse&page=Red+bird", limit=1000)


def test_redirects_lead_to_the_same_host_or_to_wikimedia(wiki: FaultyWiki, client: WikiClient) -> None:
    wiki.faults = [Fault(status=301, headers={"Location": f"{wiki.api_url}?action=parse&page=Red+bird"}, body=b"-")]
    assert client.parse_page("Red bird")["title"] == "Red bird"
    for url, origin in (
        ("https://upload.wikimedia.org/x.jpg", "https://birds.example/api.php"),
        ("http://127.0.0.1:81/x.jpg", "http://localhost:80/api.php"),
        ("http://birds.example:8080/x.jpg", "http://birds.example:8080/api.php"),
        ("https://birds.example/x.jpg", "https://birds.example:8443/api.php"),
    ):
        check_redirect(url, origin=origin)
    for url, origin in (
        ("file:///etc/passwd", "http://127.0.0.1/api.php"),
        ("http://10.0.0.1/x.jpg", "https://birds.example/api.php"),
        ("http://localhost/x.jpg", "http://birds.example/api.php"),
        ("https://upload.wikimedia.org.evil.example/x.jpg", "https://birds.example/api.php"),
        ("https://birds.example:6379/x.jpg", "https://birds.example/api.php"),
    ):
        with pytest.raises(MalformedAnswer, match="not allowed"):
            check_redirect(url, origin=origin)
    check_redirect("https://birds.example/api.php", origin="http://birds.example/api.php", is_login=True)
    for url in ("https://tools.wmflabs.org/api.php", "https://birds.example/x.php"):
        with pytest.raises(MalformedAnswer, match="redirects the login"):
            check_redirect(url, origin="https://birds.example/api.php", is_login=True)


def test_wikimedia_requires_a_contact() -> None:
    for url in (None, "https://commons.wikimedia.org/w/api.php", "https://DE.Wikipedia.org/w/api.php"):
        for contact in (None, " ", "nobody"):
            with pytest.raises(errors.MissingContact, match="contact address"):
                WikiClient(url, contact=contact)
    assert WikiClient(contact="birds@example.org", language="de").api_url == "https://de.wikipedia.org/w/api.php"
    for language in ("../x", "evil.example/", "", "EN"):
        with pytest.raises(UsageError, match="Expected a Wikipedia language code"):
            WikiClient(language=language, contact="you@example.org")
    for address in ("ftp://birds.example/api.php", "https://"):
        with pytest.raises(UsageError, match="Expected an http or https address"):
            WikiClient(address)


def test_a_private_wiki_is_read_with_a_login_made_once_and_again_when_it_ends(wiki: FaultyWiki) -> None:
    wiki.pages["Red bird"] = "<p>It is red.</p>"
    wiki.bot = ("Me@Fieldmark", "secret")
    with pytest.raises(MissingRequirement, match=r"^127\.0\.0\.1:\d+ is a private wiki") as missing:
        WikiClient(wiki.api_url).parse_page("Red bird")
    assert missing.value.hint is not None and "FIELDMARK_WIKI_PASSWORD" in missing.value.hint
    with pytest.raises(MissingRequirement, match="rejects the login of Me@Fieldmark: Failed: Wrong") as wrong:
        WikiClient(wiki.api_url, login=("Me@Fieldmark", "guess")).parse_page("Red bird")
    assert "guess" not in f"{wrong.value} {wrong.value.hint}"
    with FaultyWiki().running() as other, pytest.raises(MalformedAnswer, match="password was not sent there"):
        wiki.faults = [Fault(), Fault(), Fault(status=302, headers={"Location": other.api_url}, body=b"-")]
        WikiClient(wiki.api_url, login=wiki.bot).parse_page("Red bird")
    assert (other.requests, wiki.requests[-1]["lgpassword"]) == ([], "secret")
    wiki.is_logged_in = False
    client = WikiClient(wiki.api_url, login=wiki.bot)
    for n_requests in (4, 1):  # refused, token, login, page
        wiki.requests.clear()
        assert client.parse_page("Red bird")["text"] == "<p>It is red.</p>"
        assert len(wiki.requests) == n_requests
    wiki.is_logged_in = False
    with ThreadPoolExecutor(3) as pool:
        wiki.delay_s = 0.05
        assert len(list(pool.map(client.parse_page, ["Red bird"] * 3))) == 3
    assert sum(request.get("action") == "login" for request in wiki.requests) == 1


def test_a_photo_must_be_an_image_within_the_size_limit(
    wiki: FaultyWiki, client: WikiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki.files["red.jpg"] = File(content=jpeg())
    url = f"{wiki.origin}/photos/red.jpg"
    for faults in ([], [html_page()], [busy("0"), Fault(cut_at=30)]):
        wiki.photo_faults = faults
        assert client.fetch_photo(url) == jpeg()
    assert (client.n_requests, client.n_photo_requests) == (0, 1 + 2 + 3)
    wiki.files["red.jpg"] = File(content=b"")
    with pytest.raises(SourceUnavailable, match="sent an empty image"):
        client.fetch_photo(url)
    wiki.files["red.jpg"] = File(content=jpeg())
    monkeypatch.setattr("kb.sources.mediawiki.wiki_client.MAX_PHOTO_BYTES", 100)
    with pytest.raises(MalformedAnswer, match="limit of 100 bytes"):
        client.fetch_photo(url)
