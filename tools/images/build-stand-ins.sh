#!/usr/bin/env bash
# Builds local replacements with the names of the official images, for machines without access to a registry.
set -euo pipefail

readonly kafka_version=4.1.0
readonly node_version=24.21.0
readonly npm_version=11
readonly debian_release=bookworm

readonly base_image=debian:$debian_release-slim
readonly postgres_image=postgres:15-$debian_release
readonly redis_image=redis:7-$debian_release
readonly kafka_image=apache/kafka:$kafka_version
readonly node_image=node:24-$debian_release-slim
readonly nginx_image=nginx:1.28-$debian_release
readonly mailpit_image=axllent/mailpit:v1.27
readonly clickhouse_image=clickhouse/clickhouse-server:26.3
readonly chdb_version=26.9.0

readonly pull_timeout_seconds=120

usage() {
  cat <<EOF
Usage: build-stand-ins.sh [--pull] [--force]
  --pull   try the official image first, for ${pull_timeout_seconds}s
  --force  rebuild all images; otherwise those whose source has changed
EOF
}

pull=false
force=false
for argument in "$@"; do
  case $argument in
    --pull) pull=true ;;
    --force) force=true ;;
    --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

here="$(cd "$(dirname "$0")" && pwd)"
work="$(mktemp -d)"
readonly here work

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Files of the unpacked base system belong to root.
trap 'as_root rm -rf "$work"' EXIT

# Prints the step and its duration on one line. If the step fails, shows the end of its output.
step() {
  local title=$1 log="$work/step.log" started=$SECONDS
  shift
  if ! "$@" >"$log" 2>&1 </dev/null; then
    tail -n 60 "$log" >&2
    echo "FAILED: $title" >&2
    return 1
  fi
  echo "$title ($((SECONDS - started))s)"
}

apt_install() {
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

# The host's Debian sources for this release; nothing on other distributions.
host_sources() {
  command -v apt-get >/dev/null || return 0
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v release="$debian_release" '$2 ~ "^" release "(-updates|-security)?$" { print "deb", $1, $2, $3 }' | sort -u
}

# The proxy and validity options of the host's apt, which its sources may need.
host_apt_settings() {
  apt-config dump | grep -E '^Acquire::(https?::|Check-|Max-|Retries)' | grep -v -i 'auto-\?detect' || true
}

# What turns Debian's minbase into the slim image: no documentation, no caches, no services started by packages.
trim_base() {
  local root=$1
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
  printf 'path-exclude /usr/share/%s/*\n' doc info locale man >"$root/etc/dpkg/dpkg.cfg.d/slim"
  printf '%s\n' 'Acquire::Languages "none";' 'APT::Install-Recommends "false";' \
    >"$root/etc/apt/apt.conf.d/slim"
  # The folders stay, because scripts of some packages create links in them.
  find "$root"/usr/share/{doc,info,locale,man} ! -type d -delete
  rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/* "$root"/var/log/*.log "$root/var/log/apt"
}

unpack_base() {
  local root="$work/base" sources mirror
  sources="$(host_sources)"
  mirror="$(awk -v release="$debian_release" '$3 == release { print $2; exit }' <<<"$sources")"
  mkdir "$root"
  # Without a mirror, debootstrap uses its default.
  debootstrap --variant=minbase "$debian_release" "$root" ${mirror:+"$mirror"}
  if [ -n "$sources" ]; then
    echo "$sources" >"$root/etc/apt/sources.list"
    host_apt_settings >"$root/etc/apt/apt.conf.d/host"
  fi
  if grep -q https: "$root/etc/apt/sources.list" && [ -s /etc/ssl/certs/ca-certificates.crt ]; then
    install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
  fi
  trim_base "$root"
}

import_base() {
  as_root tar -C "$work/base" --numeric-owner -c . |
    docker import --change 'CMD ["bash"]' --change 'LABEL stand-in=true' - "$base_image"
}

build_base() {
  command -v debootstrap >/dev/null || step 'Installed debootstrap' apt_install debootstrap debian-archive-keyring
  # debootstrap and the clean-up need root, together with the functions of this script.
  if [ "$(id -u)" = 0 ]; then
    step 'Unpacked Debian' unpack_base
  else
    step 'Unpacked Debian' sudo env work="$work" debian_release="$debian_release" bash -euo pipefail -c \
      "$(declare -f host_sources host_apt_settings trim_base unpack_base); unpack_base"
  fi
  step "Built $base_image" import_base
}

# Proxy variables are predefined build arguments: apt sees them, but the image does not keep them.
docker_build() {
  local image=$1 context=$2 arguments=() name
  for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    if [ -n "${!name:-}" ]; then arguments+=(--build-arg "$name"); fi
  done
  docker build --label stand-in=true --label "source=$(source_of "${context##*/}")" "${arguments[@]}" --tag "$image" \
    "$context"
}

