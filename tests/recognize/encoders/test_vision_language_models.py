from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from data.arrays import as_unit_rows
from data.contracts import TextImageEncoder
from data.errors import MissingRequirement
from recognize.encoders.sentence_models import CrossEncoderScorer
from recognize.encoders.transformers_models import (
    IMAGE_PROMPT,
    MIN_TOKENS,
    TEXT_PROMPT,
    Blip2Encoder,
    BlipCaptioner,
    E5vEncoder,
)

for name in ("torch", "transformers", "sentence_transformers"):
    pytest.importorskip(name, reason=f"{name} of the extra `models` is not installed (CI installs it)")

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = [*LETTERS, "red", "bird", "in", "one", "word", "summary", "above", "image", "sentence", ":"]
TEXTS = ["a red bird", "", "bird " * 9]
SIDE = 28
SMALL = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2, "num_hidden_layers": 2}


def pictures() -> list[Image.Image]:
    rng = np.random.default_rng(3)
    return [Image.fromarray(rng.integers(0, 256, (side, 40, 3), dtype=np.uint8)) for side in (40, 31)]


def bert(folder: Path) -> Any:
    import transformers

    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[DEC]", "[ENC]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    return transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=32), len(vocabulary)


def saved(folder: Path, model: Any, processor: Any) -> Path:
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def check_encoder(encoder: Any) -> None:
    assert isinstance(encoder, TextImageEncoder)
    photos, texts = encoder.encode_images(pictures()), encoder.encode_texts(TEXTS)
    assert photos.shape == (2, encoder.dim) and texts.shape == (3, encoder.dim) and photos.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(np.vstack([photos, texts[[0, 2]]]), axis=1), 1, atol=1e-5)
    assert not texts[1].any() and not np.allclose(photos[0], photos[1], atol=1e-4)
    np.testing.assert_array_equal(encoder.encode_images(pictures()[1:]), photos[1:])
    assert encoder.count_tokens(TEXTS[2]) > encoder.count_tokens(TEXTS[0])


def test_e5v_is_the_last_state_of_the_last_token(tmp_path: Path) -> None:
    import tokenizers
    import torch
    import transformers

    torch.manual_seed(3)
    marks = ["<unk>", "<pad>", "<image>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
    vocabulary = {word: i for i, word in enumerate([*marks, *WORDS, "user", "assistant"])}
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="<unk>", pad_token="<pad>", additional_special_tokens=marks[2:]
    )
    config = transformers.LlavaNextConfig(
        text_config={**SMALL, "model_type": "llama", "vocab_size": len(vocabulary), "num_key_value_heads": 2,
                     "max_position_embeddings": 4096},
        vision_config={**SMALL, "model_type": "clip_vision_model", "image_size": SIDE, "patch_size": 14},
        image_token_index=2, image_grid_pinpoints=[[SIDE, SIDE]],
    )  # fmt: skip
    images = transformers.LlavaNextImageProcessor(
        size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE}, image_grid_pinpoints=[[SIDE, SIDE]]
    )
    model = transformers.LlavaNextForConditionalGeneration(config)
    e5v = saved(tmp_path / "e5v", model, transformers.LlavaNextProcessor(images, tokenizer))
    encoder = E5vEncoder(str(e5v), device="cpu")
    check_encoder(encoder)
    model = transformers.LlavaNextForConditionalGeneration.from_pretrained(e5v).eval()
    processor = transformers.LlavaNextProcessor.from_pretrained(e5v)
    processor.patch_size, processor.num_additional_image_tokens = 14, 1
    processor.vision_feature_select_strategy = "default"
    with torch.inference_mode():
        inputs = processor(images=pictures()[0], text=IMAGE_PROMPT, return_tensors="pt")
        photo = model(**inputs, output_hidden_states=True).hidden_states[-1][0, -1]
        inputs = processor.tokenizer(TEXT_PROMPT.replace("{text}", TEXTS[0]), return_tensors="pt")
        text = model(**inputs, output_hidden_states=True).hidden_states[-1][0, -1]
    np.testing.assert_allclose(encoder.encode_images(pictures()[:1]), as_unit_rows(photo[None].numpy()), atol=1e-5)
    np.testing.assert_allclose(encoder.encode_texts(TEXTS[:1]), as_unit_rows(text[None].numpy()), atol=1e-5)


