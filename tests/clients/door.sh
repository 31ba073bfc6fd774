# What the tests of the PowerDNS door with real clients have in common; each is `NAME BINARY` and sources this file.
# With ORACLE=pdns they run against a Debian pdns-server instead of the binary, to hold the tests themselves against it.
set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin LC_ALL=C.UTF-8 PIP_DISABLE_PIP_VERSION_CHECK=1
client=$(basename "$0")
binary=$(realpath "$1")
cache=${TMPDIR:-/tmp}
work=$(mktemp -d)
started=()
passed=0

finish() {
  local status=$? id
  for id in "${started[@]}"; do kill -INT "$id" 2>/dev/null || true; done
  for id in "${started[@]}"; do
    # A shell lets what it starts in the background ignore SIGINT, and not all programs take it back.
    for _ in $(seq 10); do kill -0 "$id" 2>/dev/null || break; sleep 0.1; done
    kill -TERM "$id" 2>/dev/null || true
    for _ in $(seq 80); do kill -0 "$id" 2>/dev/null || break; sleep 0.1; done
    kill -KILL "$id" 2>/dev/null || true
    wait "$id" 2>/dev/null || true
  done
  if [ "$status" -ne 0 ]; then
    echo "$client: failed after $passed passed"
    for log in "$work"/*.log; do [ -s "$log" ] && { echo "-- ${log##*/}"; tail -40 "$log"; }; done
  fi
  rm -rf "$work"
}
trap finish EXIT

