#!/usr/bin/env python3
"""Makes the small tokenizers of tokenizers/ from page.txt with Python's `tokenizers` and `sentencepiece`, and records their ids.

    tokenizer_reference.py                       # rewrites tokenizers/ (needs: pip install tokenizers==0.23.3 sentencepiece==0.2.3)
    tokenizer_reference.py --compare NPAR FOLDER TEXT...   # any tokenizer: are npar's ids for these texts those of the Python packages?

The tokenizers: `gpt2` (vocab.json and merges.txt), `llama3` (tokenizer.json with Llama 3's pattern, template, special tokens and
ignore_merges), `tinyllama` (a tokenizer.json of characters with marked spaces and bytes), `llama2` (a SentencePiece model of byte pairs with
bytes), `unigram` (one of the other kind, with rules that normalize).
The models were trained with SentencePiece 0.1.97; the ids are those of 0.2.3, which cuts near ties of unigram models in other places.
recorded.json has, for each, the ids of every line of CASES and of the page, and the SHA-256 of those of a long text that `soup` makes.
"""

import argparse
import contextlib
import hashlib
import json
import pathlib
import random
import shutil
import subprocess
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent / "tokenizers"
PAGE = FOLDER / "page.txt"
MERGES = 500
NAMES = ("gpt2", "llama3", "tinyllama", "llama2", "unigram")

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"

CASES = [
    "",
    "a",
    " ",
    "  ",
    "\n",
    " \n ",
    "\0",
    "zero\0bytes\0\0",
    "ends in spaces   ",
    "   begins with them",
    "tabs\t\tand \r\n lines \r of \x0b\x0c\x1c\x85 all kinds\u2028here\u2029",
    "\ufeffmark \ufffd \u200b\u2060 \u00a0\u1680\u2003\u202f\u205f\u3000x \u180ey",
    "<|endoftext|>",
    "one<|endoftext|>two <|endoftext|> <|endoftext|><|endoftext|>three<|endoftex",
    "<|begin_of_text|>x<|end_of_text|><|end_of_text_2|>",
    "<s>no special token</s> <unk> <0x41>",
    "'s 'S 'T 'LL 'll've've I'D \u017f '\u017f k \u212a",
    "a" * 1000,
    " " * 1000,
    "ab" * 500 + "\n" * 100,
    "1" * 100 + " 12 1234567",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \U0010ffff \ue000",
    "e\u0301\u0323 \u1100\u1161\u11a8 \u0e01\u0e33",
    "\u2581 a\u2581b \u2581\u2581",
]

# Characters that Unicode 14 has: what later versions assign is unknown to Debian 12's libpcre2.
SOUP = [(0x20, 0x7E), (0xA0, 0x24F), (0x370, 0x377), (0x400, 0x52F), (0x5D0, 0x5EA), (0x620, 0x66F), (0x904, 0x939), (0xE01, 0xE30), (0x2000, 0x2027),
        (0x20A0, 0x20BF), (0x2150, 0x2188), (0x3041, 0x3096), (0x4E00, 0x9FEF), (0xAC00, 0xD7A3), (0x1D400, 0x1D454), (0x1F300, 0x1F5FF)]  # fmt: skip


def soup(size=100_000, seed=7):
    """Words and white space of many scripts: `size` characters, the same ones in every version of Python."""
    chance = random.Random(seed)
    text = []
    while len(text) < size:
        low, high = SOUP[int(chance.random() * len(SOUP))]
        text += [chr(low + int(chance.random() * (high - low + 1))) for _ in range(1 + int(chance.random() * 8))]
        text += [" \n\t'\u3000\r"[int(chance.random() ** 3 * 6)]] * int(chance.random() * 4)
    return "".join(text[:size])


def train_byte_level(pattern, special, template):
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE(ignore_merges=template is not None))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if pattern:
        split = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=256 + MERGES + (0 if template else len(special)), min_frequency=1, show_progress=False,
                                  special_tokens=[] if template else special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())  # fmt: skip
    tokenizer.train([str(PAGE)], trainer)
    tokenizer.add_special_tokens(special)
    post = [processors.ByteLevel(trim_offsets=True)]
    if template:
        post.append(processors.TemplateProcessing(single=f"{template} $A", special_tokens=[(template, tokenizer.token_to_id(template))]))
    tokenizer.post_processor = processors.Sequence(post)
    return tokenizer


