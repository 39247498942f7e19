# For .ci/run: a Docker engine, where this machine can have one. Anything of it may be missing: then docker_problem says what.

docker_problem=
docker_pid=
docker_log=

# Leaves an engine that answers and a compose, or docker_problem.
find_docker() {
  if docker version >/dev/null 2>&1 && have_compose; then return 0; fi
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    docker_problem="no Docker engine with compose answers, and bringing one up takes root on Debian"
    return 0
  fi
  local missing=()
  command -v dockerd >/dev/null || missing+=(docker.io)
  command -v iptables >/dev/null || missing+=(iptables)
  have_compose || missing+=(docker-compose)
  export DEBIAN_FRONTEND=noninteractive
  if [ ${#missing[@]} -gt 0 ] && ! { apt-get update -qq && timeout 300 apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; }; then
    docker_problem="not installed, apt-get failed: ${missing[*]}"
    return 0
  fi
  docker version >/dev/null 2>&1 || start_docker
}

have_compose() {
  docker compose version >/dev/null 2>&1 || docker-compose version >/dev/null 2>&1
}

start_docker() {
  local pid_file=/var/run/docker.pid
  if [ -s "$pid_file" ] && [ "$(cat "/proc/$(cat "$pid_file")/comm" 2>/dev/null)" != dockerd ]; then
    rm -f "$pid_file"  # of one that was killed: its number may be another's by now
  fi
  docker_log=$(mktemp)
  setsid dockerd >"$docker_log" 2>&1 </dev/null &
  docker_pid=$!
  local second
  for second in $(seq 60); do
    if timeout 5 docker version >/dev/null 2>&1; then return 0; fi
    kill -0 "$docker_pid" 2>/dev/null || break
    sleep 1
  done
  docker_problem="dockerd was not there after $second s: $(grep -v 'level=info' "$docker_log" | tail -n 1 || true)"
  stop_docker
}

# Ends the engine that was started here, and nothing of it stays.
stop_docker() {
  [ -n "$docker_pid" ] || return 0
  if [ -z "$docker_problem" ]; then
    docker ps -aq --filter name=lockd-test | xargs -r docker rm -f >/dev/null 2>&1 || true
    docker network ls -q --filter name=lockd-test | xargs -r docker network rm >/dev/null 2>&1 || true
    docker volume ls -q --filter name=lockd-test | xargs -r docker volume rm >/dev/null 2>&1 || true
    docker image rm -f lockd:local lockd-base/python:debian lockd-base/etcd:debian lockd-base/prometheus:debian >/dev/null 2>&1 || true
    docker image prune -f >/dev/null 2>&1 || true
  fi
  kill "$docker_pid" 2>/dev/null || true
  local second
  for second in $(seq 30); do
    kill -0 "$docker_pid" 2>/dev/null || break
    sleep 1
  done
  kill -9 "$docker_pid" 2>/dev/null || true
  wait "$docker_pid" 2>/dev/null || true
  docker_pid=
  rm -f "$docker_log"
}
