#!/usr/bin/env bash
# Installs and starts a Docker daemon if none is running.
set -euo pipefail

readonly start_timeout_seconds=300
readonly pid_file=/var/run/docker.pid

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

answers() {
  command -v docker >/dev/null && docker info >/dev/null 2>&1
}

fail() {
  echo "start-docker: $1" >&2
  exit 1
}

install_docker() {
  command -v apt-get >/dev/null || fail 'dockerd is missing and there is no apt-get to install it with'
  echo 'Installing docker.io'
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends docker.io >/dev/null
}

# dockerd refuses to start if the process in its pid file exists, even if the pid was reused after a reboot.
remove_stale_pid_file() {
  [ -s "$pid_file" ] || return 0
  if [ "$(cat "/proc/$(cat "$pid_file")/comm" 2>/dev/null)" != dockerd ]; then as_root rm -f "$pid_file"; fi
}

wait_until_it_answers() {
  local pid=$1 log=$2 deadline=$((SECONDS + start_timeout_seconds)) reason=''
  until answers; do
    if [ ! -d "/proc/$pid" ]; then
      reason='dockerd stopped while starting'
    elif [ "$SECONDS" -ge "$deadline" ]; then
      reason="dockerd did not answer within ${start_timeout_seconds}s"
    elif as_root docker info >/dev/null 2>&1 && ! answers; then
      fail "dockerd runs, but not for $(id -un): add this user to the group docker"
    fi
    if [ -n "$reason" ]; then
      tail -n 40 "$log" >&2
      fail "$reason, the end of $log is above"
    fi
    sleep 0.2
  done
}

start_dockerd() {
  local log pid
  log="$(mktemp -d)/dockerd.log"
  pid="$(pgrep -o -x dockerd || true)"
  if [ -n "$pid" ]; then
    echo "dockerd is starting already as process $pid" | tee "$log"
  else
    remove_stale_pid_file
    echo "Starting dockerd, its log is $log"
    # A separate session, so that the daemon survives this script. Closing 9 releases the inherited lock.
    as_root setsid nohup dockerd >"$log" 2>&1 </dev/null 9>&- &
    pid=$!
  fi
  wait_until_it_answers "$pid" "$log"
}

if answers; then exit 0; fi

# With concurrent test runs, one starts the daemon and the other waits.
exec 9>"${TMPDIR:-/tmp}/start-docker.$(id -u).lock"
flock 9
if answers; then exit 0; fi
command -v dockerd >/dev/null || install_docker
if [ -d /run/systemd/system ]; then as_root systemctl start docker || true; fi
if ! answers; then start_dockerd; fi
echo "Docker $(docker info --format '{{.ServerVersion}}') answers"
