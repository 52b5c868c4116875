"""Cost of a Ray cluster for `kb identify` on the shipped knowledge, and where it begins to pay.

    python -m benchmarks.engines --photos FOLDER [--n 300] [--address HOST:PORT]

Without an address, a cluster of one node is started on this machine: what it adds to a run here is what it costs. The
photos are identified in this process, then on the cluster; processor time of this process tells how many nodes it can
serve. Needs the extra `scale` for the rows of the cluster.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path


def clocks(action: Callable[[], object]) -> tuple[float, float]:
    """Return the duration of an action and its processor time in this process, both in seconds."""
    start, worked = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - start, time.process_time() - worked


def main() -> None:
    """Measure and print a table."""
    from cli.verbs.identify import limit_numpy_threads

    limit_numpy_threads()  # like the command, before NumPy is loaded; hence the late imports

    import kb
    import recognize
    from cli.common.wiring import LOADERS
    from data.engines.ray_engine import RayEngine
    from data.images.find import find_images
    from kb.shipped import unpack_shipped

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--n", type=int, default=300)
    parser.add_argument("--address", metavar="HOST:PORT")
    args = parser.parse_args()
    photos = [str(path) for path in find_images([str(args.photos)])]
    photos = photos[:: max(1, len(photos) // args.n)][: args.n]
    n = len(photos)
    lines = [f"{n} photos of {args.photos}, {os.cpu_count()} cores", "", "| | seconds |", "|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        encoders = recognize.load_encoders("starter")
        with kb.open(unpack_shipped(Path(folder), encoders)) as store:
            here = recognize.Recognizer(store, encoders, unknown_prior=0.2)
            list(here.identify(photos[:1]))  # reads the weights
            alone, effort = clocks(lambda: list(here.identify(photos)))
            lines += [
                f"| in this process, {n} photos | {alone:.1f} |",
                f"| its processor time for one photo | {effort / n:.4f} |",
            ]
            if importlib.util.find_spec("ray") is not None:
                with closing(RayEngine(args.address, results=Path(folder) / "shards", loaders=LOADERS)) as engine:
                    there = recognize.Recognizer(store, encoders, unknown_prior=0.2, engine=engine)
                    first, _ = clocks(lambda: list(there.identify(photos[:1])))
                    second, _ = clocks(lambda: list(there.identify(photos[1:2])))
                    spread, own = clocks(lambda: list(there.identify(photos)))
                fixed = max(0.0, first - second)
                lines += [
                    f"| cluster: start, workers and models | {fixed:.1f} |",
                    f"| cluster: one photo after that | {second:.2f} |",
                    f"| cluster: {n} photos after that | {spread:.1f} |",
                    f"| cluster: processor time of this process for one photo | {own / n:.4f} |",
                    "",
                    f"Two machines like this one are faster than one from {fixed / (alone / n / 2):,.0f} photos on; "
                    f"this process can serve {effort / max(own, 1e-9):.0f} of them.",
                ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
