"""Two processes at once: of two writers one may be refused, and readers see the state before or after a writer."""

import itertools
import json
import random
from pathlib import Path
from typing import Any

import kb
from tests.faults.bench import Bench
from tests.faults.draw import Draw
from tests.faults.jobs import JOBS, Wholes
from tests.faults.running import Ended

QUESTIONS = (
    ("identify", "few", "--fast", "--format=jsonl", "--quiet"),
    ("search", "a white bird with yellow eyes", "--format=json"),
    ("show", "Snowy Owl", "--format=json"),
)
WRITERS = {
    "update": ("update", "--kb=birds.kb"),
    "add": ("add", "--kb=birds.kb", "--name=Snowy Owl", "--text=owl.txt", "--licence=CC0"),
    "remove": ("remove", "--kb=birds.kb", "Great Tit"),
}


def told(ended: Ended) -> Any:
    lines = ended.stdout.splitlines() if ended.stdout.startswith('{"image"') else [ended.stdout]
    records = [json.loads(line) for line in lines]
    return [{**record, "seconds": 0} if isinstance(record, dict) else record for record in records]


def is_refused(ended: Ended) -> bool:
    assert ended.is_clear, ended
    assert ended.code == 0 or "nother process" in ended.stderr, ended
    return ended.code != 0


def test_a_job_that_is_started_twice_gives_its_result(bench: Bench, wholes: Wholes, draw: Draw, tmp_path: Path) -> None:
    def twice(seed: int) -> str:
        at_random = random.Random(seed)
        job = at_random.choice([job for job in JOBS if job.name != "feedback"])  # one user types
        result, seconds = wholes.of(job)
        folder = bench.copy(tmp_path / "twice")
        first = bench.start(folder, *job.arguments_for(bench))
        first.process.join(at_random.uniform(0, seconds))
        second = bench.start(folder, *job.arguments_for(bench))
        ends = [first.ended(), second.ended()]
        if job.name == "import" and "already exists" in ends[1].stderr:
            ends.pop()
        n_refused = sum(map(is_refused, ends))
        assert n_refused < 2, f"{job.name}: each refused because of the other"
        assert job.result(folder) == result, job.name
        return f"{job.name} {'refused once' if n_refused else 'by both'}"

    draw.each(1, 60, twice)


def test_readers_see_the_state_before_or_after_two_writers(bench: Bench, draw: Draw, tmp_path: Path) -> None:
    states: dict[tuple[str, ...], tuple[list[Any], str]] = {}

    def state(*writers: str) -> tuple[list[Any], str]:
        if writers not in states:
            folder = bench.copy(tmp_path / "-".join(("after", *writers)))
            for writer in writers:
                bench.require(folder, *WRITERS[writer])
            found = kb.verify(folder / "birds.kb")
            assert found.ok
            states[writers] = (
                [told(bench.run(folder, *question, "--kb=birds.kb")) for question in QUESTIONS],
                found.digest,
            )
        return states[writers]

    def read_meanwhile(seed: int) -> str:
        at_random = random.Random(seed)
        pair = at_random.sample(sorted(WRITERS), 2)
        possible = [state(), *(state(one) for one in pair), state(*pair), state(*pair[::-1])]
        folder = bench.copy(tmp_path / f"{seed}")
        runs = [bench.start(folder, *WRITERS[writer]) for writer in pair]
        for number in itertools.cycle(range(len(QUESTIONS))):
            ended = bench.run(folder, *QUESTIONS[number], "--kb=birds.kb")
            assert ended.code == 0, f"{pair}: a reader: {ended}"
            assert told(ended) in [told_by[number] for told_by, _ in possible], f"{pair}: {QUESTIONS[number]}"
            if not any(run.process.is_alive() for run in runs):
                break
        refused = [writer for writer, run in zip(pair, runs, strict=True) if is_refused(run.ended())]
        for writer in refused:
            bench.require(folder, *WRITERS[writer])
        found = kb.verify(folder / "birds.kb")
        assert found.problems == ()
        assert found.digest in (possible[3][1], possible[4][1]), pair
        return "one refused" if refused else "both in turn"

    draw.each(1, 60, read_meanwhile)
