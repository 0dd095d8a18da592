"""The same over a Redis Cluster of three primaries."""

from fleet import Fleet, config
from process import until
from store import Cluster


def test_three_primaries(tmp_path, mock, keep):
    cluster = keep(Cluster(tmp_path))
    nodes = ", ".join(f"{{host: 127.0.0.1, port: {node.port}}}" for node in cluster.nodes)
    fleet = keep(Fleet(tmp_path, mock, config(f"{{startup_nodes: [{nodes}]}}")))
    pods = fleet.start(3)
    until(lambda: all(pod.mode() == "shared" for pod in pods), 20, "sharing")
    fleet.warm()
    fleet.clear()
    fleet.watch(11)
    until(lambda: all(set(pod.states().values()) == {"HEALTHY"} for pod in pods), 10, "all healthy everywhere")
    assert pods[0].post("/haleway/deployments/d3/disable").status == 200
    until(lambda: pods[1].states()["d3"] == "ADMIN_DOWN", 1.5, "pushed across the cluster")
    pods[2].die()
    fleet.watch(12, least=0.3)
