"""`npar fmt` on files: what it prints, writes and refuses. tests/dsl/FormatTest has the layout itself and its laws."""

import os
import re
import socket
import stat
import subprocess

from driver import NPAR, ROOT, DriverTest, unittest

UGLY = "plan  p{mesh dp=2}\n"
PRETTY = "plan p { mesh dp = 2 }\n"
WRONG = "plan p { mesh = 2 }\n"


class FmtTest(DriverTest):
    def write(self, name, text):
        path = self.folder / name
        path.write_bytes(text.encode())
        return path

    def test_files_are_rewritten_and_named(self):
        ugly, pretty = self.write("ugly.npar", UGLY), self.write("pretty.npar", PRETTY)
        ugly.chmod(0o640)
        before = (pretty.stat().st_ino, pretty.stat().st_mtime_ns)
        result = self.npar("fmt", "ugly.npar", "pretty.npar")
        self.assertEqual((result.output, result.error), ("ugly.npar\n", ""))
        self.assertEqual(ugly.read_text(), PRETTY)
        self.assertEqual(stat.S_IMODE(ugly.stat().st_mode), 0o640)
        self.assertEqual((pretty.stat().st_ino, pretty.stat().st_mtime_ns), before, "a file that need not change is left alone")
        self.assertEqual(self.npar("fmt", "ugly.npar", "pretty.npar").output, "")

    def test_check_writes_nothing(self):
        ugly = self.write("ugly.npar", UGLY)
        self.write("pretty.npar", PRETTY)
        self.assertEqual(self.npar("fmt", "--check", "pretty.npar", "ugly.npar", code=3).output, "ugly.npar\n")
        self.assertEqual(ugly.read_text(), UGLY)
        self.npar("fmt", "--check", "pretty.npar")

    def test_a_file_with_errors_stays_and_others_are_formatted(self):
        wrong, ugly = self.write("wrong.npar", WRONG), self.write("ugly.npar", UGLY)
        result = self.npar("fmt", "wrong.npar", "missing.npar", "ugly.npar", code=1)
        self.assertEqual(result.output, "ugly.npar\n")
        self.assertRegex(result.error, r"wrong\.npar:1:15: error: expected .*, found '=' \[L2\]\n")
        self.assertIn("missing.npar: error: cannot read 'missing.npar'", result.error)
        self.assertEqual((wrong.read_text(), ugly.read_text()), (WRONG, PRETTY))

    def test_standard_input(self):
        self.assertEqual(self.npar("fmt", "-", input=UGLY.encode()).output, PRETTY)
        self.assertEqual(self.npar("fmt", "--check", "-", input=UGLY.encode(), code=3).output, "standard input\n")
        self.assertEqual(self.npar("fmt", "--check", "-", input=PRETTY.encode()).output, "")
        self.assertIn("standard input:1:15: error:", self.npar("fmt", "-", input=WRONG.encode(), code=1).error)

    def test_standard_input_may_be_a_socket_or_the_rest_of_a_file(self):
        """Editors in JavaScript talk to the programs that they start over sockets."""
        here, there = socket.socketpair()
        with here, there:
            here.sendall(UGLY.encode())
            here.shutdown(socket.SHUT_WR)
            self.assertEqual(subprocess.run([NPAR, "fmt", "-"], stdin=there, capture_output=True, text=True).stdout, PRETTY)
        with open(self.write("two.npar", WRONG + UGLY), "rb", buffering=0) as rest:
            rest.seek(len(WRONG))
            self.assertEqual(subprocess.run([NPAR, "fmt", "-"], stdin=rest, capture_output=True, text=True).stdout, PRETTY)
        self.assertIn("more than the 1048576 bytes", self.npar("fmt", "-", input=b"#" * (1 << 20) + b"\n", code=1).error)

    def test_a_file_that_is_read_only(self):
        """Also where its folder would allow to replace it. Root can write every file, so as root the driver runs under another user."""
        ugly = self.write("ugly.npar", UGLY)
        ugly.chmod(0o444)
        self.folder.chmod(0o777)
        options = {"user": 65534} if os.geteuid() == 0 else {}
        try:
            error = self.npar("fmt", "ugly.npar", code=1, **options).error
        except PermissionError:
            self.skipTest("other users cannot enter the folder of the driver")
        self.assertIn("cannot write 'ugly.npar': Permission denied", error)
        self.assertEqual(ugly.read_text(), UGLY)

    @unittest.skipIf(os.geteuid() != 0, "only root can give files to others")
    def test_a_file_keeps_its_owner(self):
        ugly = self.write("ugly.npar", UGLY)
        os.chown(ugly, 65534, 65534)
        self.npar("fmt", "ugly.npar")
        self.assertEqual((ugly.stat().st_uid, ugly.stat().st_gid, ugly.read_text()), (65534, 65534, PRETTY))

    @unittest.skipIf(os.geteuid() == 0, "root may write into any folder")
    def test_a_folder_that_cannot_be_written(self):
        ugly = self.write("ugly.npar", UGLY)
        self.folder.chmod(0o500)
        self.addCleanup(self.folder.chmod, 0o700)
        self.assertIn("ugly.npar", self.npar("fmt", "ugly.npar", code=1).error)
        self.assertEqual(ugly.read_text(), UGLY)

    def test_links_are_followed(self):
        ugly = self.write("ugly.npar", UGLY)
        (self.folder / "link.npar").symlink_to("ugly.npar")
        self.npar("fmt", "link.npar")
        self.assertTrue((self.folder / "link.npar").is_symlink())
        self.assertEqual(ugly.read_text(), PRETTY)

    def test_examples_of_the_pages_are_formatted(self):
        """Every ```npar block of a page that parses, and the example of FORMAT.md becomes what the page says."""
        pages = [page for folder in ("", "dsl", "dsl/errors", "tools", "stdlib") for page in sorted((ROOT / folder).glob("*.md"))]
        names = {}
        for page in pages:
            for number, text in enumerate(re.findall(r"^```npar\n(.*?)^```", page.read_text(), flags=re.M | re.S)):
                name = f"{page.stem}-{number}.npar"
                names[name] = f"{page.relative_to(ROOT)}, example {number + 1}"
                self.write(name, text)
        self.assertGreater(len(names), 100)
        result = self.npar("fmt", "--check", *names, code=None)
        self.assertEqual([names[name] for name in result.output.splitlines()], [])

    def test_the_page_shows_what_happens(self):
        before, after = re.search(r"```text\n(.*?)```.*?```npar\n(.*?)```", (ROOT / "tools/FORMAT.md").read_text(), re.S).groups()
        self.assertEqual(self.npar("fmt", "-", input=before.encode()).output, after)


if __name__ == "__main__":
    unittest.main()
