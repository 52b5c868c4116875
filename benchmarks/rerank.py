"""Speed of re-ranking against a server that takes 200 ms per reply, compared with bare HTTP.

`python -m benchmarks.rerank`. One query, 100 photos of 150 KB, three chained questions each, 32 calls in flight. The
server and each client run in separate processes. `bare HTTP` is a loop over `httpx.AsyncClient`, scheduled per call
like ours: it reads, encodes and sends the files and ignores the replies. `product` is `kb rerank`: it also checks
photos, strips metadata, reads log-probabilities, shares calls fairly, counts cost and stores each reply before use. The
replies are scripted, so only time is measured, not the quality of a model.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

QUESTIONS = ("Does the photo show a frog?", "Is one frog on the back of another?", "Does the upper one hold the lower?")
QUERY = "Water frogs in amplexus"


def main() -> None:
    """Print a table of times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--photos", type=int, default=100, help="number of photos")
    parser.add_argument("--reply-ms", type=float, default=200, help="milliseconds per reply of the server")
    parser.add_argument("--in-flight", type=int, default=32, help="number of concurrent calls")
    parser.add_argument("--repeats", type=int, default=3, help="number of runs of each client")
    parser.add_argument("--as", dest="role", choices=("server", "bare", "product", "together"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.role == "server":
        asyncio.run(_serve(given.reply_ms / 1000))
    elif given.role == "bare":
        asyncio.run(_bare(given.folder, given.port, given.in_flight))
    elif given.role:
        asyncio.run(_product(given.folder, given.port, given.in_flight, is_together=given.role == "together"))
    else:
        _compare(given)


def _compare(given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sizes = _make_photos(Path(folder), given.photos)
        command = [sys.executable, "-m", "benchmarks.rerank", "--in-flight", str(given.in_flight)]
        server = subprocess.Popen(
            [*command, "--as", "server", "--reply-ms", str(given.reply_ms)], stdout=subprocess.PIPE, text=True
        )
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        seconds: dict[str, list[tuple[float, float]]] = {"bare": [], "product": [], "together": []}
        try:
            for _ in range(given.repeats):
                for role, times in seconds.items():  # in turn, so that a busy machine slows all of them
                    done = subprocess.run(
                        [*command, "--as", role, "--folder", folder, "--port", port],
                        stdout=subprocess.PIPE, text=True, check=True, timeout=300,
                    )  # fmt: skip
                    wall, cpu = done.stdout.split()
                    times.append((float(wall), float(cpu)))
        finally:
            server.terminate()
            server.wait()
            server.stdout.close()
        n_calls = given.photos * len(QUESTIONS)
        ideal = math.ceil(n_calls / given.in_flight) * given.reply_ms / 1000
        names = {"bare": "bare HTTP", "product": "product", "together": "product, one call per photo"}
        lines = [
            f"{given.photos} photos of {sum(sizes) / len(sizes) / 1000:.0f} KB, {len(QUESTIONS)} chained questions, "
            f"{given.reply_ms:.0f} ms per reply, {given.in_flight} in flight; at least {ideal:.2f} s",
            f"{'':26}{'calls':>7}{'best s':>9}{'median s':>10}{'cpu s':>8}",
        ]
        for role, times in seconds.items():
            calls = given.photos if role == "together" else n_calls
            best, median = min(times)[0], sorted(times)[len(times) // 2][0]
            lines.append(f"{names[role]:26}{calls:7}{best:9.2f}{median:10.2f}{min(cpu for _, cpu in times):8.2f}")
        sys.stdout.write("\n".join(lines) + "\n")


def _make_photos(folder: Path, n: int) -> list[int]:
    """Write JPEGs of noise over a gradient, 1000 x 750 px and about 150 KB each; return their sizes."""
    from PIL import Image

    rng = np.random.default_rng(0)
    slope = np.linspace(0, 180, 1000)[None, :, None]
    sizes = []
    for i in range(n):
        coarse = rng.normal(0, 26, (375, 500, 3)).repeat(2, axis=0).repeat(2, axis=1)[:750, :1000]
        picture = Image.fromarray(np.clip(slope + coarse + 30, 0, 255).astype(np.uint8))
        out = io.BytesIO()
        picture.save(out, "JPEG", quality=56)
        (folder / f"{i:03}.jpg").write_bytes(out.getvalue())
        sizes.append(len(out.getvalue()))
    return sizes


async def _serve(reply_s: float) -> None:
    """Answer each chat request after `reply_s` with `Yes`, once per question."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    int(line.split(b":")[1])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length")
                )
                body = await reader.readexactly(length)
                await asyncio.sleep(reply_s)
                text = ["1", ". ", "Yes", "\n2. ", "Yes", "\n3. ", "Yes"] if b"one line for each" in body else ["Yes"]
                sent = json.dumps(_completion(text)).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(sent)
                )
                writer.write(sent)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, limit=2**20)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


def _completion(tokens: list[str]) -> dict[str, object]:
    content = [
        {
            "token": token, "logprob": -0.2, "bytes": None,
            "top_logprobs": [{"token": t, "logprob": p, "bytes": None} for t, p in ((token, -0.2), ("No", -1.7))],
        }
        for token in tokens
    ]  # fmt: skip
    message = {"role": "assistant", "content": "".join(tokens), "refusal": None}
    return {
        "id": "1", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": {"content": content}}],
        "usage": {"prompt_tokens": 400, "completion_tokens": len(tokens), "total_tokens": 400 + len(tokens)},
    }  # fmt: skip


async def _bare(folder: Path, port: int, n_in_flight: int) -> None:
    import httpx

    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/v1", timeout=60) as client:
        slots = asyncio.Semaphore(n_in_flight)

        async def image(path: Path) -> None:
            url = "data:image/jpeg;base64," + base64.b64encode(path.read_bytes()).decode()
            history = ""
            for question in QUESTIONS:
                parts = [
                    {"type": "text", "text": f"{QUERY}\n{history}{question} Answer Yes or No."},
                    {"type": "image_url", "image_url": {"url": url}},
                ]
                async with slots:
                    response = await client.post("chat/completions", json={
                        "model": "m", "messages": [{"role": "user", "content": parts}],
                        "max_tokens": 5, "temperature": 0, "logprobs": True, "top_logprobs": 20,
                    })  # fmt: skip
                history += f"{question} {response.json()['choices'][0]['message']['content']}\n"

        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(image(path) for path in sorted(folder.glob("*.jpg"))))
        sys.stdout.write(f"{time.perf_counter() - began} {time.process_time() - cpu}\n")


async def _product(folder: Path, port: int, n_in_flight: int, *, is_together: bool) -> None:
    from dataclasses import replace

    from data.records import Question
    from kb.endpoints.cache import ReplyCache
    from kb.endpoints.chat import Connection
    from kb.endpoints.endpoint import Endpoint
    from rerank import DecomposeReranker, FairChat, VisionJudge, job_of_folder
    from rerank.decompose.questions import QuestionWriter
    from rerank.queries import Task
    from rerank.settings import PRESETS

    class Given(QuestionWriter):
        """Fixed questions without a call, as in the bare loop."""

        async def write(
            self, query: str, *, context: str = "", task: Task = "text"
        ) -> tuple[tuple[Question, ...], float | None]:
            questions = tuple(Question(question=text, statement=text, negation="no") for text in QUESTIONS)
            return questions, 0.0

    with tempfile.TemporaryDirectory() as scratch:
        endpoint = Endpoint(
            model="m", base_url=f"http://127.0.0.1:{port}/v1", price_in=2, price_out=8, max_concurrent=n_in_flight
        )
        cache = ReplyCache(Path(scratch) / "replies.sqlite")
        with Connection(endpoint, cache=cache) as connection:
            chat = FairChat(connection, n_in_flight=n_in_flight)
            judge = VisionJudge(chat)
            await judge.abilities()  # the probe, once per run; not part of a query
            reranker = DecomposeReranker(
                judge,
                settings=replace(PRESETS["paper"].decompose, together=is_together),
                writer=Given(chat),
            )
            job = job_of_folder(folder, QUERY)
            began, cpu = time.perf_counter(), time.process_time()
            ranked = await reranker.rank(job)
            sys.stdout.write(f"{time.perf_counter() - began} {time.process_time() - cpu}\n")
            assert {row.status for row in ranked} == {"ok"}, ranked[0]
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
