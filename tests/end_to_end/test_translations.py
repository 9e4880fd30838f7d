"""Translated pages: each matches its English page, or tells its readers that it is behind; its code is that of the English page."""

import contextlib
import io
import shutil
import sys
import unittest
from unittest import mock

from driver import ROOT, DriverTest

sys.path.insert(0, str(ROOT / "tests"))
import translations  # noqa: E402


class TranslationsTest(DriverTest):
    def test_pages_are_current(self):
        self.assertGreater(len(translations.pages()), 2)
        for page in translations.pages():
            with self.subTest(page=page.relative_to(ROOT)):
                self.assertIsNone(translations.difference(page))
                name = translations.english(page)[0]
                up = "../" * (len(page.relative_to(ROOT).parts) - 1)
                tools = "../" * (len(page.relative_to(ROOT / "tools").parts) - 1)
                linked = any(f"]({start})" in page.read_text() for start in (up + name, tools + name.removeprefix("tools/")))
                self.assertTrue(linked, "a link leads to the English page")

    def test_changes_are_found(self):
        """A changed sentence, a changed command, and what the script's flags do."""
        for part in ("README.md", "tools/docs/zh/README.md"):
            copy = self.folder / part
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / part, copy)
        with mock.patch.multiple(translations, ROOT=self.folder, FOLDER=self.folder / "tools" / "docs"):
            page, source = self.folder / "tools/docs/zh/README.md", self.folder / "README.md"
            whole = source.read_text()

            def run(*arguments):
                with mock.patch.object(sys, "argv", ["translations.py", *map(str, arguments)]), contextlib.redirect_stdout(io.StringIO()):
                    translations.main()

            source.write_text(whole.replace("You write the model once.", "You write a model once."))
            self.assertIn("has changed since", translations.difference(page))
            run("--behind", page)
            self.assertIsNone(translations.difference(page))
            run("--update", page)
            self.assertIsNone(translations.difference(page))
            self.assertFalse(translations.is_marked(page))
            source.write_text(whole.replace("npar verify hello.npar", "npar verify hallo.npar"))
            self.assertIn("'npar verify hello.npar' instead of 'npar verify hallo.npar'", translations.difference(page))
            source.write_text(whole.replace("npar verify hello.npar\n", "npar verify hello.npar\nnpar devices\n"))
            self.assertIn("number of lines 1 instead of 2. Change the translation", translations.difference(page))


if __name__ == "__main__":
    unittest.main()
