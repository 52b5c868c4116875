"""Speed and memory of `kb identify` on the shipped knowledge: a new process, a warm one, a folder.

    python -m benchmarks.identify --photos FOLDER [--n 300] [--rounds 5]

The throughput on the folder without looking for birds (`--fast`) is compared with the bare ONNX model on prepared
tensors, in the faster of two ways: photos in parallel with one thread each, or one after the other with all threads.
Both are timed in turn, so that a busy machine slows both. Photos enlarged to the size of a phone's, dominated by
decoding, are timed separately. Aims: a new process under 2 s, a warm photo under 0.1 s, 25 photos/s, with `--fast` 80 %
of the bare model's throughput, memory under 600 MB.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnxruntime

# Runs the command line in this process, then prints its peak memory in KiB.
RUN = """
import resource, sys
from cli.main import main
try:
    main()
except SystemExit:
    pass
sys.stderr.write(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}")
"""

N_LARGE = 60  # number of enlarged photos


def seconds(action: Callable[[], object]) -> float:
    """Return the duration of an action."""
    return both_clocks(action)[0]


def both_clocks(action: Callable[[], object]) -> tuple[float, float]:
    """Return the duration of an action and its processor time, both in seconds."""
    start, worked = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - start, time.process_time() - worked


def bare_runs(tensors: list[object]) -> dict[str, Callable[[], None]]:
    """Return two ways to run the bare model over all tensors."""
    import onnxruntime

    from recognize.starter.encoders import TOWER_FILE, Weights

    n_threads = os.cpu_count() or 1

    def session(threads: int) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        path = str(Weights().folder / TOWER_FILE)
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    alone, together = session(1), session(n_threads)

    def side_by_side() -> None:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(lambda tensor: alone.run(None, {"pixels": tensor}), tensors))

    def one_by_one() -> None:
        for tensor in tensors:
            together.run(None, {"pixels": tensor})

    return {"side by side": side_by_side, "one by one": one_by_one}


def enlarged(photos: list[str], folder: Path) -> list[str]:
    """Return copies of photos with 12 megapixels, as JPEGs in a folder."""
    from PIL import Image

    folder.mkdir()
    made = []
    for i, photo in enumerate(photos):
        with Image.open(photo) as image:
            size = (4000, 3000) if image.width >= image.height else (3000, 4000)
            made.append(str(folder / f"{i}.jpg"))
            image.convert("RGB").resize(size, Image.Resampling.BICUBIC).save(made[-1], quality=90)
    return made


def main() -> None:
    """Measure and print a table."""
    from cli.verbs.identify import limit_numpy_threads

    limit_numpy_threads()  # like the command, before NumPy is loaded; hence the late imports

    from PIL import Image

    import kb
    import recognize
    from cli.common import wiring
    from data.images.find import find_images
    from kb.shipped import unpack_shipped
    from recognize.settings import MIN_CONFIDENCE, UNKNOWN_PRIOR
    from recognize.tower import pixels_of

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--n", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    photos = [str(path) for path in find_images([str(args.photos)])]
    photos = photos[:: max(1, len(photos) // args.n)][: args.n]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        encoders = recognize.load_encoders("starter")
        _ = encoders.spaces  # the weights are read here, not while the clock runs
        unpacking = seconds(lambda: unpack_shipped(home, encoders))
        environment = {**os.environ, "FIELDMARK_HOME": folder}
        environment.pop("FIELDMARK_KB", None)

        def identify(*arguments: str) -> int:
            command = [sys.executable, "-c", RUN, "identify", "--quiet", "--format", "jsonl", *arguments]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            return int(done.stderr.rsplit("peak ", 1)[1])

        new = [seconds(lambda: identify(photos[0])) for _ in range(args.rounds)]
        peak = identify(*photos)
        store = kb.open(unpack_shipped(home, encoders))
        recognizer, fast = (
            wiring.make_recognizer(
                store,
                preset="default",
                k=5,
                min_confidence=MIN_CONFIDENCE,
                unknown_prior=UNKNOWN_PRIOR,
                fast=is_fast,
            )
            for is_fast in (False, True)
        )
        warm = [seconds(lambda photo=photo: list(recognizer.identify([photo]))) for photo in photos[:50]]  # type: ignore[misc]
        tensors: list[object] = []
        for photo in photos:
            with Image.open(photo) as image:
                tensors.append(pixels_of(image.convert("RGB"))[None])
        runs = {
            **bare_runs(tensors),
            "fast": lambda: list(fast.identify(photos)),
            "identify": lambda: list(recognizer.identify(photos)),
        }
        times: dict[str, list[float]] = {name: [] for name in runs}
        work: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(args.rounds):
            for name, run in runs.items():
                took, worked = both_clocks(run)
                times[name].append(took)
                work[name].append(worked)
        large = enlarged(photos[:N_LARGE], home / "large")
        large_s = statistics.median(seconds(lambda: list(recognizer.identify(large))) for _ in range(args.rounds))
        store.close()
    ratios = [min(a, b) / c for a, b, c, _ in zip(*times.values(), strict=True)]
    effort = statistics.median(min(a, b) / c for a, b, c, _ in zip(*work.values(), strict=True))
    per_photo = statistics.median(work["identify"]) / len(photos)
    lines = [
        f"{len(photos)} photos of {args.photos}, {args.rounds} rounds, {os.cpu_count()} cores; medians (worst)",
        "",
        "| | measured | aim |",
        "|---|---|---|",
        f"| a new process, one photo, knowledge unpacked | {middle(new)} s | 2 |",
        f"| warm, a photo at a time | {middle(warm)} s | 0.1 |",
        *(
            f"| bare model, {name} | {len(photos) / statistics.median(times[name]):.1f} photos/s | |"
            for name in ("side by side", "one by one")
        ),
        f"| kb identify over the folder | {len(photos) / statistics.median(times['identify']):.1f} photos/s | 25 |",
        f"| its processor time, which a busy machine distorts less | {per_photo * 1000:.0f} ms/photo | 80 on 2 cores |",
        f"| kb identify --fast over the folder | {len(photos) / statistics.median(times['fast']):.1f} photos/s | |",
        f"| of the better bare run, in the same round | {statistics.median(ratios):.0%} ({min(ratios):.0%}) | 80 % |",
        f"| the same by processor time, which a busy machine distorts less | {effort:.0%} | |",
        f"| kb identify over {len(large)} photos enlarged to 12 megapixels | {len(large) / large_s:.1f} photos/s | |",
        f"| peak memory over the folder | {peak / 1024:.0f} MiB | 600 MB |",
        f"| unpacking the knowledge, once | {unpacking:.1f} s | |",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


def middle(values: list[float]) -> str:
    """Return the median, and the worst in brackets."""
    return f"{statistics.median(values):.3f} ({max(values):.3f})"


if __name__ == "__main__":
    main()
