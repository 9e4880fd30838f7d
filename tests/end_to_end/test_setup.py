"""tools/setup.sh: what it installs for the Python module, and when. A stand-in takes the place of python3 and pip."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

from driver import ROOT

# Makes the environment's interpreter. It records its arguments, and fails if there is a file called `fails`.
PYTHON = """#!/bin/sh
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho "$@" >> asked.txt\\n[ ! -e fails ]\\n' > "$3/bin/python"
chmod +x "$3/bin/python"
"""


class PythonToolsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="npar setup ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.list = self.folder / "tools" / "python" / "requirements.txt"
        self.list.parent.mkdir(parents=True)
        self.list.write_text("one==1\n")
        shutil.copy(ROOT / "tools" / "setup.sh", self.folder / "tools")
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "python3").write_text(PYTHON)
        (self.folder / "bin" / "python3").chmod(0o755)

    def install(self):
        """How often pip has run by now."""
        script = 'set -euo pipefail; PATH="$PWD/bin:$PATH"; source tools/setup.sh; python_tools'
        result = subprocess.run(["bash", "-c", script], cwd=self.folder, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(result.returncode, 0, result.stderr)
        return len((self.folder / "asked.txt").read_text().splitlines())

    def test_a_new_list_is_installed_again(self):
        self.assertEqual(self.install(), 1)
        self.assertEqual(self.install(), 1)
        self.list.write_text("one==2\n")
        self.assertEqual(self.install(), 2)
        self.assertEqual(self.install(), 2)

    def test_what_failed_is_tried_again(self):
        (self.folder / "fails").touch()
        self.assertEqual(self.install(), 1)
        self.assertFalse((self.folder / "build" / "python-tools").exists())
        (self.folder / "fails").unlink()
        self.assertEqual(self.install(), 2)
        self.assertEqual(self.install(), 2)


if __name__ == "__main__":
    unittest.main()
