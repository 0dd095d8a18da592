"""A Redis that is locked up: TLS by a CA of its own, an ACL user who may do what the documentation says and no more, a
database and a namespace."""

import subprocess

import pytest

from fleet import Fleet, config
from process import free_port, until
from store import Redis

# What docs/fleet.md asks for.
RIGHTS = (
    "resetkeys ~prod:fleet:* ~health_check_results ~health_check_lock resetchannels &prod:fleet:news "
    "-@all +@string +@hash +@scripting +@connection +del +pexpire +exists +ttl +pttl +publish +subscribe +info +time"
)


def openssl(folder, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def certificates(tmp_path):
    """`ca.pem`, and `server.pem` with `server.key` for 127.0.0.1."""
    folder = tmp_path / "tls"
    folder.mkdir()
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl(folder, "req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test CA", "-days", "2")
    openssl(folder, "req", *new, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=redis")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    sign = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"]
    openssl(folder, "x509", "-req", "-in", "server.csr", *sign, "-out", "server.pem")
    return folder


def test_tls_with_an_own_ca_an_acl_user_a_database_and_a_namespace(tmp_path, mock, keep, certificates):
    port = free_port()
    tls = ["--tls-port", str(port), "--tls-auth-clients", "no"]
    for option, name in (("cert", "server.pem"), ("key", "server.key"), ("ca-cert", "ca.pem")):
        tls += [f"--tls-{option}-file", str(certificates / name)]
    redis = keep(Redis(tmp_path, *tls))
    assert redis.call("ACL", "SETUSER", "gate", "on", ">s3cret-pass", *RIGHTS.split()) == b"OK"

    where = f"host: 127.0.0.1, port: {port}, username: gate, password: os.environ/STORE_PASSWORD, db: 5"
    text = config(f"{{{where}, ssl: true}}", count=4).replace("namespace: test", "namespace: prod")
    trusted = {"STORE_PASSWORD": "s3cret-pass", "SSL_CERT_FILE": str(certificates / "ca.pem")}
    fleet = keep(Fleet(tmp_path, mock, text, trusted))
    pods = fleet.start(2)
    until(lambda: all(pod.mode() == "shared" for pod in pods), 20, "sharing over TLS")
    fleet.warm(4)
    assert pods[0].post("/haleway/deployments/d3/disable").status == 200
    until(lambda: pods[1].states()["d3"] == "ADMIN_DOWN", 2, "pushed over TLS")
    assert pods[0].chat("m0").status == 200
    until(lambda: pods[1].fleet()["traffic"]["deployments"] == 1, 5, "counts pushed over TLS")
    keyspace = redis.call("INFO", "keyspace")
    assert b"db5:" in keyspace and b"db0:" not in keyspace, keyspace
    denied = redis.call("ACL", "LOG")
    assert denied == b"0", "nothing was tried beyond those rights"

    # The same by a URL; a CA that nobody trusts, or a wrong password, is no store, and no reason not to serve.
    url = f"{{url: 'rediss://gate:s3cret-pass@127.0.0.1:{port}/5'}}"
    for store, env, mode in (
        (url, trusted, "shared"),
        (url, {}, "local"),
        (f"{{{where}, ssl: true}}", {**trusted, "STORE_PASSWORD": "s3cret-wrong"}, "local"),
    ):
        text = config(store, count=4).replace("namespace: test", "namespace: prod")
        other = keep(Fleet(tmp_path, mock, text, env))
        pod = other.start(1)[0]
        assert pod.chat("m0").status == 200
        until(lambda: pod.mode() == mode and (mode == "shared" or "shared state lost" in pod.text()), 20, mode)
        assert "s3cret" not in pod.text() and "s3cret" not in str(pod.fleet())
