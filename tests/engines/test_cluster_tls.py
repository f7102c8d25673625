"""An encrypted cluster: what a client brings along is passed on."""

import json
import shutil
import subprocess

import pytest
from distributed import Client, LocalCluster, Security

import precall
from cluster_cases import two_sets

pytestmark = pytest.mark.filterwarnings("default", "ignore::precall.PrecallWarning")  # Dask's own


@pytest.fixture
def security(tmp_path):
    """One certificate, made for this test, for everybody."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    command += ["-subj", "/CN=localhost", "-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True)
    sides = ("client", "worker", "scheduler")
    files = {f"tls_{side}_cert": certificate for side in sides}
    files |= {f"tls_{side}_key": key for side in sides}
    return Security(tls_ca_file=certificate, require_encryption=True, **files)


def test_tls_passes_through(security):
    given, options = two_sets(400, 300), {"headline": False, "estimators": [precall.KNN(k=5)]}
    expected = precall.evaluate(*given, engine="cpu", **options)
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            dashboard_address=":0",
            security=security,
            protocol="tls://",
        ) as cluster,
        Client(cluster, security=security, set_as_default=False) as client,
    ):
        assert client.scheduler.address.startswith("tls://")
        found = precall.evaluate(*given, engine=client, **options)
        with pytest.raises(precall.ClusterError, match=r"^no scheduler answers at tls://"):
            precall.evaluate(*given, engine=f"dask:{client.scheduler.address}", **options)
    documents = [json.loads(result.to_json()) for result in (found, expected)]
    for document in documents:
        del document["protocol"]
    assert documents[0] == documents[1]
