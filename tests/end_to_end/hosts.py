"""Several hosts on one machine: network namespaces joined by veth pairs and a bridge, and MPICH's Hydra starting processes in them."""

import os
import pathlib
import shutil
import subprocess
import tempfile


class Hosts:
    """`with Hosts(2) as hosts:` makes them; needs root and iproute2. One host is this machine itself, and needs nothing."""

    def __init__(self, count):
        self.count = count
        self.tag = f"npar{os.getpid() % 100000}"  # names of links have 15 characters at most
        self.folder = None

    @staticmethod
    def missing():
        """Why there can be no test hosts here; None when there can."""
        if os.geteuid() != 0:
            return "network namespaces need root"
        if not shutil.which("ip"):
            return "iproute2 is not installed"
        probe = subprocess.run(["ip", "netns", "add", f"nparprobe{os.getpid()}"], capture_output=True, text=True)
        subprocess.run(["ip", "netns", "del", f"nparprobe{os.getpid()}"], capture_output=True)
        return f"no network namespaces: {probe.stderr.strip()}" if probe.returncode else None

    def name(self, number):
        return f"{self.tag}h{number}"

    def address(self, number):
        return f"10.213.7.{number + 1}"

    def __enter__(self):
        if self.count > 1:
            try:
                self.make()
            except Exception:
                self.__exit__()
                raise
        return self

    def make(self):
        # The bridge is in a namespace of its own, so that this machine's network is not changed.
        ip("netns", "add", f"{self.tag}s")
        ip("-n", f"{self.tag}s", "link", "add", "bridge", "type", "bridge")
        ip("-n", f"{self.tag}s", "link", "set", "bridge", "up")
        for number in range(self.count):
            ip("netns", "add", self.name(number))
            ip("link", "add", "net0", "netns", self.name(number), "type", "veth", "peer", "name", f"port{number}", "netns", f"{self.tag}s")
            ip("-n", f"{self.tag}s", "link", "set", f"port{number}", "master", "bridge", "up")
            ip("-n", self.name(number), "addr", "add", f"{self.address(number)}/24", "dev", "net0")
            ip("-n", self.name(number), "link", "set", "net0", "up")
            ip("-n", self.name(number), "link", "set", "lo", "up")
        self.folder = tempfile.TemporaryDirectory(prefix="npar-hosts-")
        # Hydra calls it as it would ssh: -x HOST COMMAND...; a host is its address.
        script = pathlib.Path(self.folder.name) / "launch"
        cases = "\n".join(f'  {self.address(n)}) space={self.name(n)} name=host{n} ;;' for n in range(self.count))
        script.write_text(
            '#!/bin/sh\n[ "$1" = -x ] && shift\nhost=$1\nshift\ncase $host in\n' + cases + '\n  *) echo "no such test host: $host" >&2; exit 1 ;;\nesac\n'
            'NPAR_HOST=$name exec ip netns exec "$space" sh -c "$*" < /dev/null\n')
        script.chmod(0o755)
        self.script = script

    def addresses(self):
        return ",".join(self.address(number) for number in range(self.count))

    def launch(self):
        """Flags of mpiexec, which deals processes out in turns. It runs in the first host, for the others must reach it. UCX would see one
        machine, and take its shared memory: told otherwise it takes the link."""
        return ["-launcher", "ssh", "-launcher-exec", str(self.script), "-hosts", self.addresses(), "-iface", "net0", "-genv", "UCX_TLS", "tcp,self"]

    def environment(self):
        """The same for a launcher that gets no such flags."""
        return {"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": str(self.script), "HYDRA_IFACE": "net0", "UCX_TLS": "tcp,self"} if self.count > 1 else {}

    def inside(self, number=0):
        """The prefix of a command that runs in a host."""
        return ["ip", "netns", "exec", self.name(number)] if self.count > 1 else []

    def cut(self, number):
        ip("-n", f"{self.tag}s", "link", "set", f"port{number}", "down")

    def mend(self, number):
        ip("-n", f"{self.tag}s", "link", "set", f"port{number}", "up")

    def __exit__(self, *_):
        for number in range(self.count):
            subprocess.run(["ip", "netns", "del", self.name(number)], capture_output=True)
        subprocess.run(["ip", "netns", "del", f"{self.tag}s"], capture_output=True)
        if self.folder:
            self.folder.cleanup()


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)
