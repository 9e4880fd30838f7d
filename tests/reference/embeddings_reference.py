#!/usr/bin/env python3
"""Vectors of texts by transformers' BertModel, pooled as sentence-transformers does: the first position, and the mean over positions that
are not padding. Writes embeddings_recorded.json; weights and texts are those of families_reference.py ("bert_sentence").

    python3 embeddings_reference.py
"""

import json
import pathlib

import torch
import transformers

import families_data
import random_weights

HERE = pathlib.Path(__file__).parent
TEXTS = 13  # no multiple of the batch


def main():
    family = json.loads((HERE / "families_recorded.json").read_text())["families"]["bert_sentence"]
    config = transformers.BertConfig(**{key: value for key, value in family["config"].items() if key != "architectures"})
    model = transformers.BertModel(config).eval()
    weights = random_weights.with_liking(random_weights.weights({path: tuple(shape) for path, shape in family["shapes"].items()}))
    with torch.no_grad():
        for path, parameter in model.named_parameters():
            parameter.copy_(torch.tensor(weights[path].values).view(parameter.shape))
        model.double()
        _, shape, values = families_data.data("sentence", config.pad_token_id)["tokens"]
        tokens = torch.tensor(values).view(shape)[:TEXTS]
        mask = (tokens != config.pad_token_id).long()
        states = model(input_ids=tokens, attention_mask=mask).last_hidden_state
    there = mask[..., None].double()
    vectors = {"cls": states[:, 0], "mean": (states * there).sum(1) / there.sum(1).clamp(min=1e-9)}
    recorded = {"transformers": transformers.__version__, "texts": TEXTS, "vectors": {name: vector.flatten().tolist() for name, vector in vectors.items()}}
    (HERE / "embeddings_recorded.json").write_text(json.dumps(recorded, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