def train_marked_spaces():
    """Of characters: bytes are tokens of the vocabulary, and nothing but the normalizer tells where words begin."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<unk>", "<s>", "</s>"]
    trainer = trainers.BpeTrainer(vocab_size=800, min_frequency=1, show_progress=False, limit_alphabet=150,
                                  special_tokens=special + [f"<0x{byte:02X}>" for byte in range(256)])  # fmt: skip
    tokenizer.train([str(PAGE)], trainer)
    tokenizer.pre_tokenizer = None
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    content = json.loads(tokenizer.to_str())
    content["added_tokens"] = content["added_tokens"][: len(special)]
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def train_sentencepiece(name, rules="", **settings):
    """A model keeps the names of the files that it was made from: they are relative, and so the same everywhere."""
    import sentencepiece

    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        shutil.copy(PAGE, "page.txt")
        if rules:
            pathlib.Path("rules.tsv").write_text(rules)
            settings["normalization_rule_tsv"] = "rules.tsv"
        sentencepiece.SentencePieceTrainer.train(input="page.txt", model_prefix="tokenizer", minloglevel=2, num_threads=1, character_coverage=0.98, **settings)
        shutil.copy("tokenizer.model", FOLDER / name)


def make():
    for name in NAMES:
        shutil.rmtree(FOLDER / name, ignore_errors=True)
        (FOLDER / name).mkdir()
    train_byte_level(None, ["<|endoftext|>"], None).model.save(str(FOLDER / "gpt2"))
    special = ["<|begin_of_text|>", "<|end_of_text|>", "<|end_of_text_2|>"]
    (FOLDER / "llama3" / "tokenizer.json").write_text(train_byte_level(LLAMA3, special, special[0]).to_str())
    (FOLDER / "llama3" / "tokenizer_config.json").write_text(json.dumps({"bos_token": special[0], "eos_token": special[1]}))
    (FOLDER / "tinyllama" / "tokenizer.json").write_text(train_marked_spaces())
    train_sentencepiece("llama2", vocab_size=900, model_type="bpe", byte_fallback=True, normalization_rule_name="identity", split_digits=True,
                        remove_extra_whitespaces=False, allow_whitespace_only_pieces=True)  # fmt: skip
    rules = "FB01\t66 69\nFB00\t66 66\n2026\t2E 2E 2E\nA\t20\n9\t20\n"  # ligatures, three dots, white space
    train_sentencepiece("unigram", rules, vocab_size=600, model_type="unigram", hard_vocab_limit=False)


def encoder_of(folder):
    """The Python package's function from text to ids, for a folder or file of any kind that npar reads."""
    folder = pathlib.Path(folder)
    if (folder / "tokenizer.json").exists() or folder.suffix == ".json":
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder if folder.is_file() else folder / "tokenizer.json"))
        return lambda text: tokenizer.encode(text).ids
    if (folder / "vocab.json").exists():
        from tokenizers import ByteLevelBPETokenizer

        tokenizer = ByteLevelBPETokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
        tokenizer.add_special_tokens(["<|endoftext|>"])
        return lambda text: tokenizer.encode(text).ids
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(model_file=str(folder if folder.is_file() else folder / "tokenizer.model"))
    return lambda text: model.encode(text)


def record():
    import sentencepiece
    import tokenizers

    recorded = {"tokenizers": tokenizers.__version__, "sentencepiece": sentencepiece.__version__, "cases": CASES, "ids": {}}
    for name in NAMES:
        encode = encoder_of(FOLDER / name)
        long = b"".join(i.to_bytes(4, "little") for i in encode(soup()))
        page = encode(PAGE.read_bytes().decode())
        recorded["ids"][name] = {"cases": [encode(case) for case in CASES], "page": page, "soup": hashlib.sha256(long).hexdigest()}
    (FOLDER / "recorded.json").write_text(json.dumps(recorded, separators=(",", ":")) + "\n")


def npar_ids(npar, folder, text):
    with tempfile.TemporaryDirectory() as place:
        out = pathlib.Path(place) / "ids.i32"
        subprocess.run([npar, "tokens", folder, "--text", "-", "--output", out], input=text.encode(), stderr=subprocess.DEVNULL, check=True)
        data = out.read_bytes()
    return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]


def compare(npar, folder, texts):
    encode, differing = encoder_of(folder), 0
    for name, text in [*((repr(case[:30]), case) for case in CASES), ("page", PAGE.read_bytes().decode()), ("soup", soup()),
                       *((text, pathlib.Path(text).read_bytes().decode()) for text in texts)]:  # fmt: skip
        ours, theirs = npar_ids(npar, folder, text), encode(text)
        if ours != theirs:
            differing += 1
            at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
            print(f"{name}: {len(ours)} ids, expected {len(theirs)}; at {at} {ours[at : at + 8]}, expected {theirs[at : at + 8]}")
    print(f"{len(CASES) + 2 + len(texts)} texts, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", nargs="+", metavar=("NPAR", "FOLDER"))
    options = parser.parse_args()
    if options.compare:
        raise SystemExit(compare(options.compare[0], options.compare[1], options.compare[2:]))
    make()
    record()
