"""`cmake --install`: the folder runs wherever it is put, with its own libraries and its own standard library, and needs nothing of the build."""

import re
import shutil
import subprocess
import unittest

from driver import BUILD, DriverTest, SMALL, settings

# Libraries that every machine must have: the C and C++ libraries and their loader, and how new they must be.
OF_THE_HOST = r"(linux-vdso|ld-linux-x86-64|ld-linux-aarch64|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s)\.so"
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 30)}


class InstallTest(DriverTest):
    def setUp(self):
        super().setUp()
        first = self.folder / "first"
        result = subprocess.run(["cmake", "--install", BUILD, "--prefix", first, "--strip"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout[-2000:] + result.stderr[-2000:])
        self.place = self.folder / "moved here"
        first.rename(self.place)
        self.driver = self.place / "bin" / "npar"
        self.bare = {"HOME": str(self.folder), "PATH": "/nowhere"}

    def run_installed(self, *arguments):
        result = subprocess.run([self.driver, *arguments], capture_output=True, text=True, env=self.bare, cwd=self.folder, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr[-2000:])
        return result.stdout

    def test_every_library_but_those_of_the_host_is_in_the_folder(self):
        listing = subprocess.run([shutil.which("ldd"), self.driver], capture_output=True, text=True, check=True, env=self.bare).stdout
        outside = [line for line in listing.splitlines() if str(self.place) not in line and not re.search(OF_THE_HOST, line)]
        self.assertEqual(outside, [])

    def test_the_libraries_of_the_host_can_be_older_than_here(self):
        for path in [self.driver, *self.place.rglob("lib*.so*")]:
            listing = subprocess.run(["nm", "-D", "--undefined-only", path], capture_output=True, text=True, check=True).stdout
            for library, newest in NEWEST.items():
                needed = [tuple(map(int, version.split("."))) for version in re.findall(rf"@{library}_([0-9.]+)", listing)]
                self.assertLessEqual(max(needed, default=(0,)), newest, f"{path.name}: {library}")

    def test_the_program_is_small_and_llvm_is_there_once(self):
        self.assertLess(self.driver.stat().st_size, 100_000)
        self.assertEqual([path for path in self.place.rglob("lib*") if re.search("LLVM|MLIR", path.name)], [])
        size = sum(path.stat().st_size for path in self.place.rglob("*") if path.is_file() and not path.is_symlink())
        print(f"installed: {size / 1e6:.1f} MB")
        self.assertLess(size, 120_000_000)

    def test_messages_speak_of_flags(self):
        """The library that holds the driver speaks of members to programs that embed it."""
        result = subprocess.run([self.driver, "train", "mlp", "--steps", "1"], capture_output=True, text=True, env=self.bare, cwd=self.folder)
        self.assertIn("--data FILE", result.stderr)

    def test_it_compiles_and_runs_with_its_own_standard_library(self):
        model = self.place / "share" / "npar" / "stdlib" / "models" / "gpt2.npar"
        model.write_text(model.read_text().replace("model Gpt2", "model Moved"  # only the folder's own text has this name
                                                   ).replace("for Gpt2", "for Moved"))
        self.assertIn("model       Moved", self.run_installed("inspect", "gpt2", *settings(SMALL)))
        log = self.run_installed("run", "gpt2", *settings(SMALL), "--data", str(self.text_file()), "--tokens", "bytes", "--steps", "2", "--json", "--quiet")
        self.assertIn("parameter_hash", log)

    def test_without_a_folder_the_standard_library_is_the_one_inside(self):
        """Never the folder that npar was built from, which exists here."""
        shutil.rmtree(self.place / "share" / "npar" / "stdlib")
        self.assertIn("99200 parameters", self.run_installed("inspect", "bytes", "mlp"))
        (self.folder / "wrong.npar").write_text('import "Liner"\nmodel M(w = 2) { axis batch }\n')
        result = subprocess.run([self.driver, "inspect", "wrong.npar"], capture_output=True, text=True, env=self.bare, cwd=self.folder)
        self.assertIn("searched: the folder of this file, <stdlib>\n", result.stderr)


if __name__ == "__main__":
    unittest.main()
