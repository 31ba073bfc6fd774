//! Wiring: the only room that may know every other. Opens the store, imports zone files, binds sockets, and ends in order.

pub mod includes;
mod rules;
mod zone_files;

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

use crate::alias::actor::{self, Setup};
use crate::alias::handle::AliasHandle;
use crate::alias::pace::Pace;
use crate::alias::resolver::{Upstreams, is_own, system_upstreams};
use crate::api::{ApiState, Defaults, Readiness, Stage};
use crate::clock::Clock;
use crate::config::Config;
use crate::control::{self, Handle, Started};
use crate::net::{ConnectionLimits, Listeners, Serving};
use crate::telemetry;
use crate::telemetry::out;
use crate::wire::name::HashKey;
use crate::zone::alias::AliasBatch;

/// Batches of ALIAS answers on their way to the controller.
const ALIAS_BATCHES: usize = 16;
/// How long a server that was told to end goes on answering, so that balancers notice (operations.md section 3).
const LAME_DUCK: Duration = Duration::from_secs(5);
/// How long HTTP requests under way may take once the sockets close.
const DRAIN: Duration = Duration::from_secs(5);

/// How much lower the priority of the runtime's threads is, in steps of `nice`: enough to let UDP go first, and little
/// enough for TCP and writes to have a quarter of a processor that UDP would have whole.
const STEP_BACK: i32 = 5;

/// Runs the server until SIGTERM or SIGINT. The error is a sentence.
pub fn serve(config: Config) -> Result<(), String> {
    telemetry::start(config.log.format);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .on_thread_start(step_back)
        .build()
        .map_err(|error| format!("the runtime does not start: {error}"))?;
    runtime.block_on(run(config))
}

/// Lets the threads of UDP, which are not the runtime's, go first where there are fewer processors than threads: a large
/// write would else hold queries up for a whole slice of time. Threads that the runtime's start, as those of the store,
/// step back with them.
fn step_back() {
    const LEAST: i32 = 19;
    let Ok(now) = rustix::process::getpriority_process(None) else { return };
    // Without it answers are as right, and a little later.
    let _ = rustix::process::setpriority_process(None, (now + STEP_BACK).min(LEAST));
}

async fn run(config: Config) -> Result<(), String> {
    let clock = Clock::System;
    let key = HashKey::new(random()?, random()?);
    let database = config.store.path.clone();
    let rules = Arc::new(rules::rules(&config)?);
    let trust = rules.trust.clone();
    let terms = Arc::new(rules::terms(&config)?);
    let options =
        control::Options { database: database.clone(), clock: clock.clone(), key, trust, terms: terms.clone() };
    // On a thread of the runtime, so that the threads of the store step back too.
    let runtime = tokio::runtime::Handle::current();
    let started = tokio::task::spawn_blocking(move || runtime.block_on(control::start(options)));
    let started = started.await.map_err(|error| error.to_string())?;
    let Started { handle, reader, alarms, task } = started.map_err(|error| error.at(&database))?;
    out!("tenured  {}", env!("CARGO_PKG_VERSION"));
    out!("store    {} at revision {}", database.display(), handle.published().load().revision);

    let readiness = Readiness::new();
    for (number, alarm) in alarms.iter().enumerate() {
        tracing::warn!("{alarm}");
        readiness.raise(format!("unreadable_row_{}", number + 1), alarm);
    }
    readiness.reach(Stage::SnapshotLoaded);
    watch_store(&handle, &readiness);
    if let Some(folder) = &config.zones {
        zone_files::import(&handle, folder).await?;
    }
    readiness.reach(Stage::ZonesImported);

    let publications = Publications::new(&handle);
    let alias = start_alias(&config, &handle, &rules, &clock, &publications)?;
    let serving = Serving {
        published: handle.published(),
        publications: publications.watch(),
        rules: rules.clone(),
        alias: alias.clone(),
        clock: clock.clone(),
        counters: Arc::default(),
    };
    let udp_threads = config.dns.udp_threads.unwrap_or_else(processors);
    let limits = ConnectionLimits {
        all: config.dns.tcp_connections,
        per_client: config.dns.tcp_per_client,
        idle: Duration::from_secs(u64::from(config.dns.tcp_idle)),
    };
    let listeners = Listeners::start(&serving, &config.dns.listen, udp_threads, limits)
        .map_err(|error| format!("{} cannot be bound: {error}", shown(&config.dns.listen)))?;
    let http = tokio::net::TcpListener::bind(config.http.listen)
        .await
        .map_err(|error| format!("{} cannot be bound: {error}", config.http.listen))?;
    let http_address = http.local_addr().map_err(|error| error.to_string())?;
    readiness.reach(Stage::SocketsBound);

    tokio::spawn(control::schedule::run(handle.clone(), reader.clone(), clock.clone(), rules.trust.clone()));
    let state = ApiState {
        handle: handle.clone(),
        reader,
        alias: Some(alias),
        terms,
        trust: Arc::new(rules.trust.clone()),
        clock,
        defaults: Defaults { nameservers: config.dns.nameservers.clone() },
        readiness: readiness.clone(),
        counters: serving.counters.clone(),
        external_dns: Default::default(),
        record_states: Default::default(),
    };
    let (ended, mut end) = watch::channel(());
    let api = tokio::spawn(crate::api::serve(http, crate::api::router(state), async move {
        // The sender goes when the server ends.
        let _ = end.changed().await;
    }));
    greet(&config, &handle, &listeners.addresses, http_address);
    wait_for_end(&readiness).await?;
    drop(ended);
    listeners.stop();
    // A client that keeps a request open does not keep the server.
    let _ = tokio::time::timeout(DRAIN, api).await;
    handle.stop();
    // What was asked before is committed and answered by then.
    let _ = tokio::time::timeout(DRAIN, task).await;
    Ok(())
}

