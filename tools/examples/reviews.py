#!/usr/bin/env python3
"""Makes a small data set for text classification: reviews of hotels in Chinese and of restaurants in English, negative or positive.

    python3 tools/examples/reviews.py reviews

writes into the folder `reviews`:

    reviews.csv    review,label with the names negative and positive; some reviews have commas, quotes and line breaks
    reviews.tsv    label<TAB>review with the numbers 0 and 1
    reviews.jsonl  {"review": ..., "label": "positive"} in each line
    new.csv        reviews without labels
    new.txt        the same, one in each line
    tokenizer/     vocab.txt and tokenizer_config.json in the form of bert-base-chinese: [PAD] is 0, [UNK] 100, [CLS] 101, [SEP] 102, [MASK] 103

The three files have the same reviews. They depend on --seed and --rows only. Needs nothing but Python's standard library.
"""

import argparse
import csv
import json
import pathlib
import random

# Topics with their negative and positive phrases.
CHINESE = {
    "房间": (["太小了", "有一股霉味", "隔音很差", "很旧", "又脏又乱"], ["很宽敞", "干净整洁", "非常安静", "布置得很温馨", "采光不错"]),
    "服务": (["态度冷淡", "很慢", "让人失望", "不专业"], ["热情周到", "很好", "让人满意", "非常专业"]),
    "早餐": (["难吃", "品种太少", "是凉的", "没有味道"], ["好吃", "品种丰富", "很新鲜", "值得一试"]),
    "位置": (["偏僻", "离地铁太远", "不好找"], ["方便", "离地铁很近", "在市中心"]),
    "价格": (["太贵", "虚高", "不值"], ["实惠", "合理", "很值"]),
}
CHINESE_ENDINGS = (["不会再来了。", "不推荐。", "以后不考虑了！", "差评。"], ["下次还会来。", "推荐！", "很满意的一次入住。", "好评。"])
CHINESE_OPENINGS = ["", "出差住的，", "带孩子来的，", "朋友介绍的酒店，", "住了两晚，"]
ENGLISH = {
    "the food": (["was cold", "had no taste", "was terrible", "came late"], ["was delicious", "was fresh", "tasted great", "came quickly"]),
    "the staff": (["was rude", "ignored us", "seemed bored"], ["was friendly", "helped us at once", "smiled a lot"]),
    "the room": (["was dirty", "was too loud", "smelled bad"], ["was clean", "was quiet and cosy", "looked lovely"]),
    "the price": (["was far too high", "was a joke"], ["was fair", "was a bargain"]),
}
ENGLISH_ENDINGS = (["Never again.", "I want my money back!", 'My friend said "avoid".'], ["We will be back.", "Highly recommended!", 'My friend said "wow".'])
ENGLISH_OPENINGS = ["", "We came on a Sunday: ", "It was my birthday, and ", "After a long walk, "]
LABELS = ["negative", "positive"]


def chinese(draw, label):
    topics = draw.sample(sorted(CHINESE), draw.randint(1, 3))
    said = "，".join(topic + draw.choice(CHINESE[topic][label]) for topic in topics)
    return draw.choice(CHINESE_OPENINGS) + said + "。" + draw.choice(CHINESE_ENDINGS[label])


def english(draw, label):
    topics = draw.sample(sorted(ENGLISH), draw.randint(1, 3))
    said = ", ".join(f"{topic} {draw.choice(ENGLISH[topic][label])}" for topic in topics)
    text = draw.choice(ENGLISH_OPENINGS) + said + "."
    return text[0].upper() + text[1:] + draw.choice([" ", "\n"]) + draw.choice(ENGLISH_ENDINGS[label])


def reviews(draw, count):
    """Distinct texts with their labels, both languages and both labels equally often."""
    found = {}
    while len(found) < count:
        label = len(found) % 2
        text = (chinese if len(found) // 2 % 2 else english)(draw, label)
        found.setdefault(text, label)
    rows = list(found.items())
    draw.shuffle(rows)
    return rows


def vocabulary():
    """Special tokens, single characters, English words of up to five letters, and pieces of longer ones."""
    texts = CHINESE_OPENINGS + ENGLISH_OPENINGS
    for table in (CHINESE, ENGLISH):
        for topic, sides in table.items():
            texts += [topic, *sides[0], *sides[1]]
    for endings in (CHINESE_ENDINGS, ENGLISH_ENDINGS):
        texts += endings[0] + endings[1]
    text = " ".join(texts).lower()
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = sorted({word for word in "".join(c if c in letters else " " for c in text).split() if 1 < len(word) < 6})
    special = ["[PAD]", *(f"[unused{i}]" for i in range(1, 100)), "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    characters = sorted({c for c in text if not c.isspace() and c not in letters} | set("!\"',.:;?0123456789"))
    pieces = [f"##{piece}" for piece in [*letters, "al", "ble", "ed", "en", "er", "ess", "ful", "ing", "ion", "ly", "ous", "st"]]
    return [*special, *characters, *letters, *words, *pieces]


def write(folder, rows, new):
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "reviews.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["review", "label"])
        table.writerows((text, LABELS[label]) for text, label in rows)
    with open(folder / "reviews.tsv", "w", encoding="utf-8") as file:
        file.write("label\treview\n")
        file.writelines(f"{label}\t{' '.join(text.splitlines())}\n" for text, label in rows)
    with open(folder / "reviews.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"review": text, "label": LABELS[label]}, ensure_ascii=False) + "\n" for text, label in rows)
    with open(folder / "new.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["review"])
        table.writerows((text,) for text, _ in new)
    (folder / "new.txt").write_text("".join(" ".join(text.splitlines()) + "\n" for text, _ in new), encoding="utf-8")
    tokenizer = folder / "tokenizer"
    tokenizer.mkdir(exist_ok=True)
    (tokenizer / "vocab.txt").write_text("\n".join(vocabulary()) + "\n", encoding="utf-8")
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "tokenize_chinese_chars": True, "model_max_length": 512}
    (tokenizer / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=600, help="reviews with labels (default: 600)")
    parser.add_argument("--new", type=int, default=8, help="reviews without labels (default: 8)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rows = reviews(random.Random(given.seed), given.rows + given.new)
    write(given.folder, rows[: given.rows], rows[given.rows :])
    print(f"{given.rows} reviews in '{given.folder}', {len(vocabulary())} tokens in its tokenizer")


if __name__ == "__main__":
    main()
