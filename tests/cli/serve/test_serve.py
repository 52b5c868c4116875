"""`kb serve`: photos, pages and the API over real HTTP, and requests that it refuses."""

import asyncio
import csv
import io
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image

from cli.serve.api import streamed
from data.files import writer_lock
from kb.store.ledger import Ledger, Step

CARDINAL = "cardinalis-cardinalis"


def sent(*photos: Path, names: tuple[str, ...] = ()) -> list[tuple[str, tuple[str, bytes]]]:
    named = names or tuple(photo.name for photo in photos)
    return [("photos", (name, photo.read_bytes())) for photo, name in zip(photos, named, strict=True)]


def test_photos_of_the_form_are_cards_a_list_and_tables(serve: Any, drawings: Path) -> None:
    photo, nasty = drawings / f"{CARDINAL}.png", "../<b>x \u202e.png"

    def visit(client: httpx.Client) -> None:
        assert "Choose photos" in client.get("/").text
        one = client.post("/identify", files=sent(photo))
        address = one.headers["location"]
        assert one.status_code == 303 and address.endswith("/0")
        card = client.get(address).text
        assert "Northern Cardinal" in card and f"<figcaption>{photo.name}" in card and "data:image/jpeg" in card
        sides = {"left": "25", "top": "0", "right": "75", "bottom": "100"}
        part = client.post(f"{address}/part", data=sides, follow_redirects=True)
        cut = client.get(f"{part.url.path.rsplit('/', 1)[0]}/photo/0").content
        with Image.open(photo) as whole, Image.open(io.BytesIO(cut)) as shown:
            assert shown.width / shown.height == pytest.approx(whole.width / whole.height / 2, rel=0.02)
        assert f"part of {CARDINAL}.png" in part.text
        for wrong in ({"left": "75"}, {"left": "east"}):
            assert client.post(f"{address}/part", data=sides | wrong).status_code == 400
        several = client.post("/identify", files=sent(photo, photo, names=(nasty, "notes.txt")), follow_redirects=True)
        assert "2 answers" in several.text and "&lt;b&gt;x .png" in several.text and "<b>x" not in several.text
        base = several.url.path
        assert client.get(f"{base}/photo/0").content.startswith(b"\xff\xd8\xff")
        rows = list(csv.DictReader(client.get(f"{base}/fieldmark.csv").text.splitlines()))
        lines = client.get(f"{base}/fieldmark.jsonl").text.splitlines()
        assert (
            [row["image"] for row in rows]
            == [json.loads(line)["image"] for line in lines]
            == ["<b>x .png", "notes.txt"]
        )
        broken = client.post("/identify", files=[("photos", ("a.jpg", b"no photo"))], follow_redirects=True).text
        assert "Photo unreadable" in broken and "a.jpg" in broken and "/tmp" not in broken
        assert client.get(base).text.count("<img") == 2 and address.split("/")[2] in client.get("/").text
        for gone in ("/results/none", f"{base}/9", f"{base}/photo/9", f"{base}/fieldmark.xls", "/nowhere"):
            assert client.get(gone).status_code == 404, gone
        assert client.post("/identify").status_code == 400

    said = serve(visit)
    assert "Fieldmark is at http://127.0.0.1:" in said and "token" not in said


def test_species_are_found_by_description_name_and_group(serve: Any) -> None:
    def visit(client: httpx.Client) -> None:
        assert CARDINAL in client.get("/species").text
        found = client.get("/species", params={"q": "red crest, black mask"}).text
        assert found.index(CARDINAL) < found.index("</li>")
        assert "<script>" not in client.get("/species", params={"q": "<script>x</script>"}).text
        group = client.get("/species", params={"group": "Cardinalidae"}).text
        assert CARDINAL in group and "corvus" not in group
        page = client.get(f"/species/{CARDINAL}").text
        assert "Cardinalis cardinalis" in page and "Reference photos" in page and "Written by" in page
        assert page.index(">Passeriformes<") < page.index(">Cardinalidae<") < page.index(">Cardinalis<")
        anchor = page.partition('src="/anchors/')[2].partition('"')[0]
        assert client.get(f"/anchors/{anchor}").headers["content-type"].startswith("image/")
        other = page.partition(f'href="/species/{CARDINAL}/beside/')[2].partition('"')[0]
        pair = client.get(f"/species/{CARDINAL}/beside/{other}").text
        assert f'href="/species/{other}"' in pair and "<th scope=row>" in pair
        assert client.get(f"/species/{CARDINAL}/beside/rump").status_code == 404
        missing = client.get("/species/Great Auk")
        assert (missing.status_code, "That did not work" in missing.text) == (404, True)
        assert client.get("/anchors/" + "0" * 64).status_code == client.get("/anchors/" + "z" * 64).status_code == 404
        assert client.get("/healthz").json() == {"status": "ok"}
        assert "--leaf" in client.get("/static/page.css").text and client.get("/static/page.js").status_code == 200

    serve(visit)


