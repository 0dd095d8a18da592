"""Report C04: eight processes with one store write one row per change between them, and keep no more rows than they may."""

import json
import sqlite3
import time

from fleet import INTERVAL, Fleet, config
from process import until

COUNT = 4
KEPT = 50 * COUNT
TABLE = '"LiteLLM_HealthCheckTable"'


def rows(file, deployment: str) -> list[tuple[str, str, str]]:
    """State, health and writer of what was written of a deployment, oldest first."""
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as link:
        found = link.execute(
            f"SELECT details, status, checked_by FROM {TABLE} WHERE model_id = ? AND details IS NOT NULL "
            "ORDER BY created_at, health_check_id",
            (deployment,),
        ).fetchall()
    return [(json.loads(details)["state"], status, by) for details, status, by in found]


def fill(file, count: int) -> None:
    """Results of earlier days."""
    with sqlite3.connect(file) as link:
        link.executemany(
            f"INSERT INTO {TABLE} (health_check_id, model_name, model_id, status, checked_at, created_at, "
            "updated_at) VALUES (?, 'm0', ?, 'healthy', ?, ?, ?)",
            ((f"old{n}", f"d{n % COUNT}", n, n, n) for n in range(count)),
        )


def test_c04_eight_processes_write_one_row_per_change_and_keep_what_they_may(tmp_path, mock, redis, keep):
    file = tmp_path / "haleway.db"
    store = f"  store: {{url: 'sqlite:{file}', max_rows: {KEPT}}}\n"
    text = config(f"{{host: 127.0.0.1, port: {redis.port}}}", COUNT) + store
    fleet = keep(Fleet(tmp_path, mock, text))
    pods = fleet.start(8)
    fill(file, KEPT * 10)
    fleet.warm(COUNT)
    until(lambda: all(rows(file, f"d{n}") for n in range(COUNT)), 15, "a first row of each")

    # Cycles without a change write nothing, whoever probes.
    first = {f"d{n}": rows(file, f"d{n}") for n in range(COUNT)}
    time.sleep(3 * INTERVAL)
    assert {f"d{n}": rows(file, f"d{n}") for n in range(COUNT)} == first
    assert all(len(found) == 1 for found in first.values()), first

    # A change is written once, by one of them.
    assert pods[3].post("/haleway/deployments/d0/disable").status == 200
    until(lambda: {pod.states()["d0"] for pod in pods} == {"ADMIN_DOWN"}, 10, "down everywhere")
    until(lambda: rows(file, "d0")[-1][1] == "unhealthy", 10, "the change written")
    time.sleep(INTERVAL)
    found = rows(file, "d0")
    assert [state for state, _, _ in found] == ["HEALTHY", "ADMIN_DOWN"], found
    assert {by for _, _, by in found} <= {pod.fleet()["pod"] for pod in pods}, found
    assert all(len(rows(file, f"d{n}")) == 1 for n in range(1, COUNT))

    # What is too much goes, the oldest first.
    def count() -> int:
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as link:
            return link.execute(f"SELECT COUNT(*) FROM {TABLE}").fetchone()[0]

    until(lambda: count() <= KEPT, 40, "the history within its bound")
    assert rows(file, "d0") == found
