#!/usr/bin/env bash
# Runs a command with a network, mounts and processes of its own, which end with it. So a kubelet and its containers
# change nothing of this machine but FOLDER. Linux, root.
#   isolate.sh FOLDER COMMAND…
set -euo pipefail

# The control groups of pods, the innermost first. One may vanish meanwhile.
pod_groups() { find "${CGROUPS:-/sys/fs/cgroup}" -depth -type d -path '*/kubepods*' || true; }

# unshare starts this script again.
if [ "$1" != --inside ]; then
  status=0
  # Those of this machine, if it is a node of another cluster.
  before="$(pod_groups)"
  unshare --net --mount --pid --fork --kill-child --mount-proc "$0" --inside "$@" || status=$?
  # The groups of the containers' processes remain, without processes.
  pod_groups | grep --line-regexp --fixed-strings --invert-match "${before:-none}" |
    xargs --no-run-if-empty rmdir --ignore-fail-on-non-empty || true
  exit $status
fi
folder=$2
shift 2
mount --make-rshared /
ip link set lo up
for directory in /run/containerd /run/netns /var/lib/kubelet /var/lib/cni /var/log; do
  mkdir -p "$directory" "$folder/mounts$directory"
  mount --bind "$folder/mounts$directory" "$directory"
done
# A kubelet would set these for the whole machine, unless it finds what it wants.
for setting in vm/overcommit_memory=1 kernel/panic=10 kernel/panic_on_oops=1; do
  file="$folder/mounts/${setting//\//-}"
  echo "${setting#*=}" >"$file"
  mount --bind "$file" "/proc/sys/${setting%=*}"
done
# The first process of a process namespace ignores SIGINT and SIGTERM, so the command must be another one.
status=0
"$@" || status=$?
exit $status
