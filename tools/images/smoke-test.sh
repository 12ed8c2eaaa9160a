#!/usr/bin/env bash
# Runs every stand-in image and checks what the tests and the compose file rely on. The official images pass it, too.
# The shell in the container expands the expressions in single quotes.
# shellcheck disable=SC2016
set -euo pipefail

readonly postgres_image=postgres:15-bookworm
readonly redis_image=redis:7-bookworm
readonly kafka_image=${KAFKA_IMAGE:-apache/kafka:4.1.0}
readonly node_image=node:24-bookworm-slim

readonly deadline_seconds=300
readonly prefix="stand-in-smoke-$$"
readonly kafka_bin=/opt/kafka/bin
scripts="$(mktemp -d)"
readonly scripts

passed=0

clean_up() {
  local containers
  containers="$(docker ps -aq --filter "name=^$prefix-")"
  # shellcheck disable=SC2086
  if [ -n "$containers" ]; then docker rm -fv $containers >/dev/null; fi
  docker network rm "$prefix-network" >/dev/null 2>&1 || true
  rm -rf "$scripts"
}
trap clean_up EXIT

fail() {
  echo "FAILED: $1" >&2
  if [ -n "${2:-}" ]; then docker logs --tail 40 "$prefix-$2" >&2; fi
  exit 1
}

pass() {
  passed=$((passed + 1))
  echo "ok: $1"
}

# expect TITLE CONTAINER PATTERN COMMAND... : the output of the command must match the pattern.
expect() {
  local title=$1 container=$2 pattern=$3 output
  shift 3
  output="$("$@" 2>&1)" || fail "$title: ${output:0:2000}" "$container"
  grep -q -E -e "$pattern" <<<"$output" || fail "$title: expected $pattern, got: ${output:0:2000}" "$container"
  pass "$title"
}

start() {
  local name=$1
  shift
  docker run --detach --name "$prefix-$name" "$@" >/dev/null
}

in_container() {
  local name=$1
  shift
  docker exec "$prefix-$name" "$@"
}

stop() {
  docker rm -fv "$prefix-$1" >/dev/null
}

# Waits until the container's log contains a line as many times as required; prints the duration.
wait_for_log() {
  local name=$1 line=$2 times=${3:-1} started=${EPOCHREALTIME/./} deadline=$((SECONDS + deadline_seconds))
  until [ "$(docker logs "$prefix-$name" 2>&1 | grep -c -e "$line")" -ge "$times" ]; do
    [ "$SECONDS" -lt "$deadline" ] || fail "$name did not log '$line' within ${deadline_seconds}s" "$name"
    [ "$(docker inspect --format '{{.State.Running}}' "$prefix-$name")" = true ] || fail "$name stopped" "$name"
    sleep 0.1
  done
  pass "$name is ready after $(((${EPOCHREALTIME/./} - started) / 1000)) ms"
}

free_port() {
  local port=$((20000 + RANDOM % 10000))
  while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
  echo "$port"
}

test_postgres() {
  echo "CREATE TABLE from_sql (id int);" >"$scripts/1.sql"
  echo "CREATE TABLE from_gzip (id int);" | gzip >"$scripts/2.sql.gz"
  echo 'psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --command "CREATE TABLE from_shell (id int)"' >"$scripts/3.sh"
  chmod -R a+rX "$scripts"
  start postgres --env POSTGRES_USER=ada --env POSTGRES_PASSWORD="it's a secret" --env POSTGRES_DB=garden \
    --env POSTGRES_INITDB_ARGS='--data-checksums' --volume "$scripts:/docker-entrypoint-initdb.d:ro" \
    --publish 127.0.0.1::5432 "$postgres_image" -c fsync=off -c max_connections=42
  wait_for_log postgres 'database system is ready to accept connections' 2

  local as_ada=(in_container postgres psql --no-psqlrc -At --username ada --dbname garden --command)
  expect 'init files ran' postgres '^from_gzip,from_shell,from_sql$' "${as_ada[@]}" \
    "select string_agg(tablename, ',' order by tablename) from pg_tables where schemaname = 'public'"
  expect 'server arguments arrived' postgres '^off 42$' "${as_ada[@]}" \
    "select current_setting('fsync') || ' ' || current_setting('max_connections')"
  expect 'initdb arguments arrived' postgres '^on$' "${as_ada[@]}" 'show data_checksums'
  expect 'sorts as en_US does' postgres '^a,B,c$' "${as_ada[@]}" \
    "select string_agg(x, ',' order by x) from unnest(array['B', 'c', 'a']) x"
  expect 'passwords are checked by SCRAM' postgres '^scram-sha-256$' "${as_ada[@]}" \
    "select auth_method from pg_hba_file_rules where address = 'all'"
  local address
  address="$(in_container postgres hostname -i)"
  expect 'password lets in' postgres '^1$' docker exec --env PGPASSWORD="it's a secret" "$prefix-postgres" \
    psql --host "$address" --username ada --dbname garden -At --command 'select 1'
  expect 'wrong password does not' postgres 'password authentication failed' bash -c \
    "docker exec --env PGPASSWORD=wrong $prefix-postgres psql --host $address --username ada --dbname garden -c 'select 1' || true"
  expect 'pg_isready' postgres 'accepting connections' in_container postgres pg_isready
  local port
  port="$(docker port "$prefix-postgres" 5432)"
  expect 'host port is open' postgres open bash -c "exec 3<>/dev/tcp/${port/://} && echo open"
  expect 'runs as uid 999' postgres '^999$' in_container postgres stat -c %u /proc/1
  docker restart --time 20 "$prefix-postgres" >/dev/null
  wait_for_log postgres 'database system is ready to accept connections' 3
  # Once for the initialisation server, once for the final one.
  expect 'stops cleanly' postgres '^2$' bash -c \
    "docker logs $prefix-postgres 2>&1 | grep -c 'database system is shut down'"
  expect 'data outlives a restart' postgres '^3$' "${as_ada[@]}" \
    "select count(*) from pg_tables where schemaname = 'public'"
  stop postgres

  expect 'no password is an error' '' 'superuser password is not specified' bash -c \
    "docker run --rm $postgres_image 2>&1 || true"
  start trust --env POSTGRES_HOST_AUTH_METHOD=trust "$postgres_image" postgres -c shared_buffers=8MB
  wait_for_log trust 'database system is ready to accept connections' 2
  expect 'trust needs no password' trust '^8MB$' in_container trust \
    bash -c 'psql --host "$(hostname -i)" --username postgres -At --command "show shared_buffers"'
  stop trust
}

