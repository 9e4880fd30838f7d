"""Every label that a comment cites (P4, N2, V1) is in compiler/RULES.md, and every label cited there exists."""

import re
import unittest

from driver import ROOT

RULES = ROOT / "compiler" / "RULES.md"
LABEL = r"[PNCDVS]\d{1,2}"
LIST = rf"{LABEL}(?:(?:, | and | to ){LABEL})*"
SOURCES = (".h", ".cpp", ".td", ".fbs", ".npar", ".py", ".mlir", ".test", ".md")


def sources():
    for path in sorted(ROOT.glob("*/**/*")):
        if path.suffix in SOURCES and path != RULES and path.relative_to(ROOT).parts[0] in ("dsl", "compiler", "engine", "stdlib", "tests", "tools"):
            yield path


def spread(text):
    """The labels of a list such as `P1 to P4, P7`."""
    labels = []
    for part in re.split(r", | and ", text):
        ends = re.findall(r"([A-Z])(\d+)", part)
        labels += [f"{ends[0][0]}{number}" for number in range(int(ends[0][1]), int(ends[-1][1]) + 1)]
    return labels


def citations():
    """Label -> the first place that cites it: `RULES.md#P4`, a link `RULES.md#p4`, or a verifier's message that begins with it."""
    found = {}
    for path in sources():
        text = path.read_text(errors="replace")
        cited = [label for match in re.finditer(rf"RULES\.md#({LIST})", text) for label in spread(match.group(1))]
        cited += [label.upper() for label in re.findall(r"RULES\.md#([a-z]\d+)", text)]
        cited += re.findall(rf'<< "({LABEL}): ', text)
        for label in cited:
            found.setdefault(label, str(path.relative_to(ROOT)))
    return found


class RulesTest(unittest.TestCase):
    def setUp(self):
        self.text = RULES.read_text()
        self.labels = set(re.findall(rf"^### ({LABEL})$", self.text, re.M)) | {label.upper() for label in re.findall(r'<a id="(\w+)">', self.text)}

    def test_cited_labels_are_in_the_document(self):
        cited = citations()
        self.assertGreater(len(cited), 20, "the search for citations finds too little")
        self.assertEqual({label: path for label, path in cited.items() if label not in self.labels}, {})

    def test_labels_of_the_document_are_cited(self):
        self.assertEqual(sorted(self.labels - set(citations())), [])

    def test_citations_name_the_document(self):
        """A label alone in parentheses tells a stranger nothing."""
        bare = []
        for path in sources():
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                if re.search(rf"(?<!CODE)\((?:rules? )?[PN]\d{{1,2}}(?:(?:, | and | to |-)[PN]\d{{1,2}})*[:)]", line):
                    bare.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
        self.assertEqual(bare, [])

    def test_links_lead_somewhere(self):
        """The code and the tests that the document names exist, and so does every anchor in it that a document links to."""
        links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", self.text)
        self.assertGreater(len(links), 40)
        self.assertEqual([link for link in links if not (RULES.parent / link).exists()], [])
        anchors = {label.lower() for label in self.labels}
        self.assertEqual([anchor for anchor in re.findall(r"\]\(#([a-z]\d+)\)", self.text) if anchor not in anchors], [])


if __name__ == "__main__":
    unittest.main()
