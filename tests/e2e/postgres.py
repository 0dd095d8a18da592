"""A PostgreSQL server of a test's own: own directory, free port, and gone with the test."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

from process import Server, free_port, until


def _programs() -> Path:
    """Debian keeps PostgreSQL's programs out of the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    program = found[-1] if found else shutil.which("initdb")
    assert program, "PostgreSQL is not installed: apt-get install postgresql"
    return Path(program).parent


class Postgres:
    """A server that can be killed and come back."""

    def __init__(self, folder: Path):
        self.folder = folder / "postgres"
        self.folder.mkdir()
        self.port = free_port()
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"
        if os.getuid() == 0:
            # PostgreSQL refuses to run as root.
            for path in [self.folder, folder, folder.parent, folder.parent.parent]:
                path.chmod(0o755)
            shutil.chown(self.folder, "postgres")
        options = ["--auth", "trust", "--username", "postgres", "--no-sync", "--encoding", "UTF8"]
        command = self._command("initdb", *options, "--pgdata", str(self.folder / "data"))
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.folder, timeout=60)
        self.run()

    def _command(self, program: str, *words: str) -> list[str]:
        command = [str(_programs() / program), *words]
        if os.getuid() == 0:
            return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=KILL", *command]
        return command

    def run(self) -> None:
        """Starts the server and waits until it listens; also after it was killed."""
        settings = ["-p", str(self.port), "-k", str(self.folder), "-c", "listen_addresses=127.0.0.1"]
        command = self._command("postgres", "-D", str(self.folder / "data"), *settings)
        self.server = Server(command, self.port, self.folder / "log")
        until(self._listens, 60, "PostgreSQL listening")

    def _listens(self) -> bool:
        assert self.server.process.poll() is None, self.server.text()
        with socket.socket() as link:
            return link.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        self.server.process.kill()
        self.server.process.wait()

    def stop(self) -> None:
        self.server.stop()
