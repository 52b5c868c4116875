"""A folder with all that the jobs need, a wiki and a model; each case works on a copy of the folder."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from data.records import Taxon
from tests.cli.verbs.rerank.conftest import script
from tests.cli.verbs.test_calibrate import vary
from tests.drawn_birds import drawn_bird
from tests.faults.running import Ended, Run
from tests.servers.faulty_wiki import FaultyWiki, File, jpeg
from tests.servers.openai_server import OpenAIServer
from tests.servers.own_wiki import BIRDS

FREE = {"LicenseShortName": "CC0", "Artist": "A. Painter"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The folder to copy, and the servers."""

    base: Path
    wiki: FaultyWiki
    model: OpenAIServer

    def copy(self, to: Path) -> Path:
        shutil.rmtree(to, ignore_errors=True)
        return shutil.copytree(self.base, to)

    def environment(self, folder: Path) -> dict[str, str]:
        root = str(Path(__file__).resolve().parents[2])
        vision = {"MODEL": "m", "BASE_URL": self.model.base_url, "PRICE_IN": "1", "PRICE_OUT": "1"}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("FIELDMARK_")}
        own = {"FIELDMARK_HOME": str(folder / "home"), "FIELDMARK_KB": "drawn.kb", "PYTHONPATH": root, "NO_COLOR": "1"}
        return kept | own | {f"FIELDMARK_LLM_VISION_{name}": value for name, value in vision.items()}

    def start(self, folder: Path, *arguments: str | Path, stdin: str = "") -> Run:
        return Run(arguments, folder, self.environment(folder), stdin)

    def run(self, folder: Path, *arguments: str | Path, stdin: str = "") -> Ended:
        return self.start(folder, *arguments, stdin=stdin).ended()

    def require(self, folder: Path, *arguments: str | Path, stdin: str = "") -> Ended:
        ended = self.run(folder, *arguments, stdin=stdin)
        assert ended.code == 0, f"kb {' '.join(map(str, arguments))}: {ended}"
        return ended


@contextmanager
def bench_at(base: Path) -> Iterator[Bench]:
    base.mkdir()
    with FaultyWiki().running() as wiki, OpenAIServer(script) as model:
        bench = Bench(base=base, wiki=wiki, model=model)
        write_pages(wiki)
        names = "".join(f"{binomial}\n" for _, binomial, _, _ in BIRDS)
        (base / "names.csv").write_text(f"scientific_name\n{names}")
        _make_files(base)
        bench.require(base, "build", "--names=names.csv", f"--api-url={wiki.api_url}", "--kb=birds.kb")
        bench.require(base, "export", "--kb=birds.kb", "bundle")
        _build_drawn(base / "drawn.kb")
        write_pages(wiki, is_edited=True)
        shutil.rmtree(base / "home")
        yield bench


def write_pages(wiki: FaultyWiki, *, is_edited: bool = False) -> None:
    wiki.pages = {"A new page": "<p>About nothing.</p>"} if is_edited else {}
    for number, (name, binomial, first, second) in enumerate(BIRDS):
        file = f"{binomial.replace(' ', '-')}.jpg"
        more = " The eyes are red and the tail is long." if is_edited and number % 2 else ""
        text = f"Its back is {first} and its throat is {second}.{more}"
        photo = f'<a href="/wiki/File:{file}"><img src="x.jpg" width="200"></a>'
        wiki.pages[name] = f"<p>The <b>{name}</b> (<i>{binomial}</i>) is a bird. {text}</p>{photo}"
        wiki.pages[binomial] = f"#REDIRECT {name}"
        wiki.wikitext[name] = f"The '''{name}''' (''{binomial}'') is a bird."
        red = 250 if is_edited and number == 0 else 20 * number
        wiki.files[file] = File(content=jpeg((red, 90, 30)), metadata=FREE)


def _make_files(base: Path) -> None:
    import numpy as np

    at_random = np.random.default_rng(0)
    (base / "photos").mkdir()
    for taxon in _drawn_taxa():
        labelled = base / "labelled" / taxon.scientific_name
        labelled.mkdir(parents=True)
        for number in range(6):
            vary(drawn_bird(taxon.taxon_id), at_random).save(labelled / f"{number}.jpg")
        (base / "photos" / f"{taxon.taxon_id}.png").write_bytes(drawn_bird(taxon.taxon_id))
    (base / "few").mkdir()
    for photo in sorted((base / "photos").iterdir())[::4]:
        shutil.copy(photo, base / "few")
    (base / "owl.txt").write_text("The male is white. The eyes are yellow, and the bill is black.\n")
    candidates = [
        {"image_id": path.stem, "path": f"photos/{path.name}", "score": 1 - place / 100}
        for place, path in enumerate(sorted((base / "photos").iterdir()))
    ]
    jobs = [{"query_id": f"q{i}", "text": f"a red bird, {i}", "candidates": candidates} for i in range(3)]
    (base / "jobs.jsonl").write_text("".join(json.dumps(job) + "\n" for job in jobs))


def _drawn_taxa() -> list[Taxon]:
    from kb.sources.starter import StarterSource

    return StarterSource(with_vectors=False).drawn_taxa()[:12]


def _build_drawn(path: Path) -> None:
    import kb
    from kb.sources.starter import StarterSource
    from recognize import load_encoders

    kb.build(path, _drawn_taxa(), StarterSource(with_vectors=False), load_encoders("starter"))