# A checksum of the files in a folder, by names and contents.
source_of() {
  (cd "$here/$1" && find . -type f | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c 1-16)
}

new_context() {
  cp -R "$here/$1" "$work/$1"
}

build_postgres() {
  new_context postgres
  step "Built $postgres_image" docker_build "$postgres_image" "$work/postgres"
}

build_redis() {
  new_context redis
  step "Built $redis_image" docker_build "$redis_image" "$work/redis"
}

fetch_kafka() {
  mvn --batch-mode --no-transfer-progress --file "$work/kafka/pom.xml" "-Dkafka.version=$kafka_version" \
    dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$work/kafka/libs"
}

build_kafka() {
  command -v mvn >/dev/null || step 'Installed Maven' apt_install maven default-jre-headless
  new_context kafka
  step "Fetched Kafka $kafka_version" fetch_kafka
  step "Built $kafka_image" docker_build "$kafka_image" "$work/kafka"
}

# Prints the folder of the unpacked npm package.
unpack_npm_package() {
  local package=$1 folder=$2
  mkdir -p "$folder"
  # Outside the repository, whose .npmrc must not apply.
  (cd "$work" && npm pack --silent "$package" | tail -n 1 | xargs -I{} tar -xzf {} -C "$folder" --strip-components=1)
}

fetch_node() {
  local architecture
  case "$(uname -m)" in
    x86_64) architecture=x64 ;;
    aarch64) architecture=arm64 ;;
    *) echo "no Node package for $(uname -m)"; return 1 ;;
  esac
  unpack_npm_package "node-linux-$architecture@$node_version" "$work/node/node"
  unpack_npm_package "npm@$npm_version" "$work/node/npm"
}

build_node() {
  command -v npm >/dev/null || step 'Installed npm' apt_install npm
  new_context node
  step "Fetched Node $node_version" fetch_node
  step "Built $node_image" docker_build "$node_image" "$work/node"
}

build_nginx() {
  new_context nginx
  step "Built $nginx_image" docker_build "$nginx_image" "$work/nginx"
}

build_mailpit() {
  new_context mailpit
  step "Built $mailpit_image" docker_build "$mailpit_image" "$work/mailpit"
}

# The ClickHouse engine as a package for the Python of the base image.
fetch_clickhouse() {
  python3 -m pip download --quiet --only-binary :all: --python-version 3.11 --dest "$work/clickhouse/wheels" \
    "chdb-core==$chdb_version"
}

build_clickhouse() {
  python3 -m pip --version >/dev/null 2>&1 || step 'Installed pip' apt_install python3-pip
  new_context clickhouse
  step "Fetched the engine of ClickHouse $chdb_version" fetch_clickhouse
  step "Built $clickhouse_image" docker_build "$clickhouse_image" "$work/clickhouse"
}

exists() {
  docker image inspect "$1" >/dev/null 2>&1
}

label_of() {
  docker image inspect --format "{{index .Config.Labels \"$2\"}}" "$1"
}

# Whether the image is a stand-in that was built from another version of its folder. Official images never are.
is_outdated() {
  local image=$1 folder=$2
  [ "$(label_of "$image" stand-in)" = true ] && [ -d "$here/$folder" ] &&
    [ "$(label_of "$image" source)" != "$(source_of "$folder")" ]
}

# Keeps an existing image, pulls it if requested, and builds it otherwise.
provide() {
  local image=$1 build=$2
  if exists "$image" && ! $force && ! is_outdated "$image" "${build#build_}"; then
    echo "$image is there"
  elif $pull && timeout "$pull_timeout_seconds" docker pull --quiet "$image" >/dev/null 2>&1; then
    echo "Pulled $image"
  else
    "$build"
  fi
}

"$here/start-docker.sh"
# The other images are built from this one.
provide "$base_image" build_base
provide "$postgres_image" build_postgres
provide "$redis_image" build_redis
provide "$kafka_image" build_kafka
provide "$node_image" build_node
provide "$nginx_image" build_nginx
provide "$mailpit_image" build_mailpit
provide "$clickhouse_image" build_clickhouse
# After a rebuild, the previous image has no name.
docker image prune --force --filter label=stand-in=true >/dev/null
echo "All images are ready after ${SECONDS}s"
