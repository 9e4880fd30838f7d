#!/usr/bin/env python3
"""Makes tokenizers/forms.json: small vocabularies, the forms of tokenizer_forms.py, and checksums of the ids that Python's `tokenizers` gives.

    tokenizer_forms_reference.py              # needs: pip install tokenizers==0.23.3 sentencepiece==0.2.3
    tokenizer_forms_reference.py --write DIR  # the forms as folders with a tokenizer.json each, for tokenizer_speed.py and by hand

Checksums are CRC-32 of the count and the ids of each text, as little-endian numbers of 32 bits: one for each 100 of 3,000 random texts, and one for
each text of 16,384 code points. FormsTest.cpp makes the same texts.
"""

import argparse
import base64
import contextlib
import json
import pathlib
import struct
import tempfile
import zlib

import tokenizer_forms as forms

FOLDER = pathlib.Path(__file__).resolve().parent / "tokenizers"
PAGE = FOLDER / "page.txt"
RULES = {"\t": " ", "\n": " ", "\r": " ", "\u3000": " ", "\u00a0": " ", "\u200b": "", "\ufeff": "", "ﬁ": "fi", "…": "...", "A\u030a": "Å", "e\u0301": "é",
         "Ａ": "A", "Ｂ": "B", "①": "1", "㍿": "株式会社", "ß": "ss", "\u0301": "", "ｶﾞ": "ガ", "½": "1⁄2", "\u1100\u1161": "가"}  # fmt: skip


def message_fields(data):
    """(number, value) of a protocol buffer's fields."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte, at = data[at], at + 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = varint() if key & 7 == 2 else {1: 8, 5: 4}[key & 7]
        yield key >> 3, data[at : at + size]
        at += size


def charsmap():
    """RULES as SentencePiece compiles them."""
    import sentencepiece

    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        pathlib.Path("rules.tsv").write_text("".join(f"{' '.join(f'{ord(c):X}' for c in a)}\t{' '.join(f'{ord(c):X}' for c in b)}\n" for a, b in RULES.items()))
        pathlib.Path("words.txt").write_text("any words will do\n" * 9)
        sentencepiece.SentencePieceTrainer.train(input="words.txt", model_prefix="m", vocab_size=30, hard_vocab_limit=False, minloglevel=2,
                                                 normalization_rule_tsv="rules.tsv")  # fmt: skip
        model = pathlib.Path("m.model").read_bytes()
    spec = next(value for number, value in message_fields(model) if number == 3)
    return base64.b64encode(next(value for number, value in message_fields(spec) if number == 2)).decode()


def trained(model, trainer, pre_tokenizer):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.train([str(PAGE)], trainer)
    return json.loads(tokenizer.to_str())["model"]


def vocabularies():
    from tokenizers import models, pre_tokenizers, trainers

    small = {"show_progress": False}
    names = [f"<0x{byte:02X}>" for byte in range(256)]
    made = {
        "bytes": trained(models.BPE(), trainers.BpeTrainer(vocab_size=650, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **small),
                         pre_tokenizers.ByteLevel(add_prefix_space=False)),
        "characters": trained(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True),
                              trainers.BpeTrainer(vocab_size=750, limit_alphabet=150, special_tokens=["<unk>", *names], **small), pre_tokenizers.Metaspace()),
        "word_pieces": trained(models.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer(vocab_size=600, limit_alphabet=150, special_tokens=["[UNK]"], **small),
                               pre_tokenizers.BertPreTokenizer()),
        "unigram": trained(models.Unigram(), trainers.UnigramTrainer(vocab_size=500, special_tokens=["<unk>"], unk_token="<unk>", **small), pre_tokenizers.Metaspace()),
    }  # fmt: skip
    return made


def complete(name, vocabulary, table):
    """The tokenizer.json of a form. Added tokens have the ids after the vocabulary's; the others name them."""
    which, tokens, normalizer, pre_tokenizer, post_processor, settings = forms.FORMS[name]
    model = {**vocabulary[which], **settings}
    ids = {token["content"]: len(model["vocab"]) + i for i, token in enumerate(tokens)}
    file = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [{"id": ids[token["content"]], **token} for token in tokens],
            "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": post_processor, "decoder": None}  # fmt: skip

    def filled(part):
        if isinstance(part, list):
            pair = len(part) == 2 and all(isinstance(each, str) for each in part) and part[1] in ids
            return [part[0], ids[part[1]]] if pair else [filled(each) for each in part]
        if not isinstance(part, dict):
            return part
        part = {key: filled(value) for key, value in part.items()}
        if part.get("type") == "Precompiled":
            part["precompiled_charsmap"] = table
        if "ids" in part:
            part["ids"] = [ids[token] for token in part["ids"]]
        return part

    return {**filled(file), "model": model}


def checksum(tokenizer, texts):
    crc = 0
    for text in texts:
        ids = tokenizer.encode(text).ids
        crc = zlib.crc32(struct.pack(f"<{len(ids) + 1}i", len(ids), *ids), crc)
    return crc


def main():
    import tokenizers

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="DIR")
    options = parser.parse_args()
    if options.write:
        recorded = json.loads((FOLDER / "forms.json").read_text())
        for name in forms.FORMS:
            folder = pathlib.Path(options.write) / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "tokenizer.json").write_text(json.dumps(complete(name, recorded["vocabularies"], recorded["charsmap"]), ensure_ascii=False))
        return
    vocabulary, table = vocabularies(), charsmap()
    recorded = {"tokenizers": tokenizers.__version__, "scripts": forms.SCRIPTS, "words": forms.WORDS, "spacing": forms.SPACING, "points": forms.POINTS,
                "block": forms.BLOCK, "vocabularies": vocabulary, "charsmap": table, "forms": {}}  # fmt: skip
    texts = [forms.random_text(number) for number in range(forms.TEXTS)]
    for name in forms.FORMS:
        file = complete(name, vocabulary, table)
        tokenizer = tokenizers.Tokenizer.from_str(json.dumps(file))
        recorded["forms"][name] = {
            "vocabulary": forms.FORMS[name][0],
            "file": {key: {k: v for k, v in value.items() if k not in ("vocab", "merges")} if key == "model" else value for key, value in file.items()},
            "texts": [checksum(tokenizer, texts[i : i + forms.BLOCK]) for i in range(0, len(texts), forms.BLOCK)],
            "points": [checksum(tokenizer, [text]) for text in forms.point_texts()],
        }
        print(name, flush=True)
    text = json.dumps(recorded, ensure_ascii=False, separators=(",", ":"))
    for name in recorded["forms"]:
        text = text.replace(f'"{name}":{{"vocabulary"', f'\n"{name}":{{"vocabulary"')
    (FOLDER / "forms.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
