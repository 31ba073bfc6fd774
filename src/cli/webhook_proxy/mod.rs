//! `tenured webhook-proxy`: the sidecar beside external-dns, which ends itself at answers and errors that a server must be
//! able to give. The proxy gives it none of them: it forwards the four calls octet for octet, tries again where that
//! is right, and makes a soft error of all else.

mod forward;
mod listen;
mod state;
mod upstream;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::failure::Failure;
use crate::config::LogFormat;
use crate::telemetry::{self, out};
use forward::Forwarder;
use state::State;
use upstream::Upstream;

/// Where the proxy listens, and what it says of itself.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub(super) struct Flags {
    /// File with certificates of authorities that the server's is checked against [default: those of the system]
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Where external-dns finds the protocol
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8888")]
    listen: SocketAddr,
    /// Where /healthz, /readyz and /metrics are
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:8080")]
    health: SocketAddr,
    /// Which of several proxies this is [default: the host's name]
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
}

/// Serves until SIGTERM or SIGINT. `url` is the door's, `https://…/externaldns/{owner}`; the token's file is read for each
/// request, so that a new token is used when it is there.
pub(super) async fn run(flags: Flags, url: Option<String>, token_file: Option<PathBuf>) -> Result<(), Failure> {
    let usage = |what: &str| Failure::Usage(what.to_owned());
    let url = url.ok_or_else(|| usage("webhook-proxy needs --url https://dns.example.net/externaldns/OWNER"))?;
    let token_file = token_file.ok_or_else(|| usage("webhook-proxy needs --token-file FILE"))?;
    telemetry::start(LogFormat::Text);
    let instance = flags.instance.unwrap_or_else(host_name);
    let state = Arc::new(State::default());
    let upstream = Upstream::new(&url, flags.ca_file.as_deref())?;
    let forwarder = Forwarder::new(upstream, token_file, &instance, state.clone())?;
    let bind = async |address: SocketAddr| {
        let failed = |error: std::io::Error| Failure::failed(format!("{address} cannot be bound: {error}"));
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        Ok::<_, Failure>((listener, bound))
    };
    let (protocol, protocol_address) = bind(flags.listen).await?;
    let (health, health_address) = bind(flags.health).await?;
    out!("proxy    http://{protocol_address} for {url}");
    out!("health   http://{health_address}");
    let (ended, end) = watch::channel(());
    let forwarder = Arc::new(forwarder);
    let calls = listen::serve(protocol, end.clone(), move |request| {
        let forwarder = forwarder.clone();
        async move { forwarder.answer(request).await }
    });
    let looks = listen::serve(health, end, move |request| {
        let state = state.clone();
        async move { state.answer(&request) }
    });
    let (calls, looks) = (tokio::spawn(calls), tokio::spawn(looks));
    wait_for_end().await.map_err(|error| Failure::failed(format!("signals cannot be waited for: {error}")))?;
    drop(ended);
    // What is under way has at most its own deadline.
    let _ = tokio::join!(calls, looks);
    Ok(())
}

async fn wait_for_end() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// The host's name, which in a pod is the pod's.
fn host_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { "webhook-proxy".to_owned() } else { name }
}