def test_blip2_is_its_contrastive_part_with_the_mean_of_the_query_vectors(tmp_path: Path) -> None:
    import torch
    import transformers

    torch.manual_seed(2)
    tokenizer, n = bert(tmp_path)
    config = transformers.Blip2Config(
        vision_config={**SMALL, "image_size": SIDE, "patch_size": 14},
        qformer_config={**SMALL, "vocab_size": n, "encoder_hidden_size": 16, "cross_attention_frequency": 1,
                        "use_qformer_text_input": True, "max_position_embeddings": 8},
        num_query_tokens=4, image_text_hidden_size=8,
    )  # fmt: skip
    model = transformers.Blip2ForImageTextRetrieval(config)
    for weights in model.parameters():  # of the usual size they would make all photos nearly equal
        torch.nn.init.normal_(weights, std=0.3)
    images = transformers.BlipImageProcessor(size={"height": SIDE, "width": SIDE})
    blip2 = saved(tmp_path / "blip2", model, transformers.Blip2Processor(images, tokenizer))
    encoder = Blip2Encoder(str(blip2), device="cpu")
    check_encoder(encoder)
    assert encoder.max_tokens == 8
    model = transformers.Blip2ForImageTextRetrieval.from_pretrained(blip2).eval()
    processor = transformers.AutoProcessor.from_pretrained(blip2)
    pixels = processor.image_processor(images=pictures()[0], return_tensors="pt")["pixel_values"]
    tokens = processor.tokenizer(TEXTS[0], return_tensors="pt")
    with torch.inference_mode():
        made = model(
            pixel_values=pixels, input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"],
            use_image_text_matching_head=False,
        )  # fmt: skip
    np.testing.assert_allclose(encoder.encode_texts(TEXTS[:1])[0], made.text_embeds.numpy().ravel(), atol=1e-5)
    mean = as_unit_rows(made.image_embeds[0].numpy().mean(axis=0)[None])
    np.testing.assert_allclose(encoder.encode_images(pictures()[:1]), mean, atol=1e-5)


def test_blip_writes_captions_of_at_least_ten_tokens(tmp_path: Path) -> None:
    import torch
    import transformers

    torch.manual_seed(1)
    tokenizer, n = bert(tmp_path)
    config = transformers.BlipConfig(
        text_config={**SMALL, "vocab_size": n, "bos_token_id": 5, "eos_token_id": 3, "sep_token_id": 3,
                     "pad_token_id": 0, "encoder_hidden_size": 16},
        vision_config={**SMALL, "image_size": SIDE, "patch_size": 14}, projection_dim=16,
    )  # fmt: skip
    images = transformers.BlipImageProcessor(size={"height": SIDE, "width": SIDE})
    model = transformers.BlipForConditionalGeneration(config)
    blip = saved(tmp_path / "blip", model, transformers.BlipProcessor(images, tokenizer))
    captioner = BlipCaptioner(str(blip), device="cpu")
    captions = captioner.caption_images(pictures())
    tokenizer = captioner.loaded.preprocess.tokenizer
    assert all(len(tokenizer(caption)["input_ids"]) - 2 >= MIN_TOKENS for caption in captions), captions
    assert captioner.caption_images(pictures()[1:]) == captions[1:] and "10-60 tokens" in captioner.name


def test_a_cross_encoder_scores_pairs_one_by_one(tmp_path: Path) -> None:
    import sentence_transformers
    import transformers

    tokenizer, n = bert(tmp_path)
    config = transformers.BertConfig(
        vocab_size=n, hidden_size=16, intermediate_size=16, num_attention_heads=2, num_hidden_layers=1, num_labels=1
    )
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path / "cross")
    tokenizer.save_pretrained(tmp_path / "cross")
    scorer = CrossEncoderScorer(str(tmp_path / "cross"), device="cpu")
    texts = ["a red bird", "a bird", "word " * 9]
    found = scorer.scores("red bird", texts)
    reference = sentence_transformers.CrossEncoder(str(tmp_path / "cross"))
    expected = reference.predict([("red bird", text) for text in texts])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_array_equal(scorer.scores("red bird", texts[:1]), found[:1])
    assert len(set(found.tolist())) == 3 and scorer.scores("red bird", []).shape == (0,)


@pytest.mark.parametrize("kind", [E5vEncoder, Blip2Encoder, BlipCaptioner, CrossEncoderScorer])
def test_missing_weights_are_named(kind: Any, hub: Path) -> None:
    with pytest.raises(MissingRequirement, match="nobody/nothing cannot be loaded"):
        _ = kind("nobody/nothing", device="cpu").loaded
