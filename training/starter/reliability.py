"""Reliability of the starter's confidence: `python -m training.starter.reliability --data DIR --work DIR`.

Nested: weights and parameters for a photo are fitted without any photo of its species. Prints Markdown tables; with
`--pictures DIR` draws the reliability diagram and the risk-coverage curve there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
import numpy as np
from numpy.typing import NDArray

from data.arrays import IntArray
from recognize.confidence.calibration import RANKS, JudgedRank, Parameters, chances_of
from recognize.evaluation.protocol import N_FOLDS
from recognize.scoring.fusion import WEIGHTS
from recognize.scoring.pairs import Scores
from recognize.settings import MIN_CONFIDENCE, UNKNOWN_PRIOR
from training.starter.calibrate import MODES, fit_parameters, is_right
from training.starter.cases import Case, ask, lesson
from training.starter.charts import Line, Panel, draw
from training.starter.fitting import calibration_error
from training.starter.study import Study, read_study

SETTINGS: Final = ("unseen", "seen")
N_BINS: Final = 10
FALSE_ALARMS: Final = 0.05
N_DRAWS: Final = 500
SHARES: Final = (0.05, 0.2, 0.5)
TITLES: Final = {"three": "three reference photos", "wiki": "one reference photo"}


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Photos with what was said of them and what is true."""

    species: IntArray
    """The species of each photo."""
    is_duplicate: NDArray[np.bool_]
    """Whether the photo is a near-duplicate of an anchor, which the protocol leaves out."""
    confidence: dict[JudgedRank, Scores]
    is_right: dict[JudgedRank, NDArray[np.bool_]]
    absent: Scores
    """How likely the bird is absent, half of all birds being so; asked with its species in the knowledge base."""
    absent_without: Scores
    """The same, asked with its species left out."""

    def __getitem__(self, kept: NDArray[np.bool_]) -> Judged:
        return Judged(
            species=self.species[kept],
            is_duplicate=self.is_duplicate[kept],
            confidence={rank: values[kept] for rank, values in self.confidence.items()},
            is_right={rank: values[kept] for rank, values in self.is_right.items()},
            absent=self.absent[kept],
            absent_without=self.absent_without[kept],
        )

    def error(self, rank: JudgedRank) -> float:
        """Return the expected calibration error of a rank."""
        return calibration_error(self.confidence[rank], self.is_right[rank], N_BINS)


def joined(parts: Sequence[Judged]) -> Judged:
    """Return all photos of some parts."""
    return Judged(
        species=np.concatenate([part.species for part in parts]),
        is_duplicate=np.concatenate([part.is_duplicate for part in parts]),
        confidence={rank: np.concatenate([part.confidence[rank] for part in parts]) for rank in RANKS},
        is_right={rank: np.concatenate([part.is_right[rank] for part in parts]) for rank in RANKS},
        absent=np.concatenate([part.absent for part in parts]),
        absent_without=np.concatenate([part.absent_without for part in parts]),
    )


def judge(
    study: Study, photos: IntArray, present: Sequence[Case], without: Sequence[Case], fitted: Parameters
) -> Judged:
    """Return what the parameters say of photos asked with and without their species."""
    said, said_without = (
        [chances_of(case.evidence(fitted.temperature), fitted, unknown_prior=0.5) for case in cases]
        for cases in (present, without)
    )
    return Judged(
        species=study.collection.labels[photos],
        is_duplicate=~np.isin(photos, study.collection.queries),
        confidence={rank: np.array([chances.confidence[rank] for chances in said]) for rank in RANKS},
        is_right={rank: is_right(present, rank) for rank in RANKS},
        absent=np.array([chances.unknown for chances in said]),
        absent_without=np.array([chances.unknown for chances in said_without]),
    )


def asked_of_fold(study: Study, fold: int, setting: str) -> IntArray:
    """Return the photos of a setting whose species is of a fold, near-duplicates of anchors among them."""
    collection = study.collection
    photos = collection.hidden if setting == "seen" else collection.left_over
    mine: IntArray = photos[collection.folds[collection.labels[photos]] == fold]
    return mine


def measure(study: Study, mode: str) -> tuple[dict[str, Judged], dict[str, Judged]]:
    """Return setting -> photos judged by nested parameters, in the open vocabulary and in that of the queries alone."""
    found: dict[bool, dict[str, list[Judged]]] = {bounded: {s: [] for s in SETTINGS} for bounded in (False, True)}
    weights = study.nested_weights(mode)
    asked_species = np.unique(study.collection.labels[study.collection.left_over])
    for fold in range(N_FOLDS):
        fitted = fit_parameters(weights[fold], lesson(study, mode, weights[fold], without=fold))
        for setting in SETTINGS:
            photos = asked_of_fold(study, fold, setting)
            model = study.seen if setting == "seen" else study.folds[fold]
            for bounded, parts in found.items():
                vocabulary = asked_species if bounded else study.everything
                present, without = (
                    ask(study, model, mode, photos, weights[fold], is_absent=is_absent, vocabulary=vocabulary)
                    for is_absent in (False, True)
                )
                parts[setting].append(judge(study, photos, present, without, fitted))
    opened, bounded_ones = ({s: joined(parts) for s, parts in found[b].items()} for b in (False, True))
    return opened, bounded_ones


