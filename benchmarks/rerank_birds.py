"""Re-ranking without a server, measured on bird photos: `python -m benchmarks.rerank_birds --birds ../shared/birds`.

The candidates are photos outside the training data of the starter pair: those of a species and of its relatives, first
of its family, then of its order, up to sixty. Queries are made from the shipped facts; the knowledge base for context
has the same facts. Thirty queries "a <species>" also have twenty photos each, up to five of the species: others of
relatives, or of any species. The first stage is an untrained encoder of colours, everything else the encoder judge with
the starter pair; `(d) without recognizer` compares names and descriptions with photos as texts. Two fifths of the
species were used to choose settings and are left out; the recognizer's part has none. `--write DIR` writes the jobs for
`kb rerank`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import kb
from cli.common import wiring
from data.codec import dumps
from data.files import sha256_hex
from data.metrics.lists import average_precision, ndcg, settled
from data.metrics.ranked import paired_test
from data.records import Job, JobImage, RankedImage
from data.starter.knowledge import Fact, read_species
from recognize import load_encoders
from rerank import DecomposeReranker, DecomposeSettings, EncoderJudge, first_stage
from tests.toy.encoders import toy_encoders
from training.collection import read_collection
from training.knowledge.wording import listed
from training.starter.protocol import fold_of

N_CANDIDATES: Final = 60
N_NAMED: Final = 30
N_NAMED_CANDIDATES: Final = 20
MOST_OWN: Final = 5  # of twenty photos
N_FACTS: Final = 4
PLURAL: Final = ("legs", "wings", "eyes", "upperparts", "underparts", "feet", "flanks", "cheeks", "lores")
CHOSEN_ON: Final = (0, 1)  # folds of species used to choose settings
MODES: Final = {
    "(a) direct": DecomposeSettings(direct=True, context=False),
    "(b) questions": DecomposeSettings(context=False),
    "(c) context": DecomposeSettings(direct=True),
    "(d) full": DecomposeSettings(),
}
"""The ablations of Divide and Conquer, Figure 3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Species:
    """Names and facts of one species in the starter knowledge."""

    name: str
    common_name: str
    family: str
    order: str
    facts: tuple[str, ...]