def test_a_build_and_its_failures_are_shown_and_it_is_run_again(serve: Any, cli: Any, tmp_path: Path) -> None:
    (article := tmp_path / "notes" / "Mallard" / "article.txt").parent.mkdir(parents=True)
    article.write_text("## Description\nThe male has a green head, a yellow bill and a grey body.\n")
    cli.call("build", "--source", "folder:notes", "--kb", path := tmp_path / "own.kb", check=True)
    with closing(Ledger(path / "ledger.sqlite")) as ledger, ledger.transaction():
        ledger.record([Step("anas-platyrhynchos", "anchor", "", "failed", error="the wiki is <down>")])
        ledger.set_fact("building", "1")

    def visit(client: httpx.Client) -> None:
        with writer_lock(path / ".lock"):
            page = client.post("/knowledge/again", follow_redirects=True).text
            assert "A build is running" in page and "Restart" in page and "Try again" not in page
        page = client.get("/knowledge").text
        assert "was interrupted" in page and "the wiki is &lt;down&gt;" in page and "Try again" in page
        assert client.post("/knowledge/again").status_code == 303
        while client.get("/knowledge/progress").json()["is_running"]:
            time.sleep(0.1)
        page = client.get("/knowledge").text
        assert "Knowledge base" in page and "down" not in page and "Try again" not in page
        assert "was read on 20" in client.get("/species/anas-platyrhynchos").text

    serve(visit, "--kb", path)


def test_the_api_gives_the_records_of_the_library(serve: Any, cli: Any, built_kb: Path, drawings: Path) -> None:
    photo = drawings / f"{CARDINAL}.png"
    command = ("identify", photo, "--kb", built_kb, "--format", "jsonl")
    expected = json.loads(cli.call(*command, check=True).stdout)

    def visit(client: httpx.Client) -> None:
        answer = client.post("/api/v1/identify", files=sent(photo)).json()
        assert answer["schema"] == 1
        changing = {"image": photo.name, "seconds": answer["rows"][0]["seconds"]}
        assert answer["rows"] == [expected | changing]
        lines = {"Accept": "application/x-ndjson"}
        streamed = client.post("/api/v1/identify", files=sent(photo, photo), headers=lines).text.splitlines()
        rows = [json.loads(line) for line in streamed]
        assert [(row["schema"], row["image"], row["answer"]["name"]) for row in rows] == [
            (1, photo.name, "Cardinalis cardinalis")
        ] * 2
        assert client.post("/api/v1/identify", headers=lines).json()["status"] == 400
        (first,) = client.get("/api/v1/search", params={"q": "red crest, black mask", "n": 1}).json()["species"]
        assert first["taxon_id"] == CARDINAL
        shown = client.get("/api/v1/species/Northern Cardinal").json()
        assert shown["taxon"]["taxon_id"] == CARDINAL and shown["summary"]["text"]
        passage = client.get("/api/v1/context", params={"q": "a Northern Cardinal on a post"}).json()
        assert passage["found"] and "crest" in passage["passage"]
        for path, status in (
            ("/api/v1/search", 400), ("/api/v1/search?q=a&n=0", 400), ("/api/v1/search?q=" + "a" * 3_000, 400),
            ("/api/v1/species/Nobody", 404), ("/api/v1/nothing", 404),
        ):  # fmt: skip
            error = client.get(path)
            assert (error.status_code, error.json()["status"]) == (status, status), path
            assert error.headers["content-type"] == "application/problem+json"
        description = client.get("/api/v1/openapi.json").json()
        paths = {path.replace("{name}", CARDINAL) for path in description["paths"]}
        assert all(client.get(path).status_code != 404 for path in paths)
        assert answer["rows"][0].keys() == description["components"]["schemas"]["Identification"]["properties"].keys()

    serve(visit)


def test_a_defect_within_a_stream_is_its_last_line_without_details_and_is_raised_for_the_log() -> None:
    async def rows() -> AsyncGenerator[dict[str, object], None]:
        yield {"image": "a.png"}
        raise ValueError("/home/somebody")

    async def read() -> list[Any]:
        response, lines = await streamed(rows()), list[Any]()
        with pytest.raises(ValueError, match="somebody"):
            async for line in response.body_iterator:  # type: ignore[attr-defined]
                lines.append(json.loads(line))
        return lines

    first, last = asyncio.run(read())
    assert first["image"] == "a.png" and last["status"] == 500 and "somebody" not in str(last)


