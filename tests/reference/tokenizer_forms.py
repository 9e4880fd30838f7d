"""Published forms of tokenizers, with small vocabularies in place of the published ones: each is a tokenizer.json without its vocabulary."""

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace("{1,3}", "")
CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + CONTRACTION
    + r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + CONTRACTION
    + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)  # fmt: skip
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
DEEPSEEK3 = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK_CODER = (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿]+", r"\p{N}")
MARK = "\u2581"


def sequence(key, parts):
    return parts[0] if len(parts) == 1 else {"type": "Sequence", key: list(parts)}


def normalizers(*parts):
    return sequence("normalizers", parts)


def cuts(*parts):
    return sequence("pretokenizers", parts)


def kind(name, **fields):
    return {"type": name, **fields}


def split(pattern, behavior="Isolated", invert=False):
    return kind("Split", pattern={"Regex": pattern}, behavior=behavior, invert=invert)


def byte_level(use_regex=True, prefix=False):
    return kind("ByteLevel", add_prefix_space=prefix, trim_offsets=True, use_regex=use_regex)


def replace(pattern, content):
    return kind("Replace", pattern=pattern, content=content)


def metaspace(scheme="always", split=True):
    return kind("Metaspace", replacement=MARK, prepend_scheme=scheme, split=split)


def bert(**changes):
    return {**kind("BertNormalizer", clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True), **changes}


def around(before, after=()):
    tokens = [*before, *after]
    single = [*({"SpecialToken": {"id": t, "type_id": 0}} for t in before), {"Sequence": {"id": "A", "type_id": 0}},
              *({"SpecialToken": {"id": t, "type_id": 0}} for t in after)]  # fmt: skip
    return kind("TemplateProcessing", single=single, pair=[], special_tokens={t: {"id": t, "ids": [t], "tokens": [t]} for t in tokens})


def added(content, special=True, **flags):
    return {"content": content, "special": special, "single_word": False, "lstrip": False, "rstrip": False, "normalized": not special, **flags}


MARKED = normalizers(kind("Prepend", prepend=MARK), replace({"String": " "}, MARK))
SPACES = replace({"Regex": " {2,}"}, " ")
BOS, ROBERTA, BERT = around(["<s>"]), around(["<s>"], ["</s>"]), around(["[CLS]"], ["[SEP]"])
S, BERT_TOKENS = [added("<s>"), added("</s>")], [added("[CLS]"), added("[SEP]"), added("[MASK]")]
MASK = added("<mask>", lstrip=True)
END = [added("<|endoftext|>")]
BYTES = byte_level(use_regex=False)

