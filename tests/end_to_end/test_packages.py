"""npar's packages: what each component installs, completion and manual pages; in the long form also packages in bare roots of Debian, and the archive."""

import collections
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import subprocess
import tempfile
import time
import unittest

from driver import BUILD, LONG, ROOT, SANITIZED, DriverTest, block

COMPONENTS = ["Runtime", "Compiler", "Development", "Driver"]
PACKAGES = ["libnpar0", "libnpar-compiler0", "libnpar-dev", "npar"]
SECONDS = 120  # to the first success from a package in a bare root: CPU time, which does not depend on what else runs
ARCHIVE_BYTES = 120_000_000  # unpacked
DEB_BYTES = 40_000_000  # of all four packages


def exchange(text):
    """What an editor says to `npar lsp --delimited` about a text: it opens it, waits for the compiler, asks for a hover on axis `hidden`, and
    ends the server."""
    line = next(number for number, each in enumerate(text.splitlines()) if "hidden =" in each)
    document = {"uri": "file:///root/hello.npar"}
    messages = [
        {"id": 1, "method": "initialize", "params": {"capabilities": {}}},
        {"method": "textDocument/didOpen", "params": {"textDocument": {**document, "languageId": "npar", "version": 1, "text": text}}},
        {"id": 2, "method": "npar/wait", "params": None},
        {"id": 3, "method": "textDocument/hover", "params": {"textDocument": document, "position": {"line": line, "character": text.splitlines()[line].index("hidden =")}}},
        {"id": 4, "method": "shutdown", "params": None},
        {"method": "exit", "params": None},
    ]
    return "\n// -----\n".join(json.dumps({"jsonrpc": "2.0", **message}) for message in messages) + "\n"


def run(*command, **named):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, **named)
    assert result.returncode == 0, f"{shlex.join(map(str, command))} ended with {result.returncode}:\n{result.stdout[-4000:]}"
    return result.stdout


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()}


