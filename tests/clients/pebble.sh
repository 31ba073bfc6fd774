# An ACME server for the clients that solve DNS-01; sourced after door.sh.

pebble_serve() { # pebble_serve: pebble, which asks the server under test; sets $acme and $ca
  need pebble pebble
  need openssl openssl
  local listen management
  read -r listen management < <(free 2)
  ca=$work/pebble.pem
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$work/pebble.key" -out "$ca" 2>/dev/null
  cat >"$work/pebble.json" <<JSON
{"pebble": {"listenAddress": "127.0.0.1:$listen", "managementListenAddress": "127.0.0.1:$management",
  "certificate": "$ca", "privateKey": "$work/pebble.key", "httpPort": 1, "tlsPort": 1, "ocspResponderURL": ""}}
JSON
  # No pauses before validation, and no nonces that are refused by chance.
  PEBBLE_VA_NOSLEEP=1 PEBBLE_WFE_NONCEREJECT=0 pebble -config "$work/pebble.json" -dnsserver "127.0.0.1:$dns" >"$work/pebble.log" 2>&1 &
  started+=($!)
  acme=https://localhost:$listen/dir
  until_true 20 curl -sf --cacert "$ca" "$acme"
}

covers() { # covers FILE: the certificate is for the apex and for all below it
  expect "a certificate for the apex" 'DNS:example\.com(,|$)' openssl x509 -noout -ext subjectAltName -in "$1"
  expect "and for all below it" 'DNS:\*\.example\.com' openssl x509 -noout -ext subjectAltName -in "$1"
}
