"""Effect of position bias on a ranking, and of fusing several orders: `python -m benchmarks.listwise`.

The ranker is simulated: each of 20 photos has a true worth from 1 to 20, each later position costs `bias`, and noise is
added. As the bias is known, the table shows whether the measure detects it and how much fusing corrects it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from scipy.stats import kendalltau  # type: ignore[import-untyped]

from rerank.cotrr.reranker import fuse_ranks, input_orders, ranks_of

N_PHOTOS = 20
N_LISTS = 200
NOISE = 1.0  # standard deviation of the noise, in worths
BIASES = (0.0, 0.25, 0.5, 1.0, 2.0)
ORDERS = (1, 2, 4, 8)


def main() -> None:
    """Print a table: effect, agreement, and Kendall's tau with the worth for each number of orders."""
    heads = "".join(f"{f'tau, {n} orders' if n > 1 else 'tau, 1 order':>15}" for n in ORDERS)
    lines = [f"{N_LISTS} lists of {N_PHOTOS} simulated photos", f"{'bias':>5}{'effect':>9}{'agreement':>11}{heads}"]
    for bias in BIASES:
        effects, agreements = [], []
        taus: dict[int, list[float]] = {n: [] for n in ORDERS}
        for seed in range(N_LISTS):
            rng = np.random.default_rng(seed)
            worth = rng.permutation(N_PHOTOS) + 1.0
            shown = input_orders(N_PHOTOS, max(ORDERS), seed=str(seed))
            rankings = [_ranked(order, worth, bias, rng) for order in shown]
            # Over an order and its reverse, the merit of the photos cancels out.
            effects += [_tau(np.argsort(order), ranks) for order, ranks in zip(shown[:2], rankings, strict=False)]
            agreements.append(_tau(*rankings[:2]))
            for n in ORDERS:
                taus[n].append(_tau(worth, fuse_ranks(rankings[:n])))
        row = "".join(f"{np.mean(taus[n]):15.2f}" for n in ORDERS)
        lines.append(f"{bias:5.2f}{np.mean(effects):9.2f}{np.mean(agreements):11.2f}{row}")
    sys.stdout.write("\n".join(lines) + "\n")


def _tau(one: Sequence[float] | np.ndarray, other: Sequence[float]) -> float:
    return float(kendalltau(one, other).statistic)


def _ranked(order: list[int], worth: np.ndarray, bias: float, rng: np.random.Generator) -> list[float]:
    """Return the rank of each photo by the simulated ranker, for photos shown in this order."""
    place = np.argsort(order)
    pull = worth - bias * place + rng.normal(0, NOISE, len(worth))
    return ranks_of(np.argsort(-pull).tolist(), len(worth))


if __name__ == "__main__":
    main()
