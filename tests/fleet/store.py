"""Private Redis servers on free ports of the loopback: alone, replicated, behind sentinels, as a cluster."""

import os
import signal
import socket
import subprocess
from pathlib import Path

from process import Server, free_port, until

REDIS = os.environ.get("REDIS_SERVER", "redis-server")


class Redis(Server):
    """One server. `port` brings it up where another one was."""

    def __init__(self, folder: Path, *options: str, port: int | None = None):
        port = port or free_port()
        self.folder = folder / f"redis-{port}"
        self.folder.mkdir(exist_ok=True)
        command = [REDIS, "--bind", "127.0.0.1", "--port", str(port), "--dir", str(self.folder)]
        command += ["--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0", *options]
        super().__init__(command, port, self.folder / "log")
        until(lambda: self.call("PING") == b"PONG", 10, "redis serving")

    def call(self, *words: str, timeout: float = 2) -> bytes | None:
        """One command; the first line of the answer without its mark, or a bulk string. None when it does not answer."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as link:
                link.settimeout(timeout)
                head = f"*{len(words)}\r\n".encode()
                link.sendall(head + b"".join(b"$%d\r\n%s\r\n" % (len(w.encode()), w.encode()) for w in words))
                reader = link.makefile("rb")
                line = reader.readline().rstrip(b"\r\n")
                if line.startswith(b"$"):
                    size = int(line[1:])
                    return None if size < 0 else reader.read(size)
                return line[1:]
        except OSError:
            return None

    def freeze(self) -> None:
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def die(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()


class Sentinel(Server):
    """Watches one primary and its replicas."""

    def __init__(self, folder: Path, primary: Redis):
        port = free_port()
        file = folder / f"sentinel-{port}.conf"
        file.write_text(
            f"bind 127.0.0.1\nport {port}\ndir {folder}\n"
            f"sentinel monitor mymaster 127.0.0.1 {primary.port} 1\n"
            "sentinel down-after-milliseconds mymaster 1000\n"
            "sentinel failover-timeout mymaster 5000\n"
        )
        super().__init__([REDIS, str(file), "--sentinel"], port, folder / f"sentinel-{port}.log")


class Cluster:
    """Three primaries that share all slots."""

    def __init__(self, folder: Path):
        options = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"]
        buses = [free_port() for _ in range(3)]
        self.nodes = [Redis(folder, *options, "--cluster-port", str(bus)) for bus in buses]
        for first, last, node in zip((0, 5461, 10923), (5460, 10922, 16383), self.nodes):
            assert node.call("CLUSTER", "ADDSLOTSRANGE", str(first), str(last)) == b"OK"
        for number, node in enumerate(self.nodes):
            assert node.call("CLUSTER", "SET-CONFIG-EPOCH", str(number + 1)) == b"OK"
            assert node.call("CLUSTER", "MEET", "127.0.0.1", str(self.nodes[0].port), str(buses[0])) == b"OK"
        until(self.is_whole, 20, "the cluster whole")

    def is_whole(self) -> bool:
        states = [node.call("CLUSTER", "INFO") or b"" for node in self.nodes]
        return all(b"cluster_state:ok" in state and b"cluster_known_nodes:3" in state for state in states)

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()
