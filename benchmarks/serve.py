"""Load on `kb serve`: clients that identify a photo again and again, and one that browses meanwhile.

    python -m benchmarks.serve PHOTO... [--clients 20] [--seconds 60]

Starts the server with the shipped knowledge at a free port. Aims, on two cores with photos of 420 pixels: no error,
95 % of the answers in under 1.5 s, of the pages in under 0.1 s, and memory that does not grow after the first third.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np

PAGES = ("/", "/species?q=red+crest", "/species/cardinalis-cardinalis", "/healthz")


async def identifies(client: httpx.AsyncClient, photos: list[Path], end: float, took: list[float]) -> None:
    """Send photos one after the other until the end, and note the seconds of each answer."""
    for at in range(10**9):
        began = time.perf_counter()
        if began > end:
            return
        photo = photos[at % len(photos)]
        answer = await client.post("/api/v1/identify", files={"photos": (photo.name, photo.read_bytes())})
        answer.raise_for_status()
        took.append(time.perf_counter() - began)


async def browses(client: httpx.AsyncClient, end: float, took: list[float]) -> None:
    """Ask for pages until the end, a fifth of a second apart, and note the seconds of each."""
    for at in range(10**9):
        began = time.perf_counter()
        if began > end:
            return
        (await client.get(PAGES[at % len(PAGES)])).raise_for_status()
        took.append(time.perf_counter() - began)
        await asyncio.sleep(0.2)


def resident(pid: int) -> float:
    """Return the memory of a process in MiB."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


async def run(address: str, pid: int, photos: list[Path], n_clients: int, seconds: float) -> None:
    """Load the server, and print how long answers and pages took, and its memory."""
    answers, pages, memory = list[float](), list[float](), list[float]()
    async with httpx.AsyncClient(base_url=address, timeout=60) as client:
        end = time.perf_counter() + seconds
        work = [identifies(client, photos, end, answers) for _ in range(n_clients)] + [browses(client, end, pages)]
        running = asyncio.gather(*work)
        while not running.done():
            memory.append(resident(pid))
            await asyncio.wait([running], timeout=seconds / 30)
        await running
    for name, took in (("answers", answers), ("pages", pages)):
        half, most = np.percentile(took, [50, 95])
        sys.stdout.write(
            f"{len(took):,} {name}: median {half:.3f} s, 95 % in {most:.3f} s, longest {max(took):.3f} s\n"
        )
    third = memory[len(memory) // 3 :]
    sys.stdout.write(
        f"memory: {memory[0]:.0f} MiB at first, {third[0]:.0f} after a third, {memory[-1]:.0f} at the end\n"
    )


def main() -> None:
    """Start the server and load it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=Path, nargs="+")
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0)
    args = parser.parse_args()
    command = [sys.executable, "-c", "from cli.main import main; main()", "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            lines = iter(server.stderr.readline, "") if server.stderr is not None else iter(())
            address = next(found[0] for line in lines if (found := re.search(r"http://\S+", line)))
            asyncio.run(run(address, server.pid, args.photos, args.clients, args.seconds))
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
