"""MSR-VTT as image retrieval: each caption of a clip is a query for ten frames of the clip.

Forms: `train_val_videodatainfo.json` and `test_videodatainfo.json` (Xu et al., CVPR 2016), read together where both are
in one folder, or in two beside each other, or one file with all 10,000 clips. Frames are files that the user extracts,
one a second: `FRAMES/CLIP/NUMBER.jpg`. Ten of a clip, or all of fewer, are drawn at random by its name. The paper
draws them too, and names no seed (Zhu et al., 2024, section 4.1); frames of other clips are irrelevant,
of the same video too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Final

from data.codec import load_json
from data.errors import BadInput
from data.files import read_lines
from data.records import Job
from papers.datasets.benchmark import Benchmark, folders_near
from papers.datasets.cells import cell, number_or_name, text

N_FRAMES: Final = 10
_FILES: Final = ("train_val_videodatainfo.json", "test_videodatainfo.json")
_SPLITS: Final = {"test": "test", "validation": "validate"}
_HINT: Final = 'Extract them: mkdir -p frames/CLIP; ffmpeg -i CLIP.mp4 -vf fps=1 "frames/CLIP/%03d.jpg"'


def is_msr_vtt(payload: object) -> bool:
    """Return whether a JSON document holds clips and their captions."""
    return (
        isinstance(payload, dict)
        and isinstance(payload.get("videos"), list)
        and isinstance(payload.get("sentences"), list)
    )


def read_msr_vtt(
    file: Path, payload: Mapping[str, object], *, split: str | None = None, images: Path | None = None
) -> Benchmark:
    """Return a query for each caption; query ids are `CLIP-SENTENCE`, image ids `CLIP/FRAME.jpg`.

    Args:
        file: one of the two files, or one with all clips.
        payload: its content.
        split: `test` or `validation`; None reads all clips, as in the paper.
        images: the folder of the frames; None finds it near the file.

    Raises:
        BadInput: if the content is invalid, a clip is listed twice or has no caption, or clips have no frames.
    """
    clips: dict[str, str] = {}
    captions: dict[str, dict[str, str]] = {}
    for part, content in _parts(file, payload):
        for entry in cell(content, "videos", list, part.name):
            clip = number_or_name(entry, "video_id", part.name)
            if clip in clips:
                raise BadInput(f"{part.name} lists the clip {clip} twice.")
            clips[clip] = text(entry, "split", part.name) if split else ""
        for entry in cell(content, "sentences", list, part.name):
            of_clip = captions.setdefault(number_or_name(entry, "video_id", part.name), {})
            sentence = number_or_name(entry, "sen_id", part.name)
            if sentence in of_clip:
                raise BadInput(f"{part.name} has two captions with the sen_id {sentence}.")
            of_clip[sentence] = text(entry, "caption", part.name)
    chosen = [clip for clip, of in clips.items() if split is None or of == _SPLITS[split]]
    if not chosen:
        raise BadInput(f"{file.name} has no clips of the split {split!r}.")
    if unknown := captions.keys() - clips.keys():
        raise BadInput(f"{file.name} has captions of the clip {min(unknown)}, which is not listed.")
    folder = _frame_folder(file, chosen, images)
    frames = {clip: _frames(folder, clip) for clip in chosen}
    return Benchmark(
        name="MSR-VTT",
        file=file,
        queries=tuple(
            Job(query_id=f"{clip}-{sentence}", text=caption, candidates=(), relevant=frames[clip])
            for clip in chosen
            for sentence, caption in _captions(captions, clip, file).items()
        ),
        collection={frame: frame for of_clip in frames.values() for frame in of_clip},
    )


def _parts(file: Path, payload: Mapping[str, object]) -> list[tuple[Path, Mapping[str, object]]]:
    """Return the file and, of a pair of files, the other one."""
    if file.name not in _FILES:
        return [(file, payload)]
    name = _FILES[1 - _FILES.index(file.name)]
    nearby = [*file.parent.glob(name), *sorted(file.parent.parent.glob(f"*/{name}"))]
    if not nearby:
        return [(file, payload)]
    try:
        other = load_json("\n".join(read_lines(nearby[0])))
    except ValueError as error:
        raise BadInput(f"{nearby[0]}: {error}") from error
    if not is_msr_vtt(other):
        raise BadInput(f"{nearby[0]}: expected lists of videos and sentences.")
    return [(file, payload), (nearby[0], other)]


def _captions(captions: Mapping[str, Mapping[str, str]], clip: str, file: Path) -> Mapping[str, str]:
    if clip not in captions:
        raise BadInput(f"{file.name} has no caption of the clip {clip}.")
    return captions[clip]


def _frame_folder(file: Path, clips: list[str], images: Path | None) -> Path:
    for folder in folders_near(file, images):
        if (folder / clips[0]).is_dir():
            return folder
    where = images or file.parent
    raise BadInput(f"No frames of the clip {clips[0]} in {where}: expected a folder of that name.", hint=_HINT)


def _frames(folder: Path, clip: str) -> tuple[str, ...]:
    found = sorted(path.name for path in (folder / clip).glob("*.jpg"))
    if not found:
        raise BadInput(f"No frames of the clip {clip} in {folder / clip}.", hint=_HINT)
    if len(found) > N_FRAMES:
        found = sorted(Random(f"{clip} {len(found)}").sample(found, N_FRAMES))
    return tuple(f"{clip}/{name}" for name in found)
