# Parts of a run of CI, their durations, and the limit of the whole. Sourced by .ci/run.

readonly limit_seconds=${CI_LIMIT_SECONDS:-3600}
state="$(mktemp -d)"
readonly state
readonly test_output=$state/test-output
touch "$state/planned" "$state/ended" "$test_output"
running=

# Names all parts, so that a run that is ended by the limit can list those that have not finished.
plan() { printf '%s\n' "$@" >"$state/planned"; }

# Runs one part and records its duration.
part() {
  local name=$1 status=0 started=$SECONDS
  shift
  "$@" || status=$?
  # One line is written at once, so parts may run side by side.
  printf '%5d s\t%s\n' $((SECONDS - started)) "$name" >>"$state/ended"
  return "$status"
}

# Runs a command or function so that the limit can interrupt it.
run() {
  local status=0
  # A process group of its own can be ended as a whole.
  set -m
  "$@" &
  running=$!
  set +m
  # The signal of the limit ends `wait` early; its trap does not return.
  wait "$running" || status=$?
  running=
  return "$status"
}

# Runs functions at the same time. Fails if one of them fails, after all have ended.
side_by_side() {
  local pids=() pid status=0 function
  for function in "$@"; do
    "$function" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || status=$?; done
  return "$status"
}

print_parts() { sed 's/\t/  /' "$state/ended"; }

unfinished() { grep --line-regexp --fixed-strings --invert-match --file <(cut -f 2 "$state/ended") "$state/planned"; }

# Keeps the output of the tests, also what they say when the limit ends them.
keep_output() (
  trap '' TERM
  tee "$test_output"
)

# The last line of the tests: 12 passed, 0 failed, 1 skipped.
last_count() { grep --text --extended-regexp '^[0-9]+ passed, [0-9]+ failed' "$test_output" | tail -n 1; }

end_at_limit() {
  trap - EXIT
  # What runs may say what it had not finished: the tests name those at work.
  if [ -n "$running" ]; then
    kill -TERM -- "-$running" 2>/dev/null || true
    for _ in $(seq 100); do
      kill -0 -- "-$running" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL -- "-$running" 2>/dev/null || true
  fi
  print_parts
  echo "The run has taken ${limit_seconds} s, and is ended. Not finished:"
  unfinished | sed 's/^/         /' || true
  local count
  count="$(last_count || true)"
  if [ -n "$count" ] && [[ $count =~ ^([0-9]+)\ passed,\ ([0-9]+) ]]; then
    echo "${BASH_REMATCH[1]} passed, $((BASH_REMATCH[2] + 1)) failed"
  else
    echo '0 passed, 1 failed'
  fi
  exit 1
}

start_limit() {
  trap end_at_limit USR1
  # Without its output, which a caller may read to its end.
  set -m
  (sleep "$limit_seconds" && kill -USR1 $$) >/dev/null 2>&1 &
  readonly limit_pid=$!
  set +m
  trap 'stop_limit; print_parts' EXIT
}
stop_limit() { kill -TERM -- "-$limit_pid" 2>/dev/null || true; }
