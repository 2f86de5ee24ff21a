#!/usr/bin/env bash
# A cluster of Slurm on this machine alone, for tests: starts munged, slurmctld and one slurmd for each
# of several node names, runs a command with them, and ends them all. Needs root and Debian's packages
# slurm-wlm and munge, no systemd. The controller and the nodes listen on loopback addresses only.
#
#   scripts/slurm/testbed.sh [--nodes N] [--folder DIR] COMMAND [ARGUMENT...]
#
# COMMAND finds the cluster by SLURM_CONF. TESTBED names the scratch folder: $TESTBED/n1.pid is the
# process of the first node, and `$TESTBED/kill-node n1` ends it with everything that runs on it, as a
# power cut does. Exit code: the command's; 77 where Slurm is not installed or this is not root.
set -euo pipefail

nodes=4
folder=
while [[ ${1:-} == --* ]]; do
  case $1 in
    --nodes) nodes=$2 ;;
    --folder) folder=$2 ;;
    *)
      echo "testbed.sh: unknown option $1" >&2
      exit 2
      ;;
  esac
  shift 2
done
if (($# == 0)); then
  echo "testbed.sh: no command" >&2
  exit 2
fi
for tool in munged slurmctld slurmd sinfo scancel; do
  if ! PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null; then
    echo "skipped: $tool is not installed (Debian: slurm-wlm munge)"
    exit 77
  fi
done
if [[ $(id -u) != 0 ]]; then
  echo "skipped: slurmd needs root"
  exit 77
fi
export PATH=$PATH:/usr/sbin

made=
if [[ -z $folder ]]; then
  made=$(mktemp -d /tmp/gla-bench-slurm-XXXXXX)
  folder=$made
fi
mkdir -p "$folder"
TESTBED=$(cd "$folder" && pwd)
export TESTBED SLURM_CONF=$TESTBED/slurm.conf

# Ports that are free now, all held at once so that they differ.
mapfile -t ports < <(python3 - $((nodes + 1)) <<'PYTHON'
import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for one in held:
    one.bind(("127.0.0.1", 0))
    print(one.getsockname()[1])
PYTHON
)

host=$(hostname -s)
{
  cat <<CONFIG
ClusterName=testbed
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports[0]}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$TESTBED/munge.socket,cred_expire=5
StateSaveLocation=$TESTBED/state
SlurmdSpoolDir=$TESTBED/spool/%n
SlurmctldPidFile=$TESTBED/slurmctld.pid
SlurmdPidFile=$TESTBED/slurmd-%n.pid
SlurmctldLogFile=$TESTBED/slurmctld.log
SlurmdLogFile=$TESTBED/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,sched_min_interval=1,batch_sched_delay=0
ReturnToService=2
JobRequeue=1
MpiDefault=none
SlurmctldTimeout=10
SlurmdTimeout=3
KillWait=2
MinJobAge=3600
CONFIG
  for ((i = 1; i <= nodes; i++)); do
    echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[$i]} CPUs=1"
  done
  echo "PartitionName=all Nodes=n[1-$nodes] Default=YES MaxTime=INFINITE State=UP"
} >"$SLURM_CONF"
mkdir -p "$TESTBED/state" "$TESTBED/spool"

# munged wants a folder that nobody else may enter, and a key of its own.
chmod 700 "$TESTBED"
dd if=/dev/urandom of="$TESTBED/munge.key" bs=1024 count=1 status=none
chmod 600 "$TESTBED/munge.key"

cat >"$TESTBED/kill-node" <<'KILL'
#!/usr/bin/env bash
# Ends a node and everything that runs on it at once.
set -euo pipefail
below() {
  local child
  for child in $(pgrep -P "$1" || true); do
    echo "$child"
    below "$child"
  done
}
# A step holds its node's log open. It is killed before what it has started: otherwise it may still tell the controller
# of a task that has ended, in place of a node that has gone.
pids=()
for step in $(pgrep -f '^slurmstepd: ' || true); do
  for file in "/proc/$step/fd/"*; do
    if [[ $(readlink "$file") == "$TESTBED/slurmd-$1.log" ]]; then
      pids+=("$step")
      mapfile -t -O "${#pids[@]}" pids < <(below "$step")
      break
    fi
  done
done
kill -KILL "$(cat "$TESTBED/$1.pid")" "${pids[@]}" 2>/dev/null || true
KILL
chmod 755 "$TESTBED/kill-node"

pids=()
end() {
  local status=$?
  trap - EXIT INT TERM
  scancel --user root >/dev/null 2>&1 || true
  sleep 0.5
  for ((i = 1; i <= nodes; i++)); do "$TESTBED/kill-node" "n$i" >/dev/null 2>&1 || true; done
  kill "${pids[@]}" 2>/dev/null || true
  for ((tries = 0; tries < 50; tries++)); do
    kill -0 "${pids[@]}" 2>/dev/null || break
    sleep 0.1
  done
  if [[ -n $made && $status == 0 ]]; then rm -rf "$made"; else echo "kept: $TESTBED" >&2; fi
  exit "$status"
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

munged --foreground --force --socket="$TESTBED/munge.socket" --key-file="$TESTBED/munge.key" \
  --pid-file="$TESTBED/munged.pid" --log-file="$TESTBED/munged.log" \
  --seed-file="$TESTBED/munged.seed" >/dev/null 2>&1 &
pids+=($!)
disown
until [[ -S $TESTBED/munge.socket ]]; do
  kill -0 "${pids[0]}" 2>/dev/null || {
    echo "munged did not start: $TESTBED/munged.log" >&2
    exit 1
  }
  sleep 0.1
done
slurmctld -D -f "$SLURM_CONF" >/dev/null 2>&1 &
pids+=($!)
disown
for ((i = 1; i <= nodes; i++)); do
  slurmd -D -N "n$i" -f "$SLURM_CONF" >/dev/null 2>&1 &
  echo $! >"$TESTBED/n$i.pid"
  disown
done
for ((tries = 0; ; tries++)); do
  idle=$(sinfo -h -N -t idle -o %N 2>/dev/null | wc -l || true)
  if ((idle == nodes)); then break; fi
  if ((tries > 150)); then
    echo "Slurm did not start: $TESTBED/slurmctld.log" >&2
    exit 1
  fi
  sleep 0.2
done
"$@"
