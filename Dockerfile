# Builds with the toolchain that is current, runs without one.
FROM rust:1-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY src src
COPY migrations migrations
RUN cargo build --release --locked && strip target/release/tenured

FROM debian:bookworm-slim
RUN useradd --system --uid 5353 --home-dir /var/lib/tenured --create-home tenured
COPY --from=build /src/target/release/tenured /usr/local/bin/tenured
COPY zones /usr/share/tenured/zones
USER 5353
WORKDIR /var/lib/tenured
VOLUME /var/lib/tenured
# DNS, the API; with section `tls` also 853 for TLS and QUIC, and 443 for HTTPS.
EXPOSE 53/udp 53/tcp 8053
HEALTHCHECK --interval=10s --timeout=3s CMD ["tenured", "health"]
# Port 53 needs no privilege where net.ipv4.ip_unprivileged_port_start is 0, as container engines set it.
ENTRYPOINT ["tenured"]
CMD ["serve", "--dns", "0.0.0.0:53", "--http", "0.0.0.0:8053"]
