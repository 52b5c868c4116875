"""How good runs are: the usual measures over the queries whose relevant images are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from data.errors import BadInput
from data.metrics import Measured, average_precision, hit, measure, ndcg, precision, recall, reciprocal_rank
from data.records import Job, RankedImage


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """The figures of one run. `data.metrics.DEFINITIONS` says what each measure is; intervals are over queries."""

    n: int
    """Queries measured."""
    n_without_relevant: int
    """Queries left out because no relevant image is known."""
    n_errors: int
    """Images that could not be read; they rank last."""
    measures: tuple[Measured, ...]

    def __getitem__(self, name: str) -> Measured:
        return next(measured for measured in self.measures if measured.name == name)


def evaluate(
    runs: Iterable[Sequence[RankedImage]],
    jobs: Iterable[Job],
    *,
    cutoffs: Sequence[int] = (1, 10, 50),
    n_resamples: int = 2_000,
) -> RunReport:
    """Return the figures of re-ranked lists.

    An image is relevant if its job's `relevant` names it; relevant images that the first stage missed count as missed.
    `AP`, `AP (INQUIRE)`, `nDCG` and `MRR` are over the whole list, the others at each cutoff.

    Args:
        runs: one ranked list for each job, in any order; `rerank.first_stage(job)` gives the one to compare with.
        jobs: the jobs, with `relevant`.
        cutoffs: the k of hit@k, P@k, R@k, AP@k and nDCG@k.
        n_resamples: of the bootstrap.

    Raises:
        BadInput: if a job has no run, a run no job, or a run is not a permutation of its job's images.
        ValueError: if no job has relevant images.

    Example:
        >>> from data.records import Job, JobImage
        >>> from rerank import first_stage
        >>> images = tuple(JobImage(image_id=c, path=c, score=s) for c, s in (("a", 0.9), ("b", 0.8), ("c", 0.7)))
        >>> job = Job(query_id="q", text="red crown", candidates=images, relevant=("b",))
        >>> evaluate([first_stage(job)], [job])["MRR"].micro
        0.5
    """
    by_query = {job.query_id: job for job in jobs}
    lists: dict[str, list[RankedImage]] = {}
    for run in runs:
        images = sorted(run, key=lambda image: image.rank)
        if not images:
            continue  # of a job without candidates
        query_id = images[0].query_id
        if query_id not in by_query:
            raise BadInput(f"there is a run for {query_id!r}, but no such job")
        lists[query_id] = images
    measured_ids: list[str] = []
    values: dict[str, list[float]] = {}
    n_errors = 0
    for query_id, job in by_query.items():
        images = lists.get(query_id, [])
        if sorted(image.image_id for image in images) != sorted(image.image_id for image in job.candidates):
            raise BadInput(f"the run for {query_id!r} is not a permutation of the job's images")
        n_errors += sum(image.status == "error" for image in images)
        if job.relevant:
            measured_ids.append(query_id)
            for name, value in _measures(images, frozenset(job.relevant), cutoffs).items():
                values.setdefault(name, []).append(value)
    if not measured_ids:
        raise ValueError("expected at least one job with relevant images")
    return RunReport(
        n=len(measured_ids),
        n_without_relevant=len(by_query) - len(measured_ids),
        n_errors=n_errors,
        measures=tuple(measure(name, found, measured_ids, n_resamples=n_resamples) for name, found in values.items()),
    )


def _measures(images: Sequence[RankedImage], relevant: frozenset[str], cutoffs: Sequence[int]) -> dict[str, float]:
    is_relevant = [image.image_id in relevant for image in images]
    first = is_relevant.index(True) + 1 if True in is_relevant else None
    n, gains = len(relevant), [float(found) for found in is_relevant]
    ideal = [1.0] * n
    whole = max(1, len(images))
    found = {
        "AP": average_precision(is_relevant, n_relevant=n),
        "AP (INQUIRE)": average_precision(is_relevant, n_relevant=n, k=whole, divided_by="reachable"),
        "nDCG": ndcg(gains, all_gains=ideal, k=whole),
        "MRR": reciprocal_rank(first),
    }
    for k in cutoffs:
        found |= {
            f"hit@{k}": hit(first, k),
            f"P@{k}": precision(is_relevant, k),
            f"R@{k}": recall(is_relevant, k, n_relevant=n),
            f"AP@{k}": average_precision(is_relevant, n_relevant=n, k=k),
            f"nDCG@{k}": ndcg(gains, all_gains=ideal, k=k),
        }
    return found
