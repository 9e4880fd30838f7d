"""Small folders of tokenizers, as older and newer versions of transformers write them, and texts that show what their files mean."""

import base64
import json
import struct

ALPHABET = ["a", "b", "e", "x", "s", "1", "2", "<", ">", "/", "|", "m", "k", "Ġ", "Ċ", "é", "Ã", "©", "d", "n", "o", "f", "t", "p", "y", "z"]
MERGES = [("a", "b"), ("Ġ", "a"), ("1", "2")]
END = "<|endoftext|>"
TEXT = "ab a <x> <mask> é</s>12 x<pad> <y><z>b <|endoftext|>"


def vocabulary(*special):
    return {token: i for i, token in enumerate([*ALPHABET, *map("".join, MERGES), *special])}


def token(content, **flags):
    return {"__type": "AddedToken", "content": content, "lstrip": False, "rstrip": False, "normalized": False, "single_word": False, **flags}


def listed(content, **flags):
    return {key: value for key, value in token(content, special=True, **flags).items() if key != "__type"}


def gpt2(config, special=(END,), **files):
    """vocab.json and merges.txt; `config`: tokenizer_config.json, or null."""
    made = {"vocab.json": vocabulary(*special), "merges.txt": "#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in MERGES)}
    if config is not None:
        made["tokenizer_config.json"] = config
    return {**made, **{name.replace("_json", ".json"): content for name, content in files.items()}}


ROBERTA = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
SIZE = len(vocabulary())
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b", "b", "##x", "<", ">", "x", "/", "s", "the", "|", "e", "12", "mask"]


def bert(config, lines=PIECES, **files):
    made = {"vocab.txt": "".join(line + "\n" for line in lines), "tokenizer_config.json": config}
    return {**made, **{name.replace("_json", ".json"): content for name, content in files.items()}}


def fast(model, added=(), pre_tokenizer=None, normalizer=None, **changes):
    """A tokenizer.json; a change to None leaves a part away."""
    file = {"version": "1.0", "truncation": None, "padding": None, "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": None, "decoder": None,
            "added_tokens": [{**listed(content), "id": id, **flags} for id, content, flags in added], "model": model, **changes}  # fmt: skip
    return {key: value for key, value in file.items() if key not in changes or value is not None}


WORDS = {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "u": 2, "<": 3, ">": 4, " ": 5, "x": 6}, "unk_token": "u"}
CHARACTERS = {"type": "Split", "pattern": {"Regex": "[^a]|a"}, "behavior": "Isolated", "invert": False}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
UNIGRAM = {"unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0], ["b", -1.5], ["ab", -2.0], [" ", -3.0]]}
BPE = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": True,
       "vocab": vocabulary(), "merges": [list(pair) for pair in MERGES]}  # fmt: skip
SPACES = {"lstrip": True, "rstrip": True}


def sentencepiece(pieces, unigram=True, space=False, drops=False):
    """A model file of pieces with scores and types, without a table for its normalizer."""

    def field(number, kind, data):
        size = b""
        if kind == 2:
            length = len(data)
            while length >= 128:
                size, length = size + bytes([length & 127 | 128]), length >> 7
            size += bytes([length])
        return bytes([number << 3 | kind]) + size + data

    out = b""
    for text, score, kind in pieces:
        out += field(1, 2, field(1, 2, text.encode()) + field(2, 5, struct.pack("<f", score)) + field(3, 0, bytes([kind])))
    trainer = field(3, 0, bytes([1 if unigram else 2]))
    normalizer = field(1, 2, b"identity") + field(3, 0, bytes([space])) + field(4, 0, bytes([drops])) + field(5, 0, b"\1")
    return {"base64": base64.b64encode(out + field(2, 2, trainer) + field(3, 2, normalizer)).decode()}


NORMAL, UNKNOWN, CONTROL, DEFINED = 1, 2, 3, 4
MARKS = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL), ("▁", -2.0, NORMAL), ("a", -1.0, NORMAL), ("b", -1.25, NORMAL),
         ("the", -3.0, NORMAL), ("t", -4.0, NORMAL), ("h", -4.0, NORMAL), ("e", -4.0, NORMAL)]  # fmt: skip
# Several ways through the spaces have sums that only their rounding tells apart.
TIES = [*MARKS[:3], ("▁", -3.0213, NORMAL), ("▁▁", -6.0426, NORMAL), ("▁▁▁▁", -6.0426, NORMAL), ("a", -3.9817, NORMAL), ("b", -4.1131, NORMAL)]
FAR = [*MARKS[:3], ("a", -99.13, NORMAL), ("b", -98.71, NORMAL), ("ab", -197.84, NORMAL), ("ba", -197.84, NORMAL), ("▁", -97.3, NORMAL), ("aba", -296.97, NORMAL)]
SPACED = ["".join("a" + " " * n + "b" for n in range(14)), *("a" * m + " " * n + "b" for m in (1, 3) for n in range(3, 13))]
T5 = [("<pad>", 0.0, CONTROL), ("</s>", 0.0, CONTROL), ("<unk>", 0.0, UNKNOWN), *MARKS[3:]]