/// Raises an alarm while the store takes no writes; names are answered all the same.
fn watch_store(handle: &Handle, readiness: &Readiness) {
    const ALARM: &str = "store_unavailable";
    let (mut faults, readiness) = (handle.store_fault(), readiness.clone());
    tokio::spawn(async move {
        while faults.changed().await.is_ok() {
            match faults.borrow_and_update().as_ref() {
                Some(why) => {
                    let sentence = format!("the store takes no writes, names are answered as before: {why}");
                    tracing::error!("alarm {ALARM}: {sentence}");
                    readiness.raise(ALARM, sentence);
                }
                None => {
                    tracing::info!("alarm {ALARM} is over");
                    readiness.clear(ALARM);
                }
            }
        }
    });
}

/// Tells whoever waits of each publication: commits and ALIAS answers alike.
struct Publications(Arc<watch::Sender<u64>>);

impl Publications {
    fn new(handle: &Handle) -> Publications {
        let sender = Arc::new(watch::Sender::new(0));
        let mut revisions = handle.revisions();
        let forward = Arc::downgrade(&sender);
        tokio::spawn(async move {
            while revisions.changed().await.is_ok() {
                let Some(sender) = forward.upgrade() else { return };
                sender.send_modify(|count| *count += 1);
            }
        });
        Publications(sender)
    }

    fn watch(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}

/// Starts the ALIAS engine and hands its answers to the controller.
fn start_alias(
    config: &Config,
    handle: &Handle,
    rules: &crate::answer::Rules,
    clock: &Clock,
    publications: &Publications,
) -> Result<AliasHandle, String> {
    let own = &config.dns.listen;
    let default = match &config.alias.upstreams {
        Some(servers) => servers.clone(),
        None => system_upstreams(own),
    };
    let groups: Vec<Vec<SocketAddr>> = std::iter::once(default).chain(config.alias.groups.values().cloned()).collect();
    if let Some(server) = groups.iter().flatten().find(|server| is_own(**server, own)) {
        return Err(format!(
            "the upstream {server} is an address of this server: ALIAS targets would be asked of itself"
        ));
    }
    let upstreams = Upstreams::new(&groups).map_err(|error| format!("the upstreams cannot be used: {error}"))?;
    let setup = Setup {
        clock: clock.clone(),
        published: handle.published(),
        revisions: handle.revisions(),
        trust: rules.trust.clone(),
        lookups: config.alias.lookups,
        pace: Pace {
            owner_rate: config.alias.owner_rate,
            owner_burst: config.alias.owner_burst,
            probe_interval: config.alias.probe_interval,
            ..Pace::default()
        },
        seed: random()?,
    };
    let (batches, mut received) = mpsc::channel::<AliasBatch>(ALIAS_BATCHES);
    let (alias, _task) = actor::spawn(upstreams, setup, batches);
    let (handle, publications) = (handle.clone(), publications.0.clone());
    tokio::spawn(async move {
        while let Some(batch) = received.recv().await {
            if !handle.publish_alias(batch).await {
                return;
            }
            publications.send_modify(|count| *count += 1);
        }
    });
    Ok(alias)
}

/// Says where it listens, what it serves, and what to try next.
fn greet(config: &Config, handle: &Handle, dns: &[SocketAddr], http: SocketAddr) {
    let snapshot = handle.published().get();
    out!("zones    {} with {} records", snapshot.zone_count(), snapshot.record_count());
    for address in dns {
        out!("dns      {address} (udp and tcp)");
    }
    out!("http     http://{http}");
    out!("token    {}", config.store.token_file().display());
    let (host, port) = dns.first().map_or(("127.0.0.1".to_owned(), 53), |one| (one.ip().to_string(), one.port()));
    let apexes = snapshot.zones().map(|zone| zone.apex());
    // A forward zone is the better example.
    match apexes.min_by_key(|apex| (apex.to_string().ends_with(".arpa."), apex.label_count(), (*apex).clone())) {
        Some(apex) => out!("try      dig @{host} -p {port} {} A", apex.to_string().trim_end_matches('.')),
        None => out!("try      tenured zone create example.com"),
    }
}

/// Waits for a signal to end, and with SIGTERM for the lame-duck time too.
async fn wait_for_end(readiness: &Readiness) -> Result<(), String> {
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
    let patience = tokio::select! {
        _ = terminate.recv() => if std::io::stdout().is_terminal() { Duration::ZERO } else { LAME_DUCK },
        _ = interrupt.recv() => Duration::ZERO,
    };
    readiness.stop();
    tracing::info!("told to end: answers for {} s more", patience.as_secs());
    tokio::select! {
        () = tokio::time::sleep(patience) => {}
        // A second signal means now.
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn shown(addresses: &[SocketAddr]) -> String {
    addresses.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(", ")
}

/// A number from the operating system.
fn random() -> Result<u64, String> {
    getrandom::u64().map_err(|error| format!("the system gives no random numbers: {error}"))
}
