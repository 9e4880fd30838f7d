"""`npar doctor` on this machine, with faults that its environment can have. ChecksTest.cpp has the others."""

import os
import socket
import subprocess
import unittest

from driver import NPAR, DriverTest

NAMES = ["processor", "memory", "cores", "library", "cache", "disk", "MPI", "GPU", "NCCL", "clock", "ports", "job secret"]


class DoctorTest(DriverTest):
    def setUp(self):
        super().setUp()
        self.sound = {**os.environ, "NPAR_CACHE": str(self.folder / "cache")}
        for name in ("NPAR_STDLIB", "NPAR_INSTRUCTIONS", "NPAR_JOB_SECRET", "NPAR_JOB_SECRET_FILE", "NPAR_PORT", "RANK", "WORLD_SIZE"):
            self.sound.pop(name, None)

    def checks(self, **environment):
        """{check: (state, text, fix)}."""
        found = self.npar_json("doctor", code=None, env={**self.sound, **environment})
        self.assertEqual(found["problems"], sum(check["state"] == "fix" for check in found["checks"]))
        self.assertEqual([check["check"] for check in found["checks"]], NAMES)
        return {check["check"]: (check["state"], check["text"], check["fix"]) for check in found["checks"]}

    def test_faults_are_found_and_nothing_changes(self):
        sound = self.checks()
        (self.folder / "secret").write_text("0123456789abcdef0123")
        (self.folder / "secret").chmod(0o644)
        before = sorted(self.folder.rglob("*"))
        with socket.create_server(("127.0.0.1", 0)) as busy:
            port = str(busy.getsockname()[1])
            faulty = {
                "cache": ("is not a directory|Not a directory", {"NPAR_CACHE": "secret/cache"}),
                "job secret": ("has mode 0644.*run chmod 600 on it", {"NPAR_JOB_SECRET_FILE": "secret"}),
                "library": ("no model in 'nowhere'", {"NPAR_STDLIB": "nowhere"}),
                "ports": (port, {"NPAR_PORT": port}),
                "processor": ("fast", {"NPAR_INSTRUCTIONS": "fast"}),
            }
            for name, (text, environment) in faulty.items():
                with self.subTest(check=name):
                    found = self.checks(**environment)
                    self.assertEqual({other for other in NAMES if found[other][0] == "fix"} - {other for other in NAMES if sound[other][0] == "fix"}, {name})
                    self.assertRegex(found[name][1], text)
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_a_current_folder_that_was_removed(self):
        shell = f'mkdir gone && cd gone && rmdir ../gone && exec "{NPAR}" doctor'
        told = subprocess.run(["sh", "-c", shell], cwd=self.folder, capture_output=True, text=True, env=self.sound)
        self.assertEqual(told.returncode, 3)
        self.assertIn("  fix   disk        the current folder does not exist: change to another folder\n", told.stdout)

    def test_text_has_a_line_per_check(self):
        bad = self.npar("doctor", code=3, env={**self.sound, "NPAR_JOB_SECRET": "short"})
        *lines, last = bad.output.splitlines()
        self.assertEqual([line[8:20].strip() for line in lines], NAMES)
        self.assertRegex(last, r"^\d+ problems?: see the lines with 'fix'$")
        self.assertNotIn("short", bad.output)
        if all(state != "fix" for state, *_ in self.checks().values()):
            self.assertEqual(self.npar("doctor", env=self.sound).output.splitlines()[-1], "no problems")


if __name__ == "__main__":
    unittest.main()
