#!/usr/bin/env bash
# A SLURM of one machine (Debian: slurm-wlm, munge; as root), and the script of docs/cluster.md on it.
# PYTHON: an interpreter with precall[cluster] and dask-jobqueue.
set -euo pipefail
PYTHON=${PYTHON:-python3}
work=$(mktemp -d)
trap 'scancel --user=root 2>/dev/null || true; kill $(cat "$work"/*.pid) 2>/dev/null || true' EXIT

mkdir -p /run/munge /etc/slurm "$work/state" "$work/spool"
[ -f /etc/munge/munge.key ] || { dd if=/dev/urandom of=/etc/munge/munge.key bs=1024 count=1 status=none; }
chown -R munge: /etc/munge /run/munge; chmod 400 /etc/munge/munge.key; chmod 755 /run/munge
pgrep munged >/dev/null || runuser -u munge -- munged
host=$(hostname -s)
cat >/etc/slurm/slurm.conf <<CONF
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
AuthType=auth/munge
SlurmUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=4000 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
slurmctld; slurmd
for _ in $(seq 30); do sinfo -h -o %t 2>/dev/null | grep -q idle && break; sleep 1; done
sinfo

cd "$work"
"$PYTHON" - <<'PYTHON_'
import numpy as np
from pathlib import Path
for i, name in enumerate(("real", "generated")):
    Path(name).mkdir()
    rng = np.random.default_rng(i)
    for shard in range(4):
        rows = rng.standard_normal((2000, 64), dtype=np.float32)
        np.save(f"{name}/{shard}.npy", rows + np.float32(0.1 * i))
PYTHON_
cat >evaluate.py <<'PYTHON_'
import precall
from dask_jobqueue import SLURMCluster
from distributed import Client

if __name__ == "__main__":
    cluster = SLURMCluster(
        cores=1, processes=1, memory="1GB", walltime="00:10:00", job_extra_directives=["--mem=1000"]
    )
    cluster.scale(jobs=2)
    client = Client(cluster)
    client.wait_for_workers(2)
    engine = precall.Cluster(client, checkpoint="pieces")
    result = precall.evaluate("real", "generated", engine=engine, headline=False)
    print(result)
    same = precall.evaluate("real", "generated", engine="cpu", headline=False)
    print("as on the CPU:", all(same.scores[n].value == s.value for n, s in result.scores.items()))
PYTHON_
"$PYTHON" evaluate.py & job=$!
sleep 20; squeue
wait $job
sacct 2>/dev/null || true
