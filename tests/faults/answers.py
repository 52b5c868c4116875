"""The answers of a knowledge base to its readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.faults.bench import Bench
from tests.faults.running import Ended

QUESTIONS = (
    ("identify", "few", "--fast", "--format=jsonl", "--quiet"),
    ("search", "a white bird with yellow eyes", "--format=json"),
    ("show", "Snowy Owl", "--format=json"),
)


def answers(bench: Bench, folder: Path, base: str) -> list[Ended]:
    """Return how each reader ended."""
    return [bench.call(folder, *question, f"--kb={base}") for question in QUESTIONS]


def told(ended: Ended) -> Any:
    """Return what a reader printed, without its times."""
    return [_without_seconds(json.loads(line)) for line in _records(ended.stdout)]


def _records(text: str) -> list[str]:
    return text.splitlines() if text.startswith('{"image"') else [text]


def _without_seconds(record: Any) -> Any:
    return {key: value for key, value in record.items() if key != "seconds"} if isinstance(record, dict) else record
