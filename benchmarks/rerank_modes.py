"""Calls, tokens, cost and time of the modes of re-ranking: `python -m benchmarks.rerank_modes`.

A local server plays the model. A script decides which questions each of forty photos passes: ten none, ten the first,
ten the first two, ten all. The tables show calls, cost and the effect of several samples on random errors, not how well
a method or model ranks.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import math
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from data.files import sha256_hex
from data.records import Context, Job, JobImage, RankedImage
from kb.endpoints.chat import Connection
from kb.endpoints.endpoint import Endpoint, Meter
from rerank import DecomposeReranker, DecomposeSettings, FairChat, VisionJudge, VisionSettings
from rerank.decompose.questions import QuestionWriter
from rerank.settings import PRESETS
from tests.servers.openai_server import Answer, Call, OpenAIServer

QUESTIONS: Final = ("Does the photo show a frog?", "Is one frog on another?", "Does the upper one hold the lower one?")
IMAGE_TOKENS: Final = 400  # of the paper's Table 2: 121,500 tokens for 300 answers
PASSAGE: Final = "Amplexus is the grip in which a male frog holds a female while she lays eggs. " * 4
REASONS: Final = (
    "What can be seen of body, legs and skin speaks for it, and nothing in the photo speaks against it. " * 2
)


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--photos", type=int, default=40, help="number of photos")
    parser.add_argument("--sampled", type=int, default=150, help="photos, three answers each, for the table of samples")
    parser.add_argument("--reply-ms", type=float, default=50, help="milliseconds per reply of the server")
    given = parser.parse_args()
    full = PRESETS["paper"].decompose
    rows: dict[str, tuple[DecomposeSettings, VisionSettings]] = {
        "(a) direct": (replace(full, direct=True, context=False), VisionSettings()),
        "(b) questions": (replace(full, context=False), VisionSettings()),
        "(c) context": (replace(full, direct=True), VisionSettings()),
        "(d) full, preset paper": (full, VisionSettings()),
        "(d), stop after a confident no": (replace(full, stop_below=0.05), VisionSettings()),
        "(d), one call per photo: preset default": (PRESETS["default"].decompose, VisionSettings()),
        "(d), reasoning": (full, VisionSettings(reasons="before")),
        "(d), three samples": (full, VisionSettings(samples=3)),
    }
    lines = [f"{given.photos} photos, {given.reply_ms:.0f} ms per reply, 32 in flight, $2 and $8 per million tokens",
             f"{'':40}{'calls':>7}{'skipped':>11}{'tokens in':>11}{'out':>8}{'cost':>9}{'s':>7}"]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        job = _job(Path(folder), given.photos)
        for name, (settings, vision) in rows.items():
            _, meter, n_skipped, seconds = _run(job, settings, vision, noise=0.0, reply_s=given.reply_ms / 1000)
            lines.append(
                f"{name:40}{meter.calls:7}{n_skipped:11}{meter.input_tokens:11,}{meter.output_tokens:8,}"
                f"{meter.spent_usd:9.4f}{seconds:7.2f}"
            )
        lines += ["", f"{'share of replies wrong at random':40}{'1 sample':>10}{'3':>8}{'3, expected':>19}"]
        many = _job(Path(folder), given.sampled)
        for noise in (0.05, 0.1, 0.2, 0.3):
            wrong = []
            for n_samples in (1, 3):
                ranked, *_ = _run(
                    many, replace(full, chain=False), VisionSettings(samples=n_samples), noise=noise, reply_s=0
                )
                wrong.append(_share_wrong(ranked))
            expected = 3 * noise**2 - 2 * noise**3
            lines.append(f"{noise:<40.0%}{wrong[0]:>10.1%}{wrong[1]:>8.1%}{expected:>19.1%}")
    sys.stdout.write("\n".join(lines) + "\n")


def _run(
    job: Job, settings: DecomposeSettings, vision: VisionSettings, *, noise: float, reply_s: float
) -> tuple[list[RankedImage], Meter, int, float]:
    async def rank(server: OpenAIServer) -> tuple[list[RankedImage], Meter, int, float]:
        endpoint = Endpoint(model="script", base_url=server.base_url, price_in=2, price_out=8, max_concurrent=32)
        with Connection(endpoint) as connection:
            chat = FairChat(connection)
            judge = VisionJudge(chat, settings=vision)
            await judge.abilities()
            connection.budget.meter = Meter()  # the probe runs once, whatever the number of queries
            reranker = DecomposeReranker(
                judge,
                settings=settings,
                writer=QuestionWriter(chat),
                context=lambda query: Context(query=query, passage=PASSAGE, found=True),
            )
            began = time.perf_counter()
            ranked = await reranker.rank(job)
            return ranked, connection.budget.meter, reranker.tally.counts["skipped"], time.perf_counter() - began

    with OpenAIServer(lambda call: _reply(call, noise=noise, reply_s=reply_s)) as server:
        return asyncio.run(rank(server))


def _reply(call: Call, *, noise: float, reply_s: float) -> Answer:
    if not call.images:
        entries = [{"question": text, "statement": text, "negation": "none"} for text in QUESTIONS]
        return Answer(text=json.dumps({"questions": entries}), after_s=reply_s)
    n_passed = _n_passed(call.images[0])
    single = [i for i, text in enumerate(QUESTIONS) if f"question from what can be seen in it: {text}" in call.text]
    together = "one line for each question" in call.text
    numbers = range(len(QUESTIONS)) if together else single or [len(QUESTIONS) - 1]
    tokens: list[tuple[str, float, tuple[tuple[str, float], ...]]] = []
    if "Answer: Yes" in call.text:
        tokens.append((REASONS + "\nAnswer: ", 0.0, ()))
    for i in numbers:
        is_yes = n_passed > i
        draw = int(sha256_hex(f"{call.text}{call.payload.get('seed')}{sha256_hex(call.images[0])}")[:8], 16)
        if draw / 2**32 < noise:
            is_yes = not is_yes
        word, other = ("Yes", "No") if is_yes else ("No", "Yes")
        if together:
            tokens.append((f"{i + 1}. ", 0.0, ()))
        tokens.append((word, math.log(0.97), ((word, math.log(0.97)), (other, math.log(0.03)))))
        if together:
            tokens.append(("\n", 0.0, ()))
    text = "".join(token for token, _, _ in tokens)
    return Answer(
        text=text, logprobs=tuple(tokens), input_tokens=IMAGE_TOKENS + len(call.text) // 4,
        output_tokens=max(1, len(text) // 4), after_s=reply_s,
    )  # fmt: skip


def _n_passed(picture: bytes) -> int:
    """Return the number of questions that a photo passes, by its grey level."""
    from PIL import Image

    with Image.open(io.BytesIO(picture)) as opened:
        return round(int(opened.convert("L").getpixel((8, 8))) / 80)  # type: ignore[arg-type]


def _job(folder: Path, n: int) -> Job:
    from PIL import Image

    images = []
    for i in range(n):
        path = folder / f"{i}.jpg"
        # Every photo is a different file, because equal files would share cached answers.
        Image.new("RGB", (64 + i, 64), (80 * (i % 4),) * 3).save(path, "JPEG")
        images.append(JobImage(image_id=f"{i % 4}-{i}", path=str(path), score=-float(i)))
    return Job(query_id="q", text="Water frogs in amplexus", candidates=tuple(images))


def _share_wrong(ranked: list[RankedImage]) -> float:
    wrong = [
        (answer.answer == "yes") != (int(row.image_id.split("-")[0]) > i)
        for row in ranked
        for i, answer in enumerate(row.questions)
    ]
    return sum(wrong) / len(wrong)


if __name__ == "__main__":
    main()
