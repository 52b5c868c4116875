"""Reliability of the starter's confidence: `python -m training.starter.reliability --data DIR --work DIR`.

Nested: weights and parameters for a photo are fitted without any photo of its species. Prints Markdown tables; with
`--pictures DIR` draws the reliability diagram and the risk-coverage curve there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import numpy as np
import pandas as pd

from data.arrays import IntArray
from recognize.confidence.calibration import SHIPPED, Parameters, read_calibration
from recognize.confidence.chances import chances_of
from recognize.confidence.ranks import RANKS, JudgedRank
from recognize.scoring.fusion import WEIGHTS
from recognize.scoring.pairs import Scores
from recognize.settings import MIN_CONFIDENCE, UNKNOWN_PRIOR
from training.starter.calibrate import MODES, fit_parameters, is_right
from training.starter.cases import Case, ask, fitting_cases
from training.starter.charts import Line, Panel, draw
from training.starter.fitting import calibration_error
from training.starter.protocol import N_FOLDS
from training.starter.study import SETTINGS, Study, read_study
from training.tables import decimals, study_options, table, with_interval

if TYPE_CHECKING:
    from pandas import DataFrame

N_BINS: Final = 10
FALSE_ALARMS: Final = 0.05
N_RESAMPLES: Final = 500
TITLES: Final = {"three": "three reference photos", "wiki": "one reference photo"}


def judge(
    study: Study, photos: IntArray, present: Sequence[Case], without: Sequence[Case], fitted: Parameters
) -> DataFrame:
    """Return the chances that parameters give photos, and the truth: one row per photo.

    Columns: `species`; `is_duplicate`, of an anchor; `species sure` and `species right`, likewise for genus and family;
    `unknown`, the chance at even odds of an unknown species; `unknown without`, the same for a knowledge base without
    the photo's species.
    """
    chances, chances_without = (
        chances_of(np.array([case.evidence(fitted.temperature) for case in cases]), fitted, unknown_prior=0.5)
        for cases in (present, without)
    )
    return pd.DataFrame(
        {
            "species": study.collection.labels[photos],
            "is_duplicate": ~np.isin(photos, study.collection.queries),
            **{f"{rank} sure": [each.held[rank] for each in chances] for rank in RANKS},
            **{f"{rank} right": is_right(present, rank) for rank in RANKS},
            "unknown": [each.unknown for each in chances],
            "unknown without": [each.unknown for each in chances_without],
        }
    )


def photos_of_fold(study: Study, fold: int, setting: str) -> IntArray:
    """Return the photos of a setting and fold, near-duplicates of anchors included."""
    collection = study.collection
    photos = collection.hidden if setting == "seen" else collection.left_over
    mine: IntArray = photos[collection.folds[collection.labels[photos]] == fold]
    return mine


def measure(study: Study, mode: str) -> DataFrame:
    """Return `judge` of all photos by nested parameters, with columns `setting` and `is_bounded`.

    Each photo has two rows: for the open vocabulary, and for the species of the queries.
    """
    parts: dict[str, list[DataFrame]] = {setting: [] for setting in SETTINGS}
    weights = study.nested_weights(mode)
    asked_species = np.unique(study.collection.labels[study.collection.left_over])
    for fold in range(N_FOLDS):
        fitted = fit_parameters(weights[fold], fitting_cases(study, mode, weights[fold], without=fold))
        for setting in SETTINGS:
            photos = photos_of_fold(study, fold, setting)
            model = study.seen if setting == "seen" else study.folds[fold]
            for is_bounded, vocabulary in ((False, study.everything), (True, asked_species)):
                present, without = (
                    ask(study, model, mode, photos, weights[fold], is_unknown=is_unknown, vocabulary=vocabulary)
                    for is_unknown in (False, True)
                )
                judged = judge(study, photos, present, without, fitted)
                parts[setting].append(judged.assign(setting=setting, is_bounded=is_bounded))
    return pd.concat([part for setting in SETTINGS for part in parts[setting]], ignore_index=True)


def shipped(study: Study, mode: str) -> DataFrame:
    """Return `judge` of the hidden half by the shipped weights and parameters."""
    fitted = read_calibration(SHIPPED).parameters["default"][MODES[mode]]
    weights = WEIGHTS["starter"][MODES[mode]]
    present, without = (
        ask(study, study.seen, mode, study.hidden, weights, is_unknown=is_unknown) for is_unknown in (False, True)
    )
    return judge(study, study.hidden, present, without, fitted)


def by_setting(judged: DataFrame) -> dict[str, DataFrame]:
    """Return setting -> its rows."""
    return {setting: judged[judged["setting"] == setting] for setting in SETTINGS}


def calibration_table(mode: str, judged: DataFrame, hidden: DataFrame) -> list[str]:
    """Return the table of calibration errors."""
    kept = judged[~judged["is_duplicate"]]
    opened, bounded = kept[~kept["is_bounded"]], kept[kept["is_bounded"]]
    parts = {
        "both": opened,
        "both, with near-duplicates of anchors": judged[~judged["is_bounded"]],
        **by_setting(opened),
        "seen, by the file that ships": hidden,
        "both, bounded vocabulary": bounded,
        **{f"{setting}, bounded vocabulary": part for setting, part in by_setting(bounded).items()},
    }
    rows = {
        name: [
            f"{len(part):,}",
            *(decimals(_error(part, rank)) for rank in RANKS),
            decimals(part["species sure"].mean()),
            decimals(part["species right"].mean()),
        ]
        for name, part in parts.items()
    }
    return table(f"Calibration error, `{mode}`", ["", "n", *RANKS, "mean confidence", "correct"], rows)


def _error(judged: DataFrame, rank: JudgedRank) -> float:
    return calibration_error(judged[f"{rank} sure"].to_numpy(), judged[f"{rank} right"].to_numpy(), N_BINS)


def risk_table(mode: str, judged: DataFrame) -> list[str]:
    """Return the table of correct answers by minimum confidence, with the share of photos that get one."""
    floors = (0.3, 0.5, 0.7, 0.9)
    rows = {}
    for setting, part in by_setting(judged).items():
        sure, right = part["species sure"], part["species right"]
        rows[setting] = [f"{decimals(right[sure >= f].mean())} of {decimals((sure >= f).mean())}" for f in floors]
    title = f"Correct, of the share answered, by minimum confidence, `{mode}`"
    return table(title, ["", *(f"{floor:.1f}" for floor in floors)], rows)


def answers_table(mode: str, judged: DataFrame) -> list[str]:
    """Return the table of the answers of `kb identify` with its defaults: their frequency and accuracy."""
    rows = {}
    for setting, part in by_setting(judged).items():
        is_unknown = _with_prior(part["unknown"], UNKNOWN_PRIOR) > 0.5
        cells, rest = [], ~is_unknown
        for rank in RANKS:
            mine = rest & (part[f"{rank} sure"] >= MIN_CONFIDENCE)
            correct = decimals(part[f"{rank} right"][mine].mean()) if mine.any() else "-"
            cells.append(f"{decimals(mine.mean())}, {correct} correct")
            rest &= ~mine
        rows[setting] = [*cells, decimals(rest.mean()), decimals(is_unknown.mean())]
        found = _with_prior(part["unknown without"], UNKNOWN_PRIOR) > 0.5
        rows[f"{setting}, as unknown species"] = ["", "", "", "", decimals(found.mean())]
    title = f"Answers at --min-confidence {MIN_CONFIDENCE}, --unknown-prior {UNKNOWN_PRIOR}, `{mode}`"
    return table(title, ["", *RANKS, "not sure", "unknown"], rows)


def unknown_table(mode: str, judged: DataFrame) -> list[str]:
    """Return the table of the separation of unknown from known species."""
    rows = {}
    for name, part in {"both": judged, **by_setting(judged)}.items():
        chances = part[["unknown", "unknown without"]].to_numpy()
        groups = list(part.groupby("species").indices.values())
        rng = np.random.default_rng(0)
        draws = (rng.integers(0, len(groups), len(groups)) for _ in range(N_RESAMPLES))
        resampled = [_separation(*chances[np.concatenate([groups[i] for i in draw])].T) for draw in draws]
        low, high = np.quantile(resampled, (0.025, 0.975), axis=0)
        cells = [with_interval(*cell) for cell in zip(_separation(*chances.T), low, high, strict=True)]
        error = calibration_error(chances.T.ravel(), np.repeat([False, True], len(chances)), N_BINS)
        rows[name] = [*cells, decimals(error)]
    header = ["", "ROC AUC", "found at 5 % false alarms", "calibration error, half unknown"]
    return table(f"Unknown species, `{mode}`", header, rows)


def _separation(known: Scores, unknown: Scores) -> tuple[float, float]:
    """Return the ROC AUC, ties counting half, and the detection rate at `FALSE_ALARMS`."""
    ordered = np.sort(known)
    below, up_to = (np.searchsorted(ordered, unknown, side=side) for side in ("left", "right"))
    auc = float((below + up_to).mean() / 2 / len(ordered))
    return auc, float((unknown > np.quantile(known, 1 - FALSE_ALARMS)).mean())


def _with_prior(even: Scores, prior: float) -> Scores:
    """Return chances of an unknown species at even odds, for another prior."""
    unknown, known = even * prior, (1 - even) * (1 - prior)
    return unknown / (unknown + known)


def reliability_chart(judged: dict[str, DataFrame]) -> str:
    """Return the SVG of the share of correct answers by confidence, in ten bins of equal size."""
    panels = []
    for mode, photos in judged.items():
        lines = []
        for name, part in {**by_setting(photos), "both": photos}.items():
            sure, right = part["species sure"].to_numpy(), part["species right"].to_numpy()
            bins = np.array_split(np.argsort(sure, kind="stable"), N_BINS)
            lines.append(Line(name=name, points=[(float(sure[b].mean()), float(right[b].mean())) for b in bins]))
        panels.append(Panel(title=TITLES[mode], lines=lines, has_diagonal=True))
    return draw(panels, x="confidence", y="share correct")


def risk_chart(judged: dict[str, DataFrame]) -> str:
    """Return the SVG of the share of wrong answers when only the most confident photos are answered."""
    panels = []
    for mode, photos in judged.items():
        lines = []
        for name, part in {**by_setting(photos), "both": photos}.items():
            order = np.argsort(-part["species sure"].to_numpy(), kind="stable")
            n = np.arange(1, len(order) + 1)
            risk = np.cumsum(~part["species right"].to_numpy()[order]) / n
            steps = np.linspace(len(order) * 0.02, len(order), 80).astype(int) - 1
            points = [(float(n[i] / len(order)), float(risk[i])) for i in steps]
            lines.append(Line(name=name, points=points, is_marked=False))
        panels.append(Panel(title=TITLES[mode], lines=lines))
    return draw(panels, x="share of photos answered", y="share of wrong answers", top=0.6)


@click.command()
@study_options
@click.option("--pictures", type=click.Path(path_type=Path), help="Folder for reliability.svg and risk_coverage.svg.")
def main(data: Path, work: Path, pictures: Path | None) -> None:
    """Print how reliable the starter's confidence is."""
    study = read_study(data, work)
    kept = {}
    for mode in MODES:
        judged = measure(study, mode)
        kept[mode] = photos = judged[~judged["is_duplicate"] & ~judged["is_bounded"]]
        lines = calibration_table(mode, judged, shipped(study, mode)) + risk_table(mode, photos)
        click.echo("\n".join(lines + answers_table(mode, photos) + unknown_table(mode, photos)))
    if pictures is not None:
        pictures.mkdir(parents=True, exist_ok=True)
        (pictures / "reliability.svg").write_text(reliability_chart(kept), encoding="utf-8")
        (pictures / "risk_coverage.svg").write_text(risk_chart(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
