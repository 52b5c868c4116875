"""The pages in a real browser: with mouse and keyboard, on phone and desk; axe finds no serious fault."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (apt-get install chromium)"),
]
SIZES = {"phone": (390, 844), "desk": (1440, 900)}
SERIOUS = {"serious", "critical"}
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
)  # fmt: skip


@pytest.fixture
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright (pip install playwright)")
    with sync_api.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def folder(cli: Any, built_kb: Path, drawings: Path) -> Path:
    cli.call("identify", drawings, "--kb", built_kb, "--output", drawings / "fieldmark.jsonl")
    question = {"question": "Is it red?", "answer": "yes", "probability": 0.8, "obtained_by": "cosines"}
    rows = [
        {"query_id": "q", "image_id": path.name, "rank": rank, "score": 0.8, "first_stage_rank": 5 - rank,
         "questions": [question]}
        for rank, path in enumerate(sorted(drawings.glob("*.png")), start=1)
    ]  # fmt: skip
    (drawings / "ranked.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return drawings


def birds(page: Any) -> int:
    found: int = page.locator("#grid [data-bird]").count()
    return found


def wait_for(page: Any, n: int) -> None:
    for _ in range(100):
        if birds(page) == n:
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{birds(page)} birds are left, expected {n}: {page.inner_text('[data-error]')}")


def test_pages_fit_and_have_no_serious_fault(
    browse: Callable[..., None], browser: Any, folder: Path, tmp_path: Path
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    paths = ("/", "/folders", "/folders/0?order=species", "/folders/0/birds/0", "/species", "/species?q=red+crest",
             "/species/cardinalis-cardinalis", "/knowledge",
             "/species/cardinalis-cardinalis/beside/sialia-sialis", "/species/nobody", "/find", "/find?q=a+red+bird",
             "/rerank", "/rerank/0/ranked.jsonl")  # fmt: skip

    def visit(address: str) -> None:
        faults: list[str] = []
        for (name, (width, height)), scheme in zip(SIZES.items(), ("dark", "light"), strict=True):
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.on(
                "console", lambda said: faults.append(f"{said.text} {said.location}") if said.type == "error" else None
            )
            page.on("pageerror", lambda error: faults.append(str(error)))
            for path in paths:
                page.goto(address + path)
                page.wait_for_load_state("networkidle")
                found = [each for each in axe.run(page).response["violations"] if each["impact"] in SERIOUS]
                assert not found, (name, path, json.dumps(found)[:800])
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, path)
            assert [each for each in faults if "404" not in each] == [], name

    browse(visit, photos=folder)


def test_a_photo_is_identified_and_a_folder_reviewed_by_keyboard(
    browse: Callable[..., None], browser: Any, folder: Path
) -> None:
    def visit(address: str) -> None:
        page = browser.new_page()
        page.goto(address)
        page.set_input_files("#photos", str(folder / "cardinalis-cardinalis.png"))
        assert "cardinalis-cardinalis.png" in page.inner_text("[data-chosen]")
        page.click("button")
        page.wait_for_selector("h2:has-text('Northern Cardinal')")
        page.click("summary:has-text('part of the photo')")
        page.locator(".drawn img").scroll_into_view_if_needed()
        box = page.locator(".drawn").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 1)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.up()
        assert [round(float(page.input_value(f"[name={side}]"))) for side in ("left", "right")] == [25, 50]
        page.click("button:has-text('Identify this part')")
        page.wait_for_selector("figcaption:has-text('part of cardinalis-cardinalis.png')")
        page.goto(f"{address}/folders/0?order=species")
        n = birds(page)
        page.keyboard.press("Enter")
        wait_for(page, n - 1)
        page.keyboard.press("ArrowRight")
        page.keyboard.press("r")
        page.keyboard.type("Blue Jay")
        page.keyboard.press("Enter")
        wait_for(page, n - 2)
        page.keyboard.press("1")
        wait_for(page, n - 3)
        page.keyboard.press("u")
        wait_for(page, n - 4)
        for left in range(n - 3, n + 1):
            page.keyboard.press("z")
            wait_for(page, left)
        page.keyboard.press("e")
        page.keyboard.press("x")
        wait_for(page, n - 1)
        page.keyboard.press("a")
        page.keyboard.press("Enter")
        wait_for(page, 0)
        assert "All birds are reviewed" in page.inner_text("main")

    browse(visit, photos=folder)
    labels = [json.loads(line)["label"] for line in (folder / "corrections.jsonl").read_text().splitlines()]
    assert {"Cyanocitta cristata", "unknown", "no bird"} <= {label["name"] for label in labels if label}


def test_photos_are_found_and_ranked_ones_marked_by_keyboard(
    browse: Callable[..., None], browser: Any, folder: Path
) -> None:
    def visit(address: str) -> None:
        page = browser.new_page()
        page.goto(f"{address}/find")
        page.focus("input[name=q]")
        page.keyboard.type("a red bird")
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-grid] input")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Space")
        assert page.locator("[data-grid] input:checked").count() == 1
        page.keyboard.press("Enter")
        page.wait_for_selector("text=1 relevant so far")
        assert "All photos have been shown" in page.inner_text("main")
        page.keyboard.press("z")
        page.wait_for_selector("text=0 relevant so far")
        assert page.locator("[data-grid] input:checked").count() == 1, "the mark can be mended"
        page.goto(f"{address}/rerank/0/ranked.jsonl")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Space")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=1 relevant")

    browse(visit, photos=folder)


def test_a_page_of_another_site_cannot_say_anything(browse: Callable[..., None], browser: Any, folder: Path) -> None:
    def visit(address: str) -> None:
        page = browser.new_page()
        evil = (
            f'<form action="{address}/folders/0/say" method=post><input name=say value=undo><button>x</button></form>'
        )
        page.set_content(evil)
        page.click("button")
        page.wait_for_load_state()
        assert "another site" in page.inner_text("body")
        assert httpx.get(f"{address}/folders/0", timeout=60).status_code == 200

    browse(visit, photos=folder)
    assert not (folder / "corrections.jsonl").exists()