def main() -> None:
    """Print a table of figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--birds", type=Path, required=True, help="folder of photos.csv")
    parser.add_argument("--write", type=Path, metavar="DIR", help="also write the jobs to this folder")
    given = parser.parse_args()
    jobs = _jobs(given.birds)
    if given.write is not None:
        given.write.mkdir(parents=True, exist_ok=True)
        for kind, of_kind in jobs.items():
            text = "".join(f"{dumps(job)}\n" for job in of_kind)
            (given.write / f"{kind}.jsonl").write_text(text, encoding="utf-8")
    starter = load_encoders("starter")
    without, plain = EncoderJudge(starter.text_image), EncoderJudge(toy_encoders().text_image)
    with kb.open(encoders=starter) as store:
        context = wiring.context_look_up(store)
        parts = wiring.query_parts(store)
        judge = EncoderJudge(starter.text_image, species=wiring.species_scorer(store))
        lines: list[str] = []
        for kind, of_kind in jobs.items():
            of_kind = [_with_first_stage(job, plain) for job in of_kind]
            n_photos = sum(len(job.candidates) for job in of_kind) / len(of_kind)
            lines += [f"{kind}: {len(of_kind)} queries, {n_photos:.0f} photos each, such as {of_kind[0].text!r}"]
            runs: dict[str, list[list[RankedImage]]] = {
                "first stage (plain)": [first_stage(job) for job in of_kind],
                "similarity (starter)": [_similarity(job, without) for job in of_kind],
            }
            modes = [(mode, settings, judge) for mode, settings in MODES.items()]
            for mode, settings, by in [*modes, ("(d) without recognizer", DecomposeSettings(), without)]:
                reranker = DecomposeReranker(by, settings=settings, context=context, parts=parts)
                runs[mode] = asyncio.run(_run(reranker, of_kind))
            lines += _table(runs, of_kind)
    sys.stdout.write("\n".join(lines) + "\n")


async def _run(reranker: DecomposeReranker, jobs: Sequence[Job]) -> list[list[RankedImage]]:
    return [await reranker.rank(job) for job in jobs]


def _jobs(birds: Path) -> dict[str, list[Job]]:
    """Return kind of query -> jobs of the species with enough facts and photos."""
    collection = read_collection(birds)
    known = _species()
    photos: dict[str, list[str]] = defaultdict(list)
    for i in collection.hidden:
        photo = collection.photos[i]
        if photo.species in known:
            photos[photo.species].append(photo.path)
    jobs: dict[str, list[Job]] = {"named": [], "described": [], "named and described": []}
    for name in sorted(photos):
        species, own = known[name], photos[name]
        if len(own) < 2 or len(species.facts) < 2 or fold_of(name) in CHOSEN_ON:
            continue

        def nearness(path_and_name: tuple[str, str], species: Species = species) -> tuple[int, str]:
            other = known[path_and_name[1]]
            return (0 if other.family == species.family else 1 if other.order == species.order else 2), sha256_hex(
                path_and_name[0]
            )

        others = sorted(((path, of) for of, paths in photos.items() if of != name for path in paths), key=nearness)
        alike = [pair[0] for pair in others if nearness(pair)[0] < 2][: N_CANDIDATES - len(own)]
        if len(alike) < 10:
            continue
        # Not the hash that chose the relatives: they have low values, so the species' own photos would be last.
        paths = sorted([*own, *alike], key=lambda path: sha256_hex(f"shown: {path}"))
        candidates = tuple(JobImage(image_id=path, path=str((birds / path).resolve()), score=0.0) for path in paths)
        called = f"{'an' if species.common_name[0] in 'AEIOU' else 'a'} {species.common_name}"
        texts = {
            "named": called,
            "described": f"a bird with {listed(species.facts)}",
            "named and described": f"{called} with {listed(species.facts[:2])}",
        }
        for kind, text in texts.items():
            query_id = name.lower().replace(" ", "-")
            jobs[kind].append(Job(query_id=query_id, text=text, candidates=candidates, relevant=tuple(own)))
    relatives = {job.query_id: [image.path for image in job.candidates] for job in jobs["named"]}
    every = sorted({image.path for job in jobs["named"] for image in job.candidates}, key=_order("any"))
    chosen = sorted(jobs["named"], key=lambda job: _order("query")(job.query_id))[:N_NAMED]
    jobs["named, twenty photos of relatives"] = [_cut(job, relatives[job.query_id]) for job in chosen]
    jobs["named, twenty photos of any species"] = [_cut(job, every) for job in chosen]
    return jobs


def _order(salt: str) -> Callable[[str], str]:
    return lambda name: sha256_hex(f"{salt}: {name}")


def _cut(job: Job, others: Sequence[str]) -> Job:
    """Return a job with twenty photos: up to five of its own, and the first of `others`, paths of photos."""
    found = {image.path: image for image in job.candidates}
    own = [image for image in job.candidates if image.image_id in (job.relevant or ())][:MOST_OWN]
    relevant = {image.path for image in job.candidates if image.image_id in (job.relevant or ())}
    rest = [path for path in others if path not in relevant][: N_NAMED_CANDIDATES - len(own)]
    images = [*own, *(found.get(path) or JobImage(image_id=path, path=path, score=0.0) for path in rest)]
    images.sort(key=lambda image: _order("shown")(image.image_id))
    return replace(job, candidates=tuple(images), relevant=tuple(image.image_id for image in own))


def _species() -> dict[str, Species]:
    found = {}
    for entry in read_species():
        taxon = entry.taxon
        facts = [_phrase(fact) for fact in entry.facts if fact.sex == "both" and fact.part not in ("bird", "body")]
        found[taxon.scientific_name] = Species(
            name=taxon.scientific_name,
            common_name=taxon.common_names[0],
            family=taxon.lineage.get("family", ""),
            order=taxon.lineage.get("order", ""),
            facts=tuple(fact for fact in facts if fact)[:N_FACTS],
        )
    return found


def _phrase(fact: Fact) -> str:
    words = " ".join(word for word in (fact.shade, " and ".join(fact.colours), fact.shape) if word)
    if not words:
        return ""
    article = "" if fact.part in PLURAL else "an " if words[0] in "aeiou" else "a "
    return f"{article}{words} {fact.part}"


def _cosine(judge: EncoderJudge, text: str, path: str) -> float:
    return float(judge.vectors_of_photo(Path(path))[0] @ judge.vectors_of(text)[0])


def _with_first_stage(job: Job, plain: EncoderJudge) -> Job:
    scored = [replace(image, score=round(_cosine(plain, job.text, image.path), 6)) for image in job.candidates]
    return replace(job, candidates=tuple(scored))


def _similarity(job: Job, judge: EncoderJudge) -> list[RankedImage]:
    """Return the ranking of `SimilarityReranker`, from existing vectors."""
    images = tuple(replace(image, score=_cosine(judge, job.text, image.path)) for image in job.candidates)
    return first_stage(replace(job, candidates=images))


def _table(runs: Mapping[str, list[list[RankedImage]]], jobs: Sequence[Job]) -> list[str]:
    lines = [f"  {'':24}{'AP':>7}  {'95 %':14}{'nDCG':>7}   difference in AP from the first stage, 95 %"]
    values: dict[str, list[float]] = {}
    for name, ranked in runs.items():
        of_run = [_measures(rows, frozenset(job.relevant or ())) for rows, job in zip(ranked, jobs, strict=True)]
        values[name] = [ap for ap, _ in of_run]
        ap, gain = (sum(column) / len(of_run) for column in zip(*of_run, strict=True))
        least, most = paired_test(values[name]).interval
        line = f"  {name:24}{ap:7.3f}  {f'{least:.3f} to {most:.3f}':14}{gain:7.3f}"
        if len(values) > 1:
            first = next(iter(values.values()))
            test = paired_test([a - b for a, b in zip(values[name], first, strict=True)])
            low, high = test.interval
            line += f"   {test.difference:+.3f} ({low:+.3f} to {high:+.3f})"
        lines.append(line)
    return lines


def _measures(rows: Sequence[RankedImage], relevant: frozenset[str]) -> tuple[float, float]:
    found = settled([row.image_id in relevant for row in sorted(rows, key=lambda row: row.rank)])
    return average_precision(found, n_relevant=len(relevant)), ndcg(found, n_relevant=len(relevant))


if __name__ == "__main__":
    main()