def shipped(study: Study, mode: str) -> Judged:
    """Return the hidden half as the shipped weights and parameters judge it."""
    from recognize.confidence.calibration import read_calibration
    from training.starter.calibrate import SHIPPED

    photos = study.hidden
    fitted = read_calibration(SHIPPED).parameters[MODES[mode]]
    weights = WEIGHTS["starter"][MODES[mode]]
    present, without = (ask(study, study.seen, mode, photos, weights, is_absent=absent) for absent in (False, True))
    return judge(study, photos, present, without, fitted)


def calibration_table(mode: str, found: dict[str, Judged], bounded: dict[str, Judged], hidden: Judged) -> list[str]:
    """Return the table of calibration errors."""
    both = joined(list(found.values()))
    rows = {
        "both": both[~both.is_duplicate],
        "both, with near-duplicates of anchors": both,
        **{setting: found[setting][~found[setting].is_duplicate] for setting in SETTINGS},
        "seen, by the file that ships": hidden,
    }
    small = joined(list(bounded.values()))
    rows["both, bounded vocabulary"] = small[~small.is_duplicate]
    rows |= {f"{s}, bounded vocabulary": bounded[s][~bounded[s].is_duplicate] for s in SETTINGS}
    lines = [
        "",
        f"**calibration error, `{mode}`**",
        "",
        "| | n | species | genus | family | mean confidence | correct |",
    ]
    lines.append("|---" * 7 + "|")
    for name, judged in rows.items():
        cells = [f"{len(judged.species):,}", *(_short(judged.error(rank)) for rank in RANKS)]
        cells += [_short(judged.confidence["species"].mean()), _short(judged.is_right["species"].mean())]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def risk_table(mode: str, found: dict[str, Judged]) -> list[str]:
    """Return how often answers are right that are at least so sure, and what share of the photos gets one."""
    floors = (0.3, 0.5, 0.7, 0.9)
    lines = ["", f"**correct, of the share answered, by minimum confidence, `{mode}`**", ""]
    lines += ["| | " + " | ".join(f"{floor:.1f}" for floor in floors) + " |", "|---" * 5 + "|"]
    for setting in SETTINGS:
        judged = found[setting][~found[setting].is_duplicate]
        sure, right = judged.confidence["species"], judged.is_right["species"]
        cells = [f"{_short(right[sure >= f].mean())} of {_short((sure >= f).mean())}" for f in floors]
        lines.append(f"| {setting} | " + " | ".join(cells) + " |")
    return lines


def answers_table(mode: str, found: dict[str, Judged]) -> list[str]:
    """Return what `kb identify` answers with its own threshold and share: how often, and how often rightly."""
    lines = ["", f"**answers at --min-confidence {MIN_CONFIDENCE}, --unknown-prior {UNKNOWN_PRIOR}, `{mode}`**", ""]
    lines += ["| | species | genus | family | not sure | unknown |", "|---" * 6 + "|"]
    for setting in SETTINGS:
        judged = found[setting][~found[setting].is_duplicate]
        for name, even in (("", judged.absent), (", as unknown species", judged.absent_without)):
            is_none = _with_share(even, UNKNOWN_PRIOR) > 0.5
            if name:
                lines.append(f"| {setting}{name} | | | | | {_short(is_none.mean())} |")
                continue
            cells, rest = [], ~is_none
            for rank in RANKS:
                mine = rest & (judged.confidence[rank] >= MIN_CONFIDENCE)
                right = _short(judged.is_right[rank][mine].mean()) if mine.any() else "-"
                cells.append(f"{_short(mine.mean())}, {right} correct")
                rest &= ~mine
            cells += [_short(rest.mean()), _short(is_none.mean())]
            lines.append(f"| {setting} | " + " | ".join(cells) + " |")
    return lines


