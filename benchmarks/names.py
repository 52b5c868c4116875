"""Coverage of name reconciliation with AviList, by rule.

    python -m benchmarks.names [--shared ../shared] [--missed] [--n 300]

Lists: the tables of the package `birdnames` (eBird and BirdLife, which the checklist reads, and two of North American
banders, which it does not), the classes of CUB-200-2011 and, from the shared data, the labels of the photos, the
species list, and the birds of iNaturalist in the benchmarks. If a list has both a binomial and an English name for a
bird, each is matched separately and agreement is counted. Agreement suggests a correct match but does not prove it,
since lists differ in their species limits.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kb.checklist.avilist import load_checklist
from kb.checklist.names import epithet_stem
from kb.checklist.reconcile import Reconciled, Reconciler

_CUB = Path(__file__).with_name("cub_classes.txt").read_text(encoding="utf-8").split()
CUB_CLASSES = tuple(f"{number:03}.{name}" for number, name in enumerate(_CUB, 1))
"""The 200 classes of CUB-200-2011 in order, as number and name."""
TABLES = ("ebird_2024", "ebird_2023", "ebird_2022", "ebird_2021", "birdlife_2024", "ibp_2024", "bbl_2025")
INAT_LISTS = ("inquire_rerank_hard.json", "visual_rag_me.jsonl")
INAT_BIRD = re.compile(r"\d{5}_Animalia_Chordata_Aves_[A-Za-z_-]+")
WITHIN = (None, "inside", "group", "raised", "bracket left out", "third word left out")
"""Variants whose name is the checklist's, with further words."""
HEADINGS = ("list", "n", "matched", "exact", "spelling", "synonym", "elsewhere", "subspecies", "other", "not")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedList:
    """Names of a list; `partners` are other names of the same birds, in the same order."""

    title: str
    names: tuple[str, ...]
    partners: tuple[str, ...] = ()


def lists(shared: Path | None) -> Iterator[NamedList]:
    """Yield the lists, with those of the shared data if given."""
    yield NamedList(title="CUB-200-2011, classes", names=CUB_CLASSES)
    if shared is not None:
        texts = "".join((shared / "benchmarks" / name).read_text(encoding="utf-8") for name in INAT_LISTS)
        yield NamedList(title="iNaturalist 2021, classes", names=tuple(sorted(set(INAT_BIRD.findall(texts)))))
        yield from _both("birds/photos.csv", _rows(shared / "birds" / "photos.csv"), "common_name")
        yield from _both("birds/species.csv", _rows(shared / "birds" / "species.csv"), "common_name")
    spec = importlib.util.find_spec("birdnames")
    location = next(iter((spec.submodule_search_locations or ()) if spec else ()))
    for table in TABLES:
        rows = _rows(Path(location) / "data" / "processed" / f"{table}_taxonomy.csv")
        source = table.split("_")[0]
        yield from _both(table, rows, f"{source}_common_name")
        codes = [code for row in rows if (code := row.get("ebird_ebird_code"))]
        if codes:
            yield NamedList(title=f"{table}, codes", names=tuple(codes))


def row_of(listed: NamedList, found: Reconciled) -> list[str]:
    """Return the figures of a list as text."""
    counts: Counter[str] = Counter()
    for match in found.matched:
        is_plain = match.kind in ("scientific name", "English name", "eBird code") and match.variant in WITHIN
        if match.kind == "subspecies":
            counts["subspecies"] += 1
        elif match.kind in ("synonym", "other English name"):
            counts["synonym" if match.kind == "synonym" else "elsewhere"] += 1
        elif is_plain or match.variant == "spelling":
            counts["exact" if is_plain else "spelling"] += 1
        else:
            counts["other"] += 1
    n = len(listed.names)
    share = f"{len(found.matched):,} ({100 * len(found.matched) / n:.1f} %)"
    kinds = [f"{counts[kind]:,}" for kind in HEADINGS[3:-1]]
    return [listed.title, f"{n:,}", share, *kinds, f"{len(found.unmatched):,}"]