test_redis() {
  start redis --publish 127.0.0.1::6379 "$redis_image"
  wait_for_log redis 'Ready to accept connections'
  expect 'redis-cli ping' redis '^PONG$' in_container redis redis-cli ping
  # From an address other than loopback, which protected mode would refuse.
  expect 'no protected mode' redis '^PONG$' in_container redis bash -c 'redis-cli -h "$(hostname -i)" ping'
  expect 'runs as uid 999' redis '^999$' in_container redis stat -c %u /proc/1
  expect 'works in /data' redis '^/data$' in_container redis redis-cli config get dir
  stop redis
  start redis-options "$redis_image" --appendonly yes --save ''
  wait_for_log redis-options 'Ready to accept connections'
  expect 'options arrive' redis-options '^yes$' in_container redis-options redis-cli config get appendonly
  expect 'options keep protected mode off' redis-options '^no$' \
    in_container redis-options redis-cli config get protected-mode
  stop redis-options
}

# Creates a topic through the given address, writes a record and reads it.
expect_record_through() {
  local name=$1 server=$2 topic=$3 in_network=(docker run --rm --interactive --network "$4" "$kafka_image")
  shift 4
  expect "$name creates a topic" "$name" "Created topic $topic" "${in_network[@]}" \
    "$kafka_bin/kafka-topics.sh" --bootstrap-server "$server" --create --topic "$topic" "$@"
  "${in_network[@]}" "$kafka_bin/kafka-console-producer.sh" --bootstrap-server "$server" --topic "$topic" \
    --producer-property acks=all <<<"hello $topic" || fail "$name takes a record" "$name"
  expect "$name returns the record" "$name" "^hello $topic$" "${in_network[@]}" \
    "$kafka_bin/kafka-console-consumer.sh" --bootstrap-server "$server" --topic "$topic" --from-beginning \
    --max-messages 1 --timeout-ms 30000
}

test_kafka_default() {
  start kafka --publish 127.0.0.1::9092 "$kafka_image"
  wait_for_log kafka 'Kafka Server started'
  expect_record_through kafka localhost:9092 plain "container:$prefix-kafka"
  expect 'runs as appuser' kafka '^appuser$' in_container kafka stat -c %U /proc/1
  expect 'Java is process 1' kafka '^java$' in_container kafka cat /proc/1/comm
  expect 'broker answers for its versions' kafka 'Produce\(0\)' \
    in_container kafka "$kafka_bin/kafka-broker-api-versions.sh" --bootstrap-server localhost:9092
  docker restart --time 30 "$prefix-kafka" >/dev/null
  wait_for_log kafka 'Kafka Server started' 2
  expect 'stops cleanly' kafka 'since clean shutdown file was found' docker logs "$prefix-kafka"
  expect 'topics outlive a restart' kafka '^plain$' \
    in_container kafka "$kafka_bin/kafka-topics.sh" --bootstrap-server localhost:9092 --list
  stop kafka
}

# One property in the environment replaces all defaults of the image, so all must be given.
single_node_environment() {
  printf -- '--env\n%s\n' KAFKA_NODE_ID=1 KAFKA_PROCESS_ROLES=broker,controller \
    KAFKA_LISTENERS=HOST://:9092,INTERNAL://:19092,CONTROLLER://:9093 \
    KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=HOST:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT \
    KAFKA_INTER_BROKER_LISTENER_NAME=INTERNAL KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER \
    KAFKA_CONTROLLER_QUORUM_VOTERS=1@localhost:9093 KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR=1 \
    KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR=1 KAFKA_TRANSACTION_STATE_LOG_MIN_ISR=1 \
    KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0
}