def absent_table(mode: str, found: dict[str, Judged]) -> list[str]:
    """Return how well birds that are not in the knowledge base are told from those that are."""
    lines = ["", f"**unknown species, `{mode}`**", ""]
    lines += ["| | ROC AUC | found at 5 % false alarms | calibration error, half unknown |", "|---" * 4 + "|"]
    parts = {"both": joined(list(found.values())), **found}
    for name, judged in parts.items():
        kept = judged[~judged.is_duplicate]
        values = np.array([_auc(kept), _detection(kept)])
        low, high = np.quantile(_draws(kept), (0.025, 0.975), axis=0)
        cells = [f"{_short(v)} ({_short(a)}-{_short(b)})" for v, a, b in zip(values, low, high, strict=True)]
        chances = np.concatenate([kept.absent, kept.absent_without])
        truth = np.repeat([False, True], len(kept.absent))
        lines.append(f"| {name} | " + " | ".join([*cells, _short(calibration_error(chances, truth, N_BINS))]) + " |")
    return lines


def _auc(judged: Judged) -> float:
    """Return how often an absent bird looks more absent than a present one, ties counting half."""
    ordered = np.sort(judged.absent)
    below, up_to = (np.searchsorted(ordered, judged.absent_without, side=side) for side in ("left", "right"))
    return float((below + up_to).mean() / 2 / len(ordered))


def _detection(judged: Judged) -> float:
    return float((judged.absent_without > np.quantile(judged.absent, 1 - FALSE_ALARMS)).mean())


def _draws(judged: Judged) -> Scores:
    """Return AUC and detection in draws of species with replacement, `(N_DRAWS, 2)`."""
    rng = np.random.default_rng(0)
    rows_of = [np.flatnonzero(judged.species == species) for species in np.unique(judged.species)]
    found = []
    for _ in range(N_DRAWS):
        rows = np.concatenate([rows_of[i] for i in rng.integers(0, len(rows_of), len(rows_of))])
        drawn = judged[rows]
        found.append((_auc(drawn), _detection(drawn)))
    return np.array(found)


def _with_share(even: Scores, share: float) -> Scores:
    """Return chances that were made for as many absent birds as present ones, for another share of absent ones."""
    absent, present = even * share, (1 - even) * (1 - share)
    result: Scores = absent / (absent + present)
    return result


def reliability_chart(found: dict[str, dict[str, Judged]]) -> str:
    """Return the SVG of how often answers are right that are so sure, in ten bins of as many photos."""
    panels = []
    for mode, settings in found.items():
        lines = []
        for name, judged in {**settings, "both": joined(list(settings.values()))}.items():
            kept = judged[~judged.is_duplicate]
            sure, right = kept.confidence["species"], kept.is_right["species"]
            bins = np.array_split(np.argsort(sure, kind="stable"), N_BINS)
            lines.append(Line(name=name, points=[(float(sure[b].mean()), float(right[b].mean())) for b in bins]))
        panels.append(Panel(title=TITLES[mode], lines=lines, has_diagonal=True))
    return draw(panels, x="confidence", y="share correct")


def risk_chart(found: dict[str, dict[str, Judged]]) -> str:
    """Return the SVG of how often answers are wrong when only the surest share of the photos is answered."""
    panels = []
    for mode, settings in found.items():
        lines = []
        for name, judged in {**settings, "both": joined(list(settings.values()))}.items():
            kept = judged[~judged.is_duplicate]
            order = np.argsort(-kept.confidence["species"], kind="stable")
            n = np.arange(1, len(order) + 1)
            risk = np.cumsum(~kept.is_right["species"][order]) / n
            steps = np.linspace(len(order) * 0.02, len(order), 80).astype(int) - 1
            points = [(float(n[i] / len(order)), float(risk[i])) for i in steps]
            lines.append(Line(name=name, points=points, is_marked=False))
        panels.append(Panel(title=TITLES[mode], lines=lines))
    return draw(panels, x="share of photos answered", y="share of wrong answers", top=0.6)


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True, help="The folder of photos.csv.")
@click.option(
    "--work", type=click.Path(path_type=Path, exists=True), required=True, help="Where training left its models."
)
@click.option("--pictures", type=click.Path(path_type=Path), help="Draw reliability.svg and risk_coverage.svg there.")
def main(data: Path, work: Path, pictures: Path | None) -> None:
    """Print how far the chances of the starter can be trusted."""
    study = read_study(data, work)
    all_found: dict[str, dict[str, Judged]] = {}
    for mode in MODES:
        found, bounded = measure(study, mode)
        all_found[mode] = found
        lines = calibration_table(mode, found, bounded, shipped(study, mode))
        lines += risk_table(mode, found) + answers_table(mode, found) + absent_table(mode, found)
        click.echo("\n".join(lines))
    if pictures is not None:
        pictures.mkdir(parents=True, exist_ok=True)
        for name, svg in (("reliability", reliability_chart(all_found)), ("risk_coverage", risk_chart(all_found))):
            (pictures / f"{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