# name: what reads it (tokenizers, transformers or sentencepiece), files, texts
FOLDERS = {
    "gpt2_without_class": ("transformers", gpt2(None, config_json={"model_type": "gpt2"}), [TEXT]),
    "gpt2_without_its_end": ("transformers", gpt2({"tokenizer_class": "GPT2Tokenizer"}, special=()), [TEXT]),
    "gpt2_with_the_tokens_of_opt": ("transformers", gpt2({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": True, "bos_token": token("</s>"), "eos_token": token("</s>"),
                                                          "unk_token": token("</s>"), "pad_token": token("<pad>")}, special=("<pad>", "</s>")), [TEXT]),
    "gpt2_with_new_tokens": ("transformers", gpt2({"tokenizer_class": "GPT2Tokenizer", "pad_token": "<pad>", "mask_token": token("<mask>", lstrip=True), "add_bos_token": True,
                                                   "add_eos_token": True, "additional_special_tokens": ["<y>", token("<x>", rstrip=True)]}), [TEXT]),
    "gpt2_with_named_tokens": ("transformers", gpt2({"tokenizer_class": "GPT2Tokenizer", "extra_special_tokens": {"image_token": "<x>"}, "unk_token": None}), [TEXT]),
    "gpt2_with_one_of_its_own": ("transformers", gpt2({"tokenizer_class": "GPT2Tokenizer", "image_token": "<y>"}), [TEXT]),
    "gpt2_with_a_map": ("transformers", gpt2({"tokenizer_class": "GPT2Tokenizer", "pad_token": "<y>"},
                                             special_tokens_map_json={"pad_token": {"content": "<x>", "lstrip": True, "normalized": False, "rstrip": False, "single_word": False},
                                                                      "additional_special_tokens": ["<z>"]}), [TEXT]),
    "gpt2_with_a_map_and_a_list": ("transformers", gpt2({"tokenizer_class": "GPT2Tokenizer", "added_tokens_decoder": {str(SIZE + 1): listed("<x>", rstrip=True)}},
                                                        special_tokens_map_json={"pad_token": "<y>"}, added_tokens_json={"<z>": SIZE + 2}), [TEXT]),
    "gpt2_with_an_old_list": ("transformers", gpt2({"tokenizer_class": "GPT2Tokenizer", "pad_token": "<y>"}, added_tokens_json={"<x>": SIZE + 2, "<y>": SIZE + 1}), [TEXT]),
    "gpt2_with_a_long_list": ("transformers", gpt2({"tokenizer_class": "GPT2Tokenizer", "added_tokens_decoder": {str(SIZE + 1 + i): listed(f"<{i}>") for i in range(75)}}), [TEXT + "<1><12><2>"]),
    "roberta": ("transformers", gpt2({"tokenizer_class": "RobertaTokenizer"}, ROBERTA), [TEXT]),
    "roberta_by_model_type": ("transformers", gpt2(None, ROBERTA, config_json={"model_type": "roberta"}), [TEXT]),
    "roberta_without_mask": ("transformers", gpt2({"tokenizer_class": "RobertaTokenizer"}, ROBERTA[:4]), [TEXT]),
    "roberta_with_flags": ("transformers", gpt2({"tokenizer_class": "RobertaTokenizer", "mask_token": token("<mask>", lstrip=True, rstrip=True)}, ROBERTA), [TEXT]),
    "qwen2_by_model_type": ("transformers", gpt2(None, config_json={"model_type": "qwen2"}), [TEXT, "e\u0301 12"]),
    "qwen2_with_spaces": ("transformers", gpt2({"tokenizer_class": "Qwen2Tokenizer", "add_prefix_space": True}), [TEXT]),
    "qwen2_with_flags": ("transformers", gpt2({"tokenizer_class": "Qwen2Tokenizer", "pad_token": token("<x>", lstrip=True), "bos_token": None,
                                               "added_tokens_decoder": {str(SIZE + 1): listed("<x>", lstrip=True), str(SIZE + 2): listed("<y>", lstrip=True)}}), [TEXT]),
    "bert": ("transformers", bert({"tokenizer_class": "BertTokenizer", "pad_token": "<x>", "mask_token": token("[MASK]", lstrip=True)}), ["ab [MASK] the <x>[UNK]"]),
    "bert_with_a_new_begin": ("transformers", bert({"tokenizer_class": "BertTokenizer", "cls_token": "<s>"}), ["ab [MASK] the <x><s>"]),
    "bert_with_a_list": ("transformers", bert({"tokenizer_class": "BertTokenizer", "added_tokens_decoder": {"0": listed("[PAD]"), str(len(PIECES)): listed("<x>")}}), ["ab [MASK] the <x>"]),
    "bert_with_a_line_twice": ("transformers", bert({"tokenizer_class": "BertTokenizer"}, [*PIECES, "a\u00a0"]), ["ab a"]),
    "bert_with_a_blank_line": ("transformers", bert({"tokenizer_class": "BertTokenizer", "pad_token": "<x>"}, [*PIECES[:6], "\u3000", *PIECES[6:]]), ["ab the [MASK] <x>"]),
    "fast_with_more_tokens": ("transformers", {"tokenizer.json": fast(WORDS, [(7, "<x>", {}), (8, "<b>", {})], CHARACTERS), "tokenizer_config.json":
                                               {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<y>", "eos_token": "<x>", "extra_special_tokens": ["<z>"],
                                                "added_tokens_decoder": {"8": listed("<b>", lstrip=True)}}}, ["a <b> <x> <y><z>"]),
    "fast_with_an_old_list": ("transformers", {"tokenizer.json": fast(WORDS, [(7, "<x>", {})], CHARACTERS), "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast"},
                                               "added_tokens.json": {"<x>": 7, "<y>": 8}, "special_tokens_map.json": {"pad_token": "<z>"}}, ["a <x> <y><z>"]),
    "words_without_type": ("tokenizers", {"tokenizer.json": fast({key: WORDS[key] for key in ("vocab", "unk_token")}, [], CHARACTERS)}, ["abx ?"]),
    "word_pieces_without_type": ("tokenizers", {"tokenizer.json": fast({"unk_token": "u", "continuing_subword_prefix": "##", "max_input_chars_per_word": 5, "vocab": {"u": 0, "a": 1, "##b": 2}})}, ["ab", "abbbbb", "ba"]),
    "unigram_without_type": ("tokenizers", {"tokenizer.json": fast(UNIGRAM)}, ["ab a?"]),
    "unigram_with_sampling": ("tokenizers", {"tokenizer.json": fast({**UNIGRAM, "type": "Unigram", "alpha": 0.1, "nbest_size": -1})}, ["abababab"]),
    "file_without_version": ("tokenizers", {"tokenizer.json": fast(WORDS, [], CHARACTERS, version=None)}, ["ab"]),
    "bytes_that_fall_back": ("tokenizers", {"tokenizer.json": fast(BPE, [], BYTES)}, [TEXT]),
    "spaces_that_strip": ("tokenizers", {"tokenizer.json": fast(WORDS, [(5, " ", SPACES), (7, "▁", SPACES)], CHARACTERS)}, ["a  b", "a ▁ b", "  ", "▁ ▁", "a   ▁b"]),
    "a_token_of_spaces_only": ("tokenizers", {"tokenizer.json": fast(WORDS, [(7, "  ", {"normalized": True}), (8, "<x", {})], CHARACTERS, {"type": "Strip", "strip_left": True, "strip_right": True})}, ["a  <x  b"]),
    "an_id_above_the_size": ("tokenizers", {"tokenizer.json": fast({**WORDS, "vocab": {"a": 0, "u": 1, "<s>": 8}}, [(8, "<s>", {}), (3, "<x>", {})], CHARACTERS)}, ["a<s><x>"]),
    "defined_pieces": ("sentencepiece", {"tokenizer.model": sentencepiece([*MARKS, ("▁▁", 0.0, DEFINED), ("▁the", 0.0, DEFINED), ("e▁", 0.0, DEFINED), ("▁▁▁▁", 0.0, DEFINED)])},
                       ["a   b", "a     b the", "the e a", "a    ", "   the   the"]),
    "near_ties": ("sentencepiece", {"tokenizer.model": sentencepiece(TIES)}, SPACED),
    "large_sums": ("sentencepiece", {"tokenizer.model": sentencepiece(FAR)}, ["abba baab" * 400 + "ab" * 700]),
    "t5": ("transformers", {"spiece.model": sentencepiece(T5, space=True, drops=True), "config.json": {"model_type": "t5"}, "tokenizer_config.json": {"extra_ids": 3}}, ["a the <extra_id_0> b<extra_id_2>"]),
    "llama": ("transformers", {"tokenizer.model": sentencepiece([*MARKS[:6], ("▁a", -0.5, NORMAL)], unigram=False, space=True),
                               "tokenizer_config.json": {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": True}}, ["a ba"]),
}  # fmt: skip