def test_the_examples_of_the_page_on_the_api_work(serve: Any, drawings: Path, tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "docs" / "howto" / "serve.md").read_text(encoding="utf-8")
    (curl,) = re.findall(r"^curl .*$", text, re.MULTILINE)
    (script,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (drawings / f"{CARDINAL}.png").rename(tmp_path / "jay.jpg")

    def visit(client: httpx.Client) -> None:
        for command in (["bash", "-c", curl], [sys.executable, "-c", script]):
            here = [part.replace("http://127.0.0.1:8000", str(client.base_url).rstrip("/")) for part in command]
            done = subprocess.run(here, cwd=tmp_path, capture_output=True, text=True, check=True)
            assert "Northern Cardinal" in done.stdout

    serve(visit)


def test_other_sites_other_names_and_large_bodies_are_refused(
    serve: Any, drawings: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("cli.serve.guard.MOST_BYTES", 1_000_000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    photo = sent(drawings / f"{CARDINAL}.png")

    def visit(client: httpx.Client) -> None:
        for headers in (
            {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://["},
            {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}, {"Host": "localhost.evil.example:8000"},
        ):  # fmt: skip
            assert client.post("/api/v1/identify", headers=headers, files=photo).status_code == 403, headers
        head = b'--x\r\nContent-Disposition: form-data; name="photos"; filename="a.jpg"\r\n\r\n'
        large = head + b"x" * 2_000_000 + b"\r\n--x--\r\n"
        for body in (large, iter([large])):
            kind = {"Content-Type": "multipart/form-data; boundary=x"}
            assert client.post("/api/v1/identify", content=body, headers=kind).status_code == 413
        image = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"}
        link = image | {"Sec-Fetch-Dest": "document"}
        assert [client.get("/find", headers=each).status_code for each in (image, link)] == [403, 200]
        assert [*tmp_path.glob("fieldmark-*/*")] == [], "nothing of a refused request is left"
        ours = {"Origin": f"http://127.0.0.1:{client.base_url.port}"}
        assert client.post("/identify", files=photo, headers=ours).status_code == 303
        policy = client.get("/").headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe-eval" not in policy

    serve(visit)


def test_another_address_needs_the_token_that_is_printed_or_set(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIELDMARK_TOKEN", "sesame-sesame")

    def visit(client: httpx.Client) -> None:
        assert client.get("/").status_code == client.get("/?token=wrong").status_code == 401
        assert client.get("/healthz").status_code == 200
        assert client.get("/species", headers={"Authorization": "Bearer sesame-sesame"}).status_code == 200
        first = client.get("/?token=sesame-sesame")
        assert (first.status_code, first.headers["location"]) == (303, "/")
        for port, status in ((client.base_url.port, 200), (1, 401)):  # browsers send a cookie to all ports of a host
            assert client.get("/", headers={"Host": f"field-laptop.local:{port}"}).status_code == status

    assert "?token=sesame-sesame" in serve(visit, "--host", "0.0.0.0")
    monkeypatch.delenv("FIELDMARK_TOKEN")
    printed = serve(lambda client: None, "--host", "0.0.0.0").partition("?token=")[2].split()[0]
    assert len(printed) >= 16


@pytest.mark.integration
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_server_leaves_no_photo_and_no_process(
    browse: Any, drawings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: signal.Signals
) -> None:
    for number in range(300):
        shutil.copy(drawings / f"{CARDINAL}.png", drawings / f"{number}.png")
    (folder := tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))

    def visit(address: str) -> None:
        httpx.post(f"{address}/identify", files=sent(drawings / f"{CARDINAL}.png"), timeout=60)
        httpx.post(f"{address}/folders/0/start")
        assert [*folder.glob("fieldmark-*/*/*/*.png")]
        assert httpx.get(f"{address}/folders/0/progress").json()["is_running"]

    browse(visit, photos=drawings, by=by)
    assert not [*folder.glob("fieldmark-*")]
    commands = [file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline") if file.exists()]
    assert not [each for each in commands if str(drawings).encode() in each]


def test_a_port_that_is_taken_is_an_error_with_a_remedy_and_a_free_one_is_used(
    serve: Any, cli: Any, built_kb: Path
) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        outcome = cli.run("serve", "--kb", built_kb, "--port", port)
    assert outcome.exit_code == 3 and "--port 8001" in outcome.stderr
    assert f"http://127.0.0.1:{port}" in serve(lambda _client: None, "--port", port)