test_kafka_on_host_port() {
  local port environment
  port="$(free_port)"
  mapfile -t environment < <(single_node_environment)
  start kafka-host --publish "127.0.0.1:$port:9092" "${environment[@]}" \
    --env "KAFKA_ADVERTISED_LISTENERS=HOST://localhost:$port,INTERNAL://localhost:19092" \
    --env KAFKA_NUM_PARTITIONS=7 --env KAFKA_LOG_DIRS=/var/lib/kafka/data/logs \
    --env KAFKA_HEAP_OPTS='-Xms200m -Xmx200m' --env KAFKA_OPTS=-Dgreeting=hello \
    --env CLUSTER_ID=MkU3OEVBNTcwNTJENDM2Qk "$kafka_image"
  wait_for_log kafka-host 'Kafka Server started'
  expect_record_through kafka-host "localhost:$port" mapped host
  expect 'properties arrive' kafka-host '^num.partitions=7$' in_container kafka-host cat /opt/kafka/config/server.properties
  expect 'JVM options arrive' kafka-host 'Xmx200m.*-Dgreeting=hello' \
    in_container kafka-host bash -c "tr '\0' ' ' </proc/1/cmdline"
  expect 'log folder and cluster id arrive' kafka-host 'cluster.id=MkU3OEVBNTcwNTJENDM2Qk' \
    in_container kafka-host cat /var/lib/kafka/data/logs/meta.properties
  stop kafka-host
}

test_kafka_cluster() {
  local node voters='' nodes=(1 2 3)
  docker network create "$prefix-network" >/dev/null
  for node in "${nodes[@]}"; do voters+=",$node@broker-$node:9093"; done
  for node in "${nodes[@]}"; do
    start "broker-$node" --network "$prefix-network" --network-alias "broker-$node" \
      --env KAFKA_NODE_ID="$node" --env KAFKA_PROCESS_ROLES=broker,controller \
      --env KAFKA_LISTENERS=PLAINTEXT://:9092,CONTROLLER://:9093 \
      --env KAFKA_ADVERTISED_LISTENERS="PLAINTEXT://broker-$node:9092" \
      --env KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT \
      --env KAFKA_INTER_BROKER_LISTENER_NAME=PLAINTEXT --env KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER \
      --env KAFKA_CONTROLLER_QUORUM_VOTERS="${voters#,}" --env KAFKA_MIN_INSYNC_REPLICAS=2 \
      --env KAFKA_HEAP_OPTS='-Xms256m -Xmx256m' "$kafka_image"
  done
  for node in "${nodes[@]}"; do wait_for_log "broker-$node" 'Kafka Server started'; done
  expect_record_through broker-1 broker-1:9092,broker-2:9092,broker-3:9092 replicated "$prefix-network" \
    --partitions 1 --replication-factor 3

  local describe leader survivor
  describe=("$kafka_bin/kafka-topics.sh" --bootstrap-server localhost:9092 --describe --topic replicated)
  leader="$(in_container broker-1 "${describe[@]}" | sed -n 's/.*Leader: \([0-9]*\).*/\1/p')"
  survivor="broker-$((leader % 3 + 1))"
  docker kill "$prefix-broker-$leader" >/dev/null
  local deadline=$((SECONDS + deadline_seconds))
  until in_container "$survivor" "${describe[@]}" 2>/dev/null | grep -q -E "Leader: [^$leader]"; do
    [ "$SECONDS" -lt "$deadline" ] || fail "no broker took over from $leader" "$survivor"
  done
  pass "another broker took over from $leader"
  expect 'the record outlives its leader' "$survivor" '^hello replicated$' in_container "$survivor" \
    "$kafka_bin/kafka-console-consumer.sh" --bootstrap-server localhost:9092 --topic replicated --from-beginning \
    --max-messages 1 --timeout-ms 30000
  docker start "$prefix-broker-$leader" >/dev/null
  wait_for_log "broker-$leader" 'Kafka Server started' 2
  for node in "${nodes[@]}"; do stop "broker-$node"; done
}

test_node() {
  expect 'node is 24' '' '^v24\.' docker run --rm "$node_image" -v
  expect 'npm runs' '' '^[0-9]+\.' docker run --rm "$node_image" npm --version
  expect 'a script runs as node' '' '^1000$' docker run --rm --user node "$node_image" -p 'process.getuid()'
  expect 'other commands run' '' '^/home/node$' docker run --rm --user node "$node_image" bash -c 'echo ~'
}

test_postgres
test_redis
test_kafka_default
test_kafka_on_host_port
test_kafka_cluster
test_node
echo "$passed passed, 0 failed"
