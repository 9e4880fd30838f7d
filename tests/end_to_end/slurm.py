"""A private Slurm cluster on this machine: a controller and one daemon per node, all local, in a folder that is removed with it."""

import getpass
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

DAEMONS = ("munged", "slurmctld", "slurmd")

CONFIGURATION = """\
ClusterName=npar
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=15
MpiDefault=none
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """`with Slurm(2) as slurm:` starts it; `slurm.environment()` is for sbatch, srun and scontrol."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.folder = None
        self.daemons = []

    @staticmethod
    def missing():
        """Why there can be no cluster here; None when there can."""
        for daemon in DAEMONS:
            if not find(daemon):
                return f"{daemon} is not installed (slurm-wlm, munge)"
        return None if os.geteuid() == 0 else "Slurm's daemons run as root"

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="npar-slurm-"))
        self.folder.chmod(0o755)  # munged refuses a folder that others may write
        try:
            self.start()
        except Exception:
            self.__exit__()
            raise
        return self

    def start(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        (self.folder / "state").mkdir()
        text = CONFIGURATION.format(host=socket.gethostname(), port=free_port(), user=getpass.getuser(), folder=self.folder)
        for number in range(self.nodes):
            text += f"NodeName=node{number} NodeHostname={socket.gethostname()} NodeAddr=127.0.0.1 Port={free_port()} CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1\n"
            (self.folder / f"spool-node{number}").mkdir()
        # Each daemon has a configuration folder of its own, because that is where the place of PMIx's files of a node is set.
        for name in ("controller", *(f"node{number}" for number in range(self.nodes))):
            folder = self.folder / name
            (folder / "pmix").mkdir(parents=True)
            (folder / "slurm.conf").write_text(text)
            (folder / "mpi.conf").write_text(f"PMIxCliTmpDirBase={folder}/pmix\n")
        self.daemon("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.folder}/munge.socket", f"--pid-file={self.folder}/munged.pid",
                    f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/munged.seed")
        self.wait_for(lambda: (self.folder / "munge.socket").exists(), "munged")
        self.daemon("slurmctld", "-D", "-f", self.folder / "controller" / "slurm.conf")
        for number in range(self.nodes):
            self.daemon("slurmd", "-D", "-N", f"node{number}", "-f", self.folder / f"node{number}" / "slurm.conf")
        self.wait_for(lambda: self.run("sinfo", "--noheader", "--states=idle", "--format=%D").strip() == str(self.nodes), "nodes")

    def daemon(self, name, *words):
        self.daemons.append(subprocess.Popen([find(name), *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True))

    def wait_for(self, condition, what, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                logs = {path.name: path.read_text(errors="replace")[-1000:] for path in self.folder.glob("*.log")}
                raise RuntimeError(f"Slurm: {what} did not come within {seconds} s: {logs}")
            time.sleep(0.1)

    def environment(self, **more):
        return {**os.environ, "SLURM_CONF": str(self.folder / "controller" / "slurm.conf"), **more}

    def run(self, *words):
        """What a command of Slurm prints."""
        return subprocess.run([str(word) for word in words], env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60).stdout

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def find(daemon):
    return shutil.which(daemon) or shutil.which(daemon, path="/usr/sbin:/usr/local/sbin")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