def agreement(listed: NamedList) -> str:
    """Return the share of birds with both names matched to one species, with examples of the others."""
    by_name, by_partner = (
        {match.name: match for match in Reconciler(load_checklist()).reconcile(names).matched}
        for names in (listed.names, listed.partners)
    )
    pairs = list(dict.fromkeys(zip(listed.names, listed.partners, strict=True)))
    both = [(by_name[a], by_partner[b]) for a, b in pairs if a in by_name and b in by_partner]
    differing = [(a, b) for a, b in both if a.taxon.taxon_id != b.taxon.taxon_id]
    text = f"{listed.title}: {len(both) - len(differing):,} of {len(both):,} the same species"
    if not differing:
        return text
    n_flagged = sum(b.taxon.scientific_name in a.elsewhere for a, b in differing)
    examples = "; ".join(f"{a.name} = {b.name}" for a, b in differing[:3])
    return (
        f"{text}; {n_flagged} of the other {len(differing)} are flagged as a different bird on other lists ({examples})"
    )


def genera() -> str:
    """Return the accuracy of the rule on genera, by AviList's own binomials.

    It is tried on binomials of eBird and BirdLife with another genus in AviList and, to simulate birds missing from
    AviList, on each species as if it were absent.
    """
    checklist = load_checklist()
    birds = checklist.find("Aves")
    species = checklist.species_of(birds) if birds is not None else []
    family_of = {taxon.lineage["genus"]: taxon.lineage["family"] for taxon in species}
    fitting: dict[tuple[str, str], set[str]] = {}
    for taxon in species:
        key = (taxon.lineage["family"], epithet_stem(taxon.scientific_name))
        fitting.setdefault(key, set()).add(taxon.taxon_id)
    right = wrong = 0
    for taxon in species:
        for synonym in taxon.synonyms:
            genus = synonym.split()[0]
            found = fitting.get((family_of.get(genus, ""), epithet_stem(synonym)), set())
            if genus != taxon.lineage["genus"] and len(found) == 1:
                right, wrong = right + (found == {taxon.taxon_id}), wrong + (found != {taxon.taxon_id})
    taken = sum(len(found) for found in fitting.values() if len(found) == 2)
    return (
        f"changed genus, synonyms hidden: {right:,} of {right + wrong:,} right; "
        f"a missing bird matched to another: {taken:,} of {len(species):,}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shared", type=Path, help="folder of the shared data; default: only the lists in packages")
    parser.add_argument("--missed", action="store_true", help="also print unmatched names")
    parser.add_argument("--n", type=int, help="only the first names of each list")
    options = parser.parse_args(arguments)
    out, missed, agreed = [" | ".join(HEADINGS), "|".join(["---"] * len(HEADINGS))], [], []
    for listed in lists(options.shared):
        listed = replace(listed, names=listed.names[: options.n], partners=listed.partners[: options.n])
        found = Reconciler(load_checklist()).reconcile(listed.names)
        out.append(" | ".join(row_of(listed, found)))
        missed += [f"{listed.title}: {name.name} ({name.reason})" for name in found.unmatched]
        if listed.partners:
            agreed.append(agreement(listed))
    sys.stdout.write("\n".join(f"| {line} |" for line in out) + "\n\n" + "\n".join(agreed) + f"\n{genera()}\n")
    if options.missed:
        sys.stdout.write("\n" + "\n".join(missed) + "\n")
    return 0


def _both(title: str, rows: Sequence[dict[str, str]], common: str) -> Iterator[NamedList]:
    named = [(row["scientific_name"], row[common]) for row in rows if row["scientific_name"] and row[common]]
    named = list(dict.fromkeys(named))
    binomials, english = zip(*named, strict=True)
    yield NamedList(title=f"{title}, binomials", names=tuple(dict.fromkeys(binomials)))
    yield NamedList(title=f"{title}, English", names=english, partners=binomials)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


if __name__ == "__main__":
    raise SystemExit(main())