@unittest.skipIf(SANITIZED, "says something only of builds without sanitizers")
class ComponentsTest(unittest.TestCase):
    def test_components_are_disjoint_and_complete(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            install = ["cmake", "--install", BUILD, "--prefix"]
            run(*install, folder / "all")
            owners = collections.defaultdict(list)
            for component in [*COMPONENTS, "Bundled", "Mpi"]:
                run(*install, folder / component, "--component", component)
                for name in files(folder / component):
                    owners[name].append(component)
                shutil.rmtree(folder / component, ignore_errors=True)
            self.assertEqual({name: found for name, found in owners.items() if len(found) > 1}, {})
            self.assertEqual(set(owners), files(folder / "all"))
        self.assertEqual({component for found in owners.values() for component in found} - {"Mpi"}, {*COMPONENTS, "Bundled"})
        self.assertFalse([name for name in owners if re.search(r"LLVM|MLIR|libfmt|libzstd", name)])

    def test_cpack_knows_the_components(self):
        text = (BUILD / "CPackConfig.cmake").read_text()
        self.assertIn(f'set(CPACK_COMPONENTS_ALL "{";".join(COMPONENTS)}")', text)
        for component, name in zip(COMPONENTS, PACKAGES):
            self.assertIn(f'set(CPACK_DEBIAN_{component.upper()}_PACKAGE_NAME "{name}")', text)


class ManualTest(DriverTest):
    def test_every_command_has_a_page(self):
        self.npar("manual", "-o", "man1")
        commands = set(re.findall(r"(?m)^  ([\w-]+) {2,}", self.npar("--help").output.split("Train:\n")[1].split("Help of")[0]))
        self.assertGreater(len(commands), 18)
        self.assertEqual({path.name for path in (self.folder / "man1").iterdir()}, {"npar.1", *(f"npar-{name}.1" for name in commands)})
        page = (self.folder / "man1" / "npar-checkpoint.1").read_text()
        for words in (r"npar\-checkpoint \- show, verify", ".SS npar checkpoint diff", r"\fB\-\-json\fR", ".SH EXIT STATUS"):
            self.assertIn(words, page)
        if not shutil.which("man"):
            self.skipTest("man is not installed: the pages are not formatted")
        for path in sorted((self.folder / "man1").iterdir()):
            shown = subprocess.run(["man", "--warnings", "-l", path], capture_output=True, text=True, env={**os.environ, "MANPAGER": "cat", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
            self.assertEqual((shown.returncode, shown.stderr), (0, ""), path.name)
            self.assertIn("EXIT STATUS", shown.stdout)


# A script for each shell that prints how a line continues. $1: the script of npar completion; then the words.
FISH = 'source $argv[1]; complete -C "$argv[2]"'
ZSH = r"""
autoload -Uz compinit && compinit -u -D
source $1
compdef _npar npar
compadd() {  # in place of zsh's own: prints what it is given, if it begins with the word
  if [[ $1 == -a ]]; then print -l -- ${(M)${(P)2}:#$PREFIX*}; fi
}
compset() { [[ $1 == -P ]] && PREFIX=${PREFIX#*=}; }
_files() { : }
words=(${(s: :)2} ); [[ $2 == *' ' ]] && words+=('')
CURRENT=$#words PREFIX=$words[-1]
_npar
"""


class CompletionTest(DriverTest):
    """bash is in test_texts.py."""

    CASES = (("npar tra", {"train"}), ("npar inspect w", {"why"}), ("npar run --checkpoint-e", {"--checkpoint-every"}), ("npar train gpt2 --backend c", {"cpu", "cuda"}))

    def complete(self, shell, *words):
        if not shutil.which(shell):
            self.skipTest(f"{shell} is not installed")
        script = self.folder / f"npar.{shell}"
        script.write_text(self.npar("completion", shell).output)
        environment = {**os.environ, "HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder)}
        return run(shell, *words, script, env=environment, cwd=self.folder)

    def test_fish(self):
        for line, words in self.CASES:
            shown = self.complete("fish", "--no-config", "-c", FISH.replace("$argv[2]", line))
            self.assertEqual({shown_line.split("\t")[0] for shown_line in shown.splitlines()}, words, line)
        shown = self.complete("fish", "--no-config", "-c", FISH.replace("$argv[2]", "npar train gpt2 --backend=c"))
        self.assertEqual(set(shown.split()), {"--backend=cpu", "--backend=cuda"})

    def test_zsh(self):
        if not shutil.which("zsh"):
            self.skipTest("zsh is not installed")
        script = self.folder / "npar.zsh"
        script.write_text(self.npar("completion", "zsh").output)
        for line, words in (*self.CASES, ("npar train gpt2 --backend=c", {"cpu", "cuda"})):
            shown = run("zsh", "-f", "-c", ZSH, "zsh", script, line, cwd=self.folder, env={**os.environ, "HOME": str(self.folder)})
            self.assertEqual(set(shown.split()), words, line)


@unittest.skipUnless(LONG, "NPAR_LONG is not set; test_install runs the installed program")
class BareRootTest(unittest.TestCase):
    """The four packages in a bare Debian 12 and, where it can be made, a bare Debian 13: first success, a program against libnpar-dev, manual page, completion."""

    @classmethod
    def setUpClass(cls):
        for tool, package in (("debootstrap", "debootstrap"), ("dpkg-shlibdeps", "dpkg-dev"), ("file", "file"), ("unshare", "util-linux")):
            if not shutil.which(tool):
                raise unittest.SkipTest(f"{tool} is not installed (package {package})")
        if os.geteuid() != 0:
            raise unittest.SkipTest("making a root of Debian needs root")
        folder = tempfile.TemporaryDirectory(prefix="npar-packages-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        made = os.environ.get("NPAR_PACKAGES")  # packages of this build that are there already
        cls.packages = pathlib.Path(made) if made else cls.folder / "packages"
        if not made:
            run("cpack", "-B", cls.packages, cwd=BUILD)
            shutil.rmtree(cls.packages / "_CPack_Packages")

    def make_root(self, release):
        """A bare root, or the copy of one in $NPAR_DEBIAN_ROOTS/RELEASE; skips the test where it cannot be made."""
        root = self.folder / release
        kept = pathlib.Path(os.environ.get("NPAR_DEBIAN_ROOTS", "/nowhere")) / release
        if kept.is_dir():
            run("cp", "-a", kept, root)
        else:
            mirror = os.environ.get("NPAR_DEBIAN_MIRROR", "http://deb.debian.org/debian")
            made = subprocess.run(["debootstrap", "--variant=minbase", "--include=ca-certificates", release, root, mirror], capture_output=True, text=True, timeout=900)
            if made.returncode != 0:
                self.skipTest(f"debootstrap cannot make a root of {release}: {made.stdout[-300:].strip()}")
        shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
        return root

    def inside(self, root, script):
        """Runs a script in the root, in namespaces of its own, so that nothing stays mounted."""
        mounts = f"mount -t proc proc {root}/proc && mount --rbind /dev {root}/dev && exec chroot {root} /usr/bin/env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive bash -ec \"$0\""
        return run("unshare", "--mount", "--propagation", "private", "bash", "-c", mounts, script)

    @staticmethod
    def cpu_seconds():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def use(self, release):
        root = self.make_root(release)
        here = root / "root"
        (here / "packages").mkdir()
        for path in self.packages.glob("*.deb"):
            shutil.copy(path, here / "packages")
        (here / "hello.npar").write_text(block(ROOT / "README.md", "npar"))
        (here / "train.c").write_text(block(ROOT / "tools" / "EMBED.md", "c"))
        (here / "train.cpp").write_text(block(ROOT / "tools" / "EMBED.md", "cpp"))
        (here / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.24)\nproject(user LANGUAGES CXX)\nset(CMAKE_CXX_STANDARD 17)\nfind_package(npar REQUIRED COMPONENTS Compiler)\n"
            "add_executable(train train.cpp)\ntarget_link_libraries(train PRIVATE npar::npar)\n")
        start, used = time.monotonic(), self.cpu_seconds()
        self.inside(root, "apt-get update -q")
        said = self.inside(root, "apt-get install -y -q --no-install-recommends /root/packages/npar_*.deb /root/packages/libnpar*0_*.deb")
        installed = time.monotonic()
        said += self.inside(root, "cd /root && npar verify hello.npar && npar train hello.npar --data /usr/share/common-licenses/GPL-3 --tokens bytes --steps 20 && npar plan hello.npar --machine dgx-a100 --hosts 1 --batch 64")
        self.assertIn("all checks passed", said)
        self.assertRegex(said, r"step 20/20  loss \d")
        done = time.monotonic()
        print(f"packages in a bare {release}: installed in {installed - start:.1f} s, verified, trained and planned {done - installed:.1f} s later, {self.cpu_seconds() - used:.1f} s of CPU time")
        self.assertLess(self.cpu_seconds() - used, SECONDS)
        self.assertRegex(self.inside(root, "npar doctor || test $? = 3"), r"(?m)^  ok    library +\d+ models")
        (here / "editor.txt").write_text(exchange((here / "hello.npar").read_text()))
        said = self.inside(root, "cd /root && npar lsp --delimited < editor.txt")
        self.assertIn('"diagnostics": []', said)
        self.assertIn("128 on each rank", said)
        self.inside(root, "apt-get install -y -q --no-install-recommends man-db bash-completion gcc g++ libc6-dev cmake make pkgconf /root/packages/libnpar-dev_*.deb")
        said = self.inside(root, """cd /root
            cc train.c -o train_c $(pkg-config --cflags --libs npar) && ./train_c
            cmake -S . -B build > cmake.log && cmake --build build >> cmake.log && build/train
            rm -f /etc/dpkg/dpkg.cfg.d/docker
            man --warnings npar-train | head -n 12
            source /usr/share/bash-completion/bash_completion; _completion_loader npar || true; complete -p npar""")
        losses = [float(word) for word in re.findall(r"(?m)^[\d.]+(?:e-\d+)?$", said)]
        self.assertEqual(len(losses), 200)
        self.assertLess(losses[-1], losses[100] / 2)
        self.assertIn("NAME\n       npar-train - train a model under a plan", said)
        self.assertIn("-F _npar npar", said)
        left = self.inside(root, "apt-get purge -y -q npar 'libnpar*' > /dev/null; find / -xdev -name '*npar*' -not -path '/root/*' -not -path '/proc/*' -not -path '/var/*' -not -name 'fortranparam*'")
        self.assertEqual(left, "", "files that the packages left")

    def test_packages_in_debian_12(self):
        self.use("bookworm")

    def test_packages_in_debian_13(self):
        self.use("trixie")

    def test_archive(self):
        [archive] = self.packages.glob("*.tar.gz")
        run("tar", "-C", self.folder, "-xf", archive)
        place = self.folder / archive.name.removesuffix(".tar.gz")
        size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file() and not path.is_symlink())
        print(f"archive: {archive.stat().st_size / 1e6:.1f} MB, unpacked {size / 1e6:.1f} MB; " + ", ".join(f"{path.name} {path.stat().st_size / 1e6:.1f} MB" for path in sorted(self.packages.glob("*.deb"))))
        self.assertLess(size, ARCHIVE_BYTES)
        self.assertLess(sum(path.stat().st_size for path in self.packages.glob("*.deb")), DEB_BYTES)
        (self.folder / "hello.npar").write_text(block(ROOT / "README.md", "npar"))
        self.assertIn("all checks passed", run(place / "bin" / "npar", "verify", "hello.npar", cwd=self.folder, env={"HOME": str(self.folder)}))

    def test_lintian(self):
        if not shutil.which("lintian"):
            self.skipTest("lintian is not installed")
        found = subprocess.run(["lintian", "--fail-on", "error", "--no-tag-display-limit", *sorted(self.packages.glob("*.deb"))], capture_output=True, text=True)
        print(found.stdout)
        self.assertEqual([line for line in found.stdout.splitlines() if line.startswith("E:")], [])


if __name__ == "__main__":
    unittest.main()