need() { # need COMMAND PACKAGE...
  local command=$1
  shift
  command -v "$command" >/dev/null 2>&1 && return
  [ -n "${updated:-}" ] || { apt-get update -qq; updated=yes; }
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

venv() { # venv NAME VERSION REQUIREMENT...: sets $venv; a venv that was not finished is made anew
  venv=$cache/tenured-$1-$2
  shift 2
  [ -e "$venv/finished" ] && return
  python3 -c 'import ensurepip, venv' 2>/dev/null || need no-such-command python3-venv
  rm -rf "$venv"
  python3 -m venv "$venv"
  timeout 300 "$venv/bin/pip" -q install "$@"
  touch "$venv/finished"
}

free() { # free COUNT: ports that are free for UDP and TCP
  python3 - "$1" <<'PY'
import socket, sys
held, ports = [], []
while len(ports) < int(sys.argv[1]):
    udp, tcp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket()
    udp.bind(("127.0.0.1", 0))
    held += [udp, tcp]
    try:
        tcp.bind(udp.getsockname())
    except OSError:
        continue
    ports.append(str(udp.getsockname()[1]))
print(*ports)
PY
}

until_true() { # until_true SECONDS COMMAND...
  local until=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$until" ] || { echo "$client: not within the time: $*"; return 1; }
    sleep 0.1
  done
}

oracle() { # oracle FOLDER: a pdns-server; sets $old_dns and $old_http, its key is "oracle"
  need pdns_server pdns-server pdns-backend-sqlite3
  need sqlite3 sqlite3
  mkdir -p "$1"
  read -r old_dns old_http < <(free 2)
  sqlite3 "$1/pdns.db" </usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql
  cat >"$1/pdns.conf" <<CONF
launch=gsqlite3
gsqlite3-database=$1/pdns.db
gsqlite3-dnssec=yes
gsqlite3-pragma-synchronous=0
local-address=127.0.0.1
local-port=$old_dns
api=yes
api-key=oracle
webserver=yes
webserver-address=127.0.0.1
webserver-port=$old_http
webserver-allow-from=127.0.0.0/8
socket-dir=$1
cache-ttl=0
query-cache-ttl=0
negquery-cache-ttl=0
zone-cache-refresh-interval=0
dname-processing=yes
default-soa-content=ns1.example.net. hostmaster.@ 0 10800 3600 604800 3600
loglevel=3
CONF
  pdns_server --config-dir="$1" --guardian=no --daemon=no --disable-syslog >"$work/pdns.log" 2>&1 &
  started+=($!)
  until_true 20 curl -sf -H 'X-API-Key: oracle' "http://127.0.0.1:$old_http/api/v1/servers/localhost"
}

pdns_version() { { pdns_server --version 2>&1 || true; } | awk '/Authoritative Server/ && !done { sub(/.*Server /, ""); print $1; done = 1 }'; }

serve() { # serve: the server under test; sets $dns, $http and $api
  need curl curl
  need dig bind9-dnsutils
  need python3 python3
  if [ "${ORACLE:-}" = pdns ]; then
    oracle "$work/pdns"
    dns=$old_dns http=$old_http server="PowerDNS $(pdns_version)"
  else
    read -r dns http < <(free 2)
    export TENURED_URL=http://127.0.0.1:$http
    (cd "$work" && exec "$binary" serve --dns "127.0.0.1:$dns" --http "127.0.0.1:$http" >tenured.log 2>&1) &
    started+=($!)
    until_true 20 "$binary" health
    server=$("$binary" --version)
  fi
  api=http://127.0.0.1:$http
}

tenured() { (cd "$work" && "$binary" "$@"); }

key() { # key NAME PROFILE FLAG...: prints an API key whose claims are of pdns:NAME
  local name=$1 profile=$2
  shift 2
  if [ "${ORACLE:-}" = pdns ]; then echo oracle; return; fi
  tenured token create --door powerdns --name "$name" --profile "$profile" "$@" 2>>"$work/keys.log"
}

expect() { # expect WHAT PATTERN COMMAND...: the command succeeds and prints the pattern
  local what=$1 pattern=$2 out status=0
  shift 2
  out=$("$@" 2>&1 </dev/null) || status=$?
  if [ "$status" -eq 0 ] && grep -qE -- "$pattern" <<<"$out"; then
    passed=$((passed + 1))
  else
    printf '%s: %s: status %s, no match for %s in:\n%s\n' "$client" "$what" "$status" "$pattern" "$out"
    exit 1
  fi
}

refuse() { # refuse WHAT PATTERN COMMAND...: the command fails, and prints the pattern
  local what=$1 pattern=$2 out status=0
  shift 2
  out=$("$@" 2>&1 </dev/null) || status=$?
  if [ "$status" -ne 0 ] && [ "$status" -ne 124 ] && grep -qE -- "$pattern" <<<"$out"; then
    passed=$((passed + 1))
  else
    printf '%s: %s: status %s, no match for %s in:\n%s\n' "$client" "$what" "$status" "$pattern" "$out"
    exit 1
  fi
}

ask() { dig +tries=2 +time=3 @127.0.0.1 -p "$dns" "$@"; }
answers() { # answers WHAT EXPECTED NAME TYPE: +short answers, sorted, joined by a blank
  local what=$1 wanted=$2 got
  shift 2
  got=$(ask +short "$@" | LC_ALL=C sort | paste -sd' ')
  if [ "$got" = "$wanted" ]; then
    passed=$((passed + 1))
  else
    printf '%s: %s: %s answers [%s], not [%s]\n' "$client" "$what" "$*" "$got" "$wanted"
    exit 1
  fi
}

door() { # door METHOD PATH [BODY]: a request with $KEY below the server's URL; prints body and status
  local method=$1 path=$2
  shift 2
  [ $# -eq 0 ] || set -- --data-binary "$1"
  curl -s --max-time 60 -w '\n%{http_code}' -X "$method" -H "X-API-Key: $KEY" "$@" "$api/api/v1/servers/localhost$path"
}

make_zone() { # make_zone ZONE.: with two name servers
  expect "zone $1" '201$' door POST /zones "{\"name\":\"$1\",\"kind\":\"Native\",\"nameservers\":[\"ns1.example.net.\",\"ns2.example.net.\"]}"
}

summary() { # summary VERSIONS...
  echo "$client: $passed passed, 0 failed ($*, against ${server:-$("$binary" --version)})"
}
