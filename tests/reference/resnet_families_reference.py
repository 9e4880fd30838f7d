#!/usr/bin/env python3
"""transformers' ResNetForImageClassification in float64, on small networks: its configuration, its tensors with their types and shapes, logits of an
evaluation, and the loss of a batch in training. The weights come from resnet_data.py. With folders as arguments it loads what npar exported, and lists
what did not fit.

Needs PyTorch and transformers; the test needs only the file it wrote. In this folder:
    python3 resnet_families_reference.py
"""

import json
import pathlib
import sys

import torch
from transformers import ResNetConfig, ResNetForImageClassification

import resnet_data as pictures

SMALL = {
    "basic": {"layer_type": "basic", "depths": [2, 1, 1, 1], "hidden_sizes": [4, 4, 6, 8], "embedding_size": 4},
    "bottleneck": {"layer_type": "bottleneck", "depths": [1, 2, 1, 1], "hidden_sizes": [8, 8, 12, 16], "embedding_size": 4},
    "early": {"layer_type": "bottleneck", "depths": [1, 1, 2, 1], "hidden_sizes": [8, 12, 12, 16], "embedding_size": 4, "downsample_in_bottleneck": True},
}
STORED = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64"}


def record(changed):
    torch.set_num_threads(1)
    config = ResNetConfig(**changed, num_labels=pictures.CLASSES, architectures=["ResNetForImageClassification"])
    model = ResNetForImageClassification(config)
    tensors = {name: [STORED[value.dtype], list(value.shape)] for name, value in model.state_dict().items()}
    weights = pictures.named(tensors)
    model.double().load_state_dict({name: torch.tensor(each.values).reshape(each.shape) for name, each in weights.items()})
    rows = {name: torch.tensor(each.values).reshape(each.shape) for name, each in pictures.floats().items()}
    model.eval()
    with torch.no_grad():
        logits = model(pixel_values=rows["image"].double()).logits
    model.train()
    loss = model(pixel_values=rows["image"].double(), labels=rows["label"].long()).loss.item()
    return {"config": json.loads(config.to_json_string()), "tensors": tensors, "loss": loss, "logits": logits.flatten().tolist()}


def main():
    for folder in sys.argv[1:]:
        model, found = ResNetForImageClassification.from_pretrained(folder, output_loading_info=True)
        print(folder, {key: sorted(value) for key, value in found.items() if value})
    if not sys.argv[1:]:
        recorded = {name: record(changed) for name, changed in SMALL.items()}
        pathlib.Path(__file__).with_name("resnet_families_recorded.json").write_text(json.dumps(recorded) + "\n")


if __name__ == "__main__":
    main()
