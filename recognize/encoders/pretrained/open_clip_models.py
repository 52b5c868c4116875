"""Text-image encoders of open_clip: CLIP, OpenCLIP, SigLIP, BioCLIP and every other name that it knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from data.arrays import FloatArray
from data.errors import ConfigError
from recognize.encoders.pretrained.loading import (
    BATCH_SIZES,
    OnFirstUse,
    loading,
    pick_device,
    precision_of,
    require,
    revision_of,
    short_hash,
    unit_rows_in_batches,
)

if TYPE_CHECKING:
    from PIL.Image import Image

_ELSEWHERE = ("hf-hub:", "local-dir:")  # names that bring their own weights


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A model with its own preprocessing and tokenizer, on its device."""

    model: Any
    preprocess: Any
    tokenizer: Any
    device: str
    precision: Any
    revision: str
    preparation: str
    dim: int
    max_tokens: int


@dataclass
class OpenClipEncoder:
    """A model of open_clip as a text-image encoder; nothing is loaded before it is used.

    `model` is `ARCHITECTURE/PRETRAINED` as open_clip lists them (`ViT-L-14/openai`, `ViT-L-16-SigLIP-256/webli`), or a
    name with weights of its own (`hf-hub:imageomics/bioclip-2`, `local-dir:FOLDER`). Weights that are not on this
    machine are downloaded by open_clip, unless `HF_HUB_OFFLINE` is set.
    """

    model: str
    device: str | None = None
    precision: str | None = None
    """By default half precision on a GPU, else float32; vectors of both differ by some thousandths."""
    batch_size: int | None = None
    """Batch size of pictures; by default one that suits the device."""
    _load: OnFirstUse[_Loaded] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._load = OnFirstUse(lambda: _load(self.model, self.device, self.precision))

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model

    @property
    def space(self) -> str:
        """Name, a hash of the weights, and a hash of the preprocessing."""
        loaded = self._load()
        return f"open-clip/{self.model}/{loaded.revision}/{loaded.preparation}"

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return self._load().dim

    @property
    def max_tokens(self) -> int:
        """The model's context, its marks of beginning and end included: CLIP 77, SigLIP 64."""
        return self._load().max_tokens

    def count_tokens(self, text: str) -> int:
        """Return how many of `max_tokens` the text takes, marks included."""
        tokenizer = self._load().tokenizer
        if hasattr(tokenizer, "encode"):  # open_clip's own: without the two marks
            return len(tokenizer.encode(text)) + 2
        return len(tokenizer.tokenizer(tokenizer.clean_fn(text), verbose=False)["input_ids"])

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows; of a text longer than `max_tokens` what follows is not read."""
        loaded = self._load()

        def prepare(text: str) -> Any:  # noqa: ANN401
            return loaded.tokenizer([text])[0]

        def run(tokens: Any) -> Any:  # noqa: ANN401
            return loaded.model.encode_text(tokens.to(loaded.device))

        return unit_rows_in_batches(texts, prepare, run, dim=loaded.dim, batch_size=self._batch(loaded))

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows, with the model's own preprocessing."""
        loaded = self._load()

        def run(pixels: Any) -> Any:  # noqa: ANN401
            return loaded.model.encode_image(pixels.to(loaded.device, loaded.precision))

        return unit_rows_in_batches(
            [image.convert("RGB") for image in images],
            loaded.preprocess,
            run,
            dim=loaded.dim,
            batch_size=self._batch(loaded),
        )

    def _batch(self, loaded: _Loaded) -> int:
        return self.batch_size or BATCH_SIZES[loaded.device]


def _load(name: str, wanted: str | None, wanted_precision: str | None) -> _Loaded:
    open_clip = require("open_clip", "open_clip_torch")
    device = pick_device(wanted)
    architecture, pretrained = _split(name, open_clip)
    with loading(f"the encoder {name}"):
        model, _, preprocess = open_clip.create_model_and_transforms(
            architecture, pretrained=pretrained, force_quick_gelu=_has_quick_gelu(architecture, pretrained, open_clip)
        )
        tokenizer = open_clip.get_tokenizer(architecture)
    revision = revision_of(model)
    precision = precision_of(device, wanted_precision)
    model = model.eval().to(device, precision)
    size = model.visual.image_size
    torch = require("torch", "torch")
    with torch.inference_mode():
        dim = int(model.encode_text(tokenizer(["a bird"]).to(device)).shape[-1])
    return _Loaded(
        model=model,
        preprocess=preprocess,
        tokenizer=tokenizer,
        device=device,
        precision=precision,
        revision=revision,
        preparation=f"{size[0] if isinstance(size, tuple) else size}-{short_hash(str(preprocess))}",
        dim=dim,
        max_tokens=int(tokenizer.context_length),
    )


def _split(name: str, open_clip: Any) -> tuple[str, str | None]:  # noqa: ANN401
    """Return architecture and pretrained tag of a name; the tag is None where the name brings its weights.

    Raises:
        ConfigError: if open_clip knows no such pair.
    """
    if name.startswith(_ELSEWHERE):
        return name, None
    architecture, slash, pretrained = name.partition("/")
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    if not slash or pretrained not in tags:
        listed = ", ".join(f"{architecture}/{tag}" for tag in tags) or "hf-hub:OWNER/NAME, ViT-L-14/openai, ..."
        raise ConfigError(f"open_clip has no model {name!r}", hint=f"expected one of: {listed}")
    return architecture, pretrained


def _has_quick_gelu(architecture: str, pretrained: str | None, open_clip: Any) -> bool:  # noqa: ANN401
    """Return whether the weights were trained with another activation than the architecture has; openai's were."""
    return pretrained is not None and bool(open_clip.get_pretrained_cfg(architecture, pretrained).get("quick_gelu"))
