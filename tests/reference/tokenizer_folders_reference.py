#!/usr/bin/env python3
"""Makes tokenizers/folders.json: the folders of tokenizer_folders.py, and the ids that the Python packages give for their texts.

    tokenizer_folders_reference.py   # needs: pip install tokenizers==0.23.3 transformers==5.24.0 sentencepiece==0.2.3 protobuf

FoldersTest.cpp writes the same folders.
"""

import base64
import json
import os
import pathlib
import tempfile

import tokenizer_folders

FOLDER = pathlib.Path(__file__).resolve().parent / "tokenizers"


def write(place, files):
    for name, content in files.items():
        if isinstance(content, dict) and "base64" in content:
            (place / name).write_bytes(base64.b64decode(content["base64"]))
        else:
            (place / name).write_text(content if isinstance(content, str) else json.dumps(content))


def encoder(reader, place):
    if reader == "tokenizers":
        from tokenizers import Tokenizer

        return lambda text, made=Tokenizer.from_file(str(place / "tokenizer.json")): made.encode(text).ids
    if reader == "sentencepiece":
        import sentencepiece

        return sentencepiece.SentencePieceProcessor(model_file=str(place / "tokenizer.model")).encode
    from transformers import AutoTokenizer

    return lambda text, made=AutoTokenizer.from_pretrained(str(place)): made(text)["input_ids"]


def main():
    import sentencepiece
    import tokenizers
    import transformers

    os.environ["HF_HUB_OFFLINE"] = "1"
    lines = []
    for name, (reader, files, texts) in tokenizer_folders.FOLDERS.items():
        with tempfile.TemporaryDirectory() as place:
            write(pathlib.Path(place), files)
            encode = encoder(reader, pathlib.Path(place))
            entry = {"files": files, "texts": texts, "ids": [encode(text) for text in texts]}
        lines.append(json.dumps({name: entry}, ensure_ascii=False, separators=(",", ":"))[1:-1])
    versions = {"tokenizers": tokenizers.__version__, "transformers": transformers.__version__, "sentencepiece": sentencepiece.__version__}
    head = json.dumps(versions)[:-1] + ', "folders": {\n'
    (FOLDER / "folders.json").write_text(head + ",\n".join(lines) + "\n}}\n")


if __name__ == "__main__":
    main()
