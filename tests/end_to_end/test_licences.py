"""Something real is learned: which of Debian's licences a window of 64 letters is from. Of what was held out more than nine tenths are right, and as many
under every plan."""

import collections
import pathlib
import re
import unittest

from driver import LONG, DriverTest, mesh, safetensors_file, sample, settings

TEXT = pathlib.Path(__file__).resolve().parent / "licences.npar"
FOLDER = pathlib.Path("/usr/share/common-licenses")
LICENCES = ["Apache-2.0", "Artistic", "CC0-1.0", "GFDL-1.3", "GPL-3", "MPL-1.1", "MPL-2.0"]
LENGTH, STRIDE, RARE = 24, 5, 4
FIRST, UNKNOWN = 1, 2  # 0 is padding
PLANS = [
    ["--plan", "none"],
    settings(mesh(dp=2, pp=1, tp=1), micro=4),
    settings(mesh(dp=1, pp=2, tp=2), micro=8, schedule="gpipe"),
    settings(mesh(dp=2, pp=2, tp=2), micro=4, zero=3),
    settings(mesh(dp=3, pp=1, tp=1), micro=8, batch=24, zero=1),
]


def windows():
    """Rows of words' numbers with their licences, and how many words there are."""
    found = []
    for label, name in enumerate(LICENCES):
        text = " ".join((FOLDER / name).read_text(encoding="latin-1").split())
        found += [(re.findall(r"[A-Za-z]+|[^A-Za-z\s]", text[place : place + 64]), label) for place in range(0, len(text) - 64, STRIDE)]
    counts = collections.Counter(word for words, _ in found for word in words)
    numbers = {word: number for number, word in enumerate(sorted(word for word in counts if counts[word] >= RARE), UNKNOWN + 1)}
    rows = [[FIRST, *(numbers.get(word, UNKNOWN) for word in words[: LENGTH - 1])] for words, _ in found]
    return [row + [0] * (LENGTH - len(row)) for row in rows], [label for _, label in found], len(numbers) + UNKNOWN + 1


@unittest.skipUnless(LONG, "NPAR_LONG is not set; in the short run digits are learned (test_images)")
@unittest.skipUnless(all((FOLDER / name).exists() for name in LICENCES), f"Debian's licences are not in {FOLDER}")
class LicencesTest(DriverTest):
    def test_it_is_learned(self):
        rows, labels, words = windows()
        safetensors_file.write_values(self.folder / "windows.safetensors", {
            "tokens": ("I32", [len(rows), LENGTH], [token for row in rows for token in row]), "label": ("I32", [len(labels)], labels),
        })  # fmt: skip
        (self.folder / "licences.npar").write_text(TEXT.read_text())
        model = settings(task="classify", vocab=words, context=LENGTH, width=64, heads=4, depth=2, classes=len(LICENCES))
        run = ["run", "licences.npar", "--train", "licences", *settings(mesh(dp=2, pp=1, tp=1), micro=16), *model]
        trained = self.npar_json(*run, "--steps", 800, "--output", "weights.safetensors", "--quiet")
        self.assertLess(trained["loss"], 0.5)
        said = []
        for plan in sample(PLANS, PLANS[0], PLANS[4]):
            evaluated = self.npar_json("eval", "licences.npar", *model, *settings(compute="f64"), *plan, "--weights", "weights.safetensors", "--quiet")
            said.append((evaluated["metrics"]["right"], evaluated["counted"]["right"], evaluated["samples"]))
        self.assertEqual(len(set(said)), 1, said)
        right, counted, samples = said[0]
        print(f"licences: {right:.4f} of {samples} held out windows are right")
        self.assertEqual((counted, samples), (len(rows) - len(rows) * 9 // 10,) * 2)
        self.assertNotEqual(samples % 64, 0)  # the last batch is not full
        self.assertGreater(right, 0.9)


if __name__ == "__main__":
    unittest.main()
