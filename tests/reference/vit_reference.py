#!/usr/bin/env python3
"""torchvision's VisionTransformer, small and with random weights, in float64: records losses of training steps and the gradients of the first, for npar
to be compared with. Records the results of transformers' DeiT with two heads as well.

Needs PyTorch, torchvision and transformers; the tests need only vit_recorded.json, and make the same weights and pictures. Run it in this folder.
"""

import json
import pathlib
import tempfile

import torch
import torchvision
import transformers
from torchvision.models.vision_transformer import VisionTransformer

import families_data
import random_weights
import safetensors_file
from families_data import BATCH, KINDS, SIDE

HERE = pathlib.Path(__file__).resolve().parent
STEPS = 20
SIZES = dict(image_size=SIDE, patch_size=4, num_layers=2, num_heads=4, hidden_dim=16, mlp_dim=24, num_classes=KINDS)
SGD = {"lr": 0.05, "momentum": 0.9}
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet


def pictures():
    """The batches, normalised as torchvision's presets do."""
    data = families_data.data("picture", None)
    _, shape, values = data["image"]
    column = lambda numbers: torch.tensor(numbers, dtype=torch.float64).view(3, 1, 1)  # noqa: E731
    pixels = (torch.tensor(values, dtype=torch.float64).view(shape) / 255 - column(MEAN)) / column(DEVIATION)
    label = torch.tensor(data["label"][2])
    return [(pixels[step * BATCH : (step + 1) * BATCH], label[step * BATCH : (step + 1) * BATCH]) for step in range(STEPS)]


def teacher_logits():
    """Results of DeiT with a teacher for one batch, with the weights of families_recorded.json."""
    family = json.loads((HERE / "families_recorded.json").read_text())["families"]["deit_teacher"]
    weights = random_weights.weights({path: tuple(shape) for path, shape in family["shapes"].items()})
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "config.json").write_text(json.dumps(family["config"]))
        safetensors_file.write(pathlib.Path(folder) / "model.safetensors", weights)
        model = transformers.DeiTForImageClassificationWithTeacher.from_pretrained(folder, dtype=torch.float64)
    _, shape, values = families_data.data("distill", None)["image"]
    pixels = torch.tensor(values, dtype=torch.float64).view(shape)[:BATCH]
    with torch.no_grad():
        return model.eval()(pixel_values=(pixels / 255 - 0.5) / 0.5).logits.flatten().tolist()


def main():
    torch.set_num_threads(1)
    model = VisionTransformer(**SIZES).double().train()
    shapes = {path: tuple(parameter.shape) for path, parameter in model.named_parameters()}
    weights = random_weights.weights(shapes)
    with torch.no_grad():
        for path, parameter in model.named_parameters():
            parameter.copy_(torch.tensor(weights[path].values).view(parameter.shape))
    optimizer = torch.optim.SGD(model.parameters(), **SGD)
    losses, gradients = [], {}
    for pixels, label in pictures():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(pixels), label)
        loss.backward()
        losses.append(loss.item())
        gradients = gradients or {path: random_weights.digest(path, parameter.grad.flatten().tolist()) for path, parameter in model.named_parameters()}
        optimizer.step()
    recorded = {
        "torch": torch.__version__.split("+")[0], "torchvision": torchvision.__version__.split("+")[0], "transformers": transformers.__version__,
        "batch": BATCH, "sgd": SGD, "shapes": shapes, "gradients": gradients, "losses": losses, "teacher_logits": teacher_logits(),
    }  # fmt: skip
    (HERE / "vit_recorded.json").write_text(json.dumps(recorded, separators=(",", ":")) + "\n")
    print(f"loss {losses[0]:.6f} to {losses[-1]:.6f}")


if __name__ == "__main__":
    main()
