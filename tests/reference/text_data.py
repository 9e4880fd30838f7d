"""Texts and pairs of texts with the length to which they are cut, for text_reference.py and test_reviews.py."""

REVIEW = '带孩子来的，房间很宽敞，服务热情周到。The staff was friendly, "wow"!'
SINGLES = [
    "The food was cold.",
    "房间太小了，不推荐。",
    REVIEW,
    "Délicieux! ÀÉ naïve",
    "a\nb\tc\u3000d",
    "[SEP] is a token, [sep] is none [MASK]",
    "x" * 120,
    "2024年1月：12,5 €",
    "\U0001f600 smile",
]
PAIRS = [
    ("The food was cold.", "房间太小了"),
    (REVIEW, "Never again."),
    ("好", REVIEW),
    (REVIEW, REVIEW),
    ("a b c d e", "f g h i j k l"),
    ("a b c d e f g", "h i j k l"),
]
CASES = [(length, text) for text in SINGLES for length in (16, 64)] + [(length, *pair) for pair in PAIRS for length in (12, 13, 64)]
