"""Token numbers, types and masks of transformers' BertTokenizer for texts and pairs, cut and filled up: text_recorded.json."""

import json
import pathlib
import sys
import tempfile

from text_data import CASES

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools" / "examples"))


def main():
    import reviews
    from transformers import BertTokenizer

    with tempfile.TemporaryDirectory() as folder:
        reviews.write(pathlib.Path(folder), [("a", 0)], [("a", 0)])
        tokenizer = BertTokenizer.from_pretrained(pathlib.Path(folder) / "tokenizer")
        found = []
        for length, *texts in CASES:
            result = tokenizer(*texts, truncation="longest_first", max_length=length, padding="max_length")
            found.append([result["input_ids"], result["attention_mask"], result["token_type_ids"]])
    path = pathlib.Path(__file__).resolve().parent / "text_recorded.json"
    path.write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