# name: vocabulary, added tokens, normalizer, pre-tokenizer, post-processor, settings of the model
FORMS = {
    "gpt2": ("bytes", END, None, byte_level(), None, {}),
    "roberta": ("bytes", [*S, MASK], None, byte_level(), kind("RobertaProcessing", sep=["</s>", "</s>"], cls=["<s>", "<s>"], trim_offsets=True, add_prefix_space=False), {}),
    "bart": ("bytes", [*S, MASK], None, byte_level(), ROBERTA, {}),
    "codegen": ("bytes", [*END, added("  ", special=False), added("    ", special=False)], None, byte_level(prefix=True), None, {}),
    "llama3": ("bytes", [added("<s>"), added("<|eot_id|>")], None, cuts(split(LLAMA3), BYTES), kind("Sequence", processors=[byte_level(), BOS]), {"ignore_merges": True}),
    "mistral_tekken": ("bytes", [*S, added("[INST]")], None, cuts(split(O200K), BYTES), BOS, {"ignore_merges": True}),
    "gpt_oss": ("bytes", END, None, cuts(split(O200K), BYTES), None, {}),
    "qwen2_5": ("bytes", [*END, added("<|im_start|>"), added("<tool>", special=False, normalized=False)], kind("NFC"), cuts(split(QWEN2), BYTES), byte_level(), {}),
    "qwen3": ("bytes", [*END, added("<think>", special=False, normalized=False), added("café", special=False), added("cafe\u0301s", special=False)], kind("NFC"), cuts(split(QWEN2), BYTES), None, {}),
    "olmo": ("bytes", [*END, added("  ", special=False, normalized=False)], kind("NFC"), byte_level(), None, {}),
    "gpt_neox": ("bytes", [*END, added("  ", special=False)], kind("NFC"), byte_level(), None, {}),
    "bloom": ("bytes", S, None, cuts(split(BLOOM), BYTES), None, {}),
    "starcoder2": ("bytes", END, None, cuts(kind("Digits", individual_digits=True), byte_level()), None, {}),
    "falcon": ("bytes", [added(">>TITLE<<"), *END], None, cuts(kind("Punctuation", behavior="Contiguous"), byte_level(), kind("Digits", individual_digits=False), split("[0-9][0-9][0-9]")), None, {}),
    "deberta": ("bytes", BERT_TOKENS, None, byte_level(), BERT, {}),
    "deepseek_v3": ("bytes", S, None, cuts(split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(DEEPSEEK3), BYTES), BOS, {}),
    "deepseek_coder": ("bytes", S, None, cuts(*map(split, DEEPSEEK_CODER), BYTES), BOS, {}),
    "modernbert": ("bytes", [*BERT_TOKENS[:2], added("[MASK]", lstrip=True), added("<word>", special=False, single_word=True)], kind("NFC"), byte_level(), BERT, {}),
    "llama2": ("characters", S, MARKED, None, BOS, {}),
    "phi3": ("characters", [*S, added("<|user|>", rstrip=True), added("<|end|>", rstrip=True)], MARKED, None, BOS, {}),
    "mistral": ("characters", S, None, metaspace("first", split=False), BOS, {}),
    "gemma": ("characters", [added("<bos>"), added("<eos>")], replace({"String": " "}, MARK), kind("Split", pattern={"String": " "}, behavior="MergedWithPrevious", invert=False), around(["<bos>"]), {}),
    "bert_uncased": ("word_pieces", BERT_TOKENS, bert(), kind("BertPreTokenizer"), BERT, {}),
    "bert_cased": ("word_pieces", BERT_TOKENS, bert(lowercase=False), kind("BertPreTokenizer"), BERT, {}),
    "distilbert": ("word_pieces", BERT_TOKENS, bert(strip_accents=False), kind("BertPreTokenizer"), kind("BertProcessing", sep=["[SEP]", "[SEP]"], cls=["[CLS]", "[CLS]"]), {}),
    "minilm": ("word_pieces", BERT_TOKENS, normalizers(kind("NFKD"), kind("StripAccents"), kind("Lowercase")), kind("Whitespace"), BERT, {"max_input_chars_per_word": 20}),
    "t5": ("unigram", [added("</s>"), added("<extra_id_0>", rstrip=True, lstrip=True)], normalizers(kind("Precompiled"), kind("Strip", strip_left=False, strip_right=True), replace({"Regex": " {2,}"}, MARK)), metaspace(), around([], ["</s>"]), {}),
    "xlm_roberta": ("unigram", [*S, MASK], normalizers(kind("Precompiled"), SPACES), cuts(kind("WhitespaceSplit"), metaspace()), ROBERTA, {}),
    "albert": ("unigram", BERT_TOKENS, normalizers(replace({"String": "``"}, '"'), replace({"String": "''"}, '"'), kind("NFKD"), kind("StripAccents"), kind("Lowercase"), kind("Precompiled"), SPACES), metaspace(), BERT, {}),
    "deberta_v3": ("unigram", BERT_TOKENS, normalizers(kind("Strip", strip_left=True, strip_right=True), kind("Precompiled"), SPACES), metaspace(), BERT, {}),
}  # fmt: skip

# Texts are made of these characters: twelve scripts, and others that are cut or normalized in unusual ways.
SCRIPTS = [(0x20, 0x7E), (0x41, 0x7A), (0xA0, 0x24F), (0x370, 0x3FF), (0x400, 0x52F), (0x531, 0x587), (0x5D0, 0x5EA), (0x620, 0x66F), (0x904, 0x94D),
           (0xE01, 0xE4E), (0x10D0, 0x10FF), (0x3041, 0x30FF), (0x4E00, 0x9FEF), (0xAC00, 0xD7A3), (0x1100, 0x11FF), (0x300, 0x36F), (0x600, 0x610),
           (0x1E00, 0x1EFF), (0x2000, 0x206F), (0x20A0, 0x20BF), (0x2150, 0x2188), (0xFB00, 0xFB4F), (0xFF00, 0xFFEE), (0x10D00, 0x10D40), (0x1F300, 0x1F64F)]  # fmt: skip
WORDS = ["<mask>", "<s>", "</s>", "[MASK]", "<|endoftext|>", "<|user|>", "<|end|>", "<extra_id_0>", "<word>", "<think>", "café", "cafe\u0301s", "  ",
         MARK, MARK * 2, "``", "''", "\r\n", "\n\n", "\u200d", "<0x41>", ">>TITLE<<", "n't", "'s", "'LL", "ﬁ", "…", "A\u030a", "İ", "ß", "\0", "\ufeff",
         "the", "human", "rights", "1234567", "x1"]  # fmt: skip
SPACING = ["", " ", " ", " ", "  ", "   ", "\n", "\t", "\u3000", "\u00a0"]
TEXTS, BLOCK = 3000, 100
POINTS = 16384  # of a text


class Chance:
    """Knuth's 64-bit generator: the same numbers in every language."""

    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (self.state >> 33) % limit


def random_text(number):
    chance, text = Chance(number), ""
    for _ in range(chance.below(13)):
        if chance.below(4) == 0:
            text += WORDS[chance.below(len(WORDS))]
        else:
            low, high = SCRIPTS[chance.below(len(SCRIPTS))]
            text += "".join(chr(low + chance.below(high - low + 1)) for _ in range(1 + chance.below(6)))
        text += SPACING[chance.below(len(SPACING))]
    return text


def point_texts():
    for first in range(0, 0x110000, POINTS):
        yield "".join(f"a{chr(c)}b " for c in range(first, first + POINTS) if not 0xD800 <= c < 0xE000)
