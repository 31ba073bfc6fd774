//! Wiring: the only room that may know every other. Opens the store, imports zone files, binds sockets, and ends in order.

mod certified;
pub mod includes;
mod notify;
mod reload;
mod resources;
mod rules;
mod zone_files;

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use listenfd::ListenFd;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::alias::actor::{self, Setup};
use crate::alias::handle::AliasHandle;
use crate::alias::pace::Pace;
use crate::alias::resolver::{Upstreams, is_own, system_upstreams};
use crate::answer::Rules;
use crate::api::{ApiState, Defaults, Part, Readiness, Reloader, STORE_ALARM, Server, Stage, doh};
use crate::clock::Clock;
use crate::config::{Config, HttpTls, PlaceFlags, ServeFlags, Settings};
use crate::control::{self, Handle, Serves, Started};
use crate::net::{Certificates, ConnectionLimits, Encrypted, Inherited, Listeners, LiveRules, Sampler, Serving};
use crate::telemetry;
use crate::telemetry::out;
use crate::wire::name::HashKey;
use crate::zone::alias::AliasBatch;
use reload::Live;

/// Batches of ALIAS answers on their way to the controller.
const ALIAS_BATCHES: usize = 16;
/// How long HTTP requests under way may take once the sockets close.
const DRAIN: Duration = Duration::from_secs(5);

/// How much lower the priority of the runtime's threads is, in steps of `nice`: enough to let UDP go first, and little
/// enough for TCP and writes to have a quarter of a processor that UDP would have whole.
const STEP_BACK: i32 = 5;

/// Runs the server until SIGTERM or SIGINT. The error is a sentence.
pub fn serve(settings: Settings, place: PlaceFlags, flags: ServeFlags) -> Result<(), String> {
    telemetry::start(settings.config.log.format);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .on_thread_start(step_back)
        .build()
        .map_err(|error| format!("the runtime does not start: {error}"))?;
    runtime.block_on(run(settings, place, flags))
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

/// Whether the server could start with this configuration, as far as files beside it tell: secrets, certificates, owner
/// ids. The error is a sentence.
pub fn check(config: &Config) -> Result<(), String> {
    rules::rules(config)?;
    rules::terms(config)?;
    certificates(config).map(|_| ())
}

/// Copies the store of a configuration into a new file; gives back octets and revision. The error is a sentence.
pub async fn backup(config: &Config, to: &std::path::Path) -> Result<(u64, u64), String> {
    let copied = crate::store::backup::copy(&config.store.path, to).await;
    copied.map(|copy| (copy.octets, copy.revision)).map_err(|error| error.at(&config.store.path))
}

/// Puts a copy in the place of the store; gives back its revision, and where the store before is kept, if there was one.
pub async fn restore(config: &Config, from: &std::path::Path) -> Result<(u64, Option<std::path::PathBuf>), String> {
    let restored = crate::store::backup::restore(from, &config.store.path).await;
    restored.map(|(copy, kept)| (copy.revision, kept)).map_err(|error| error.at(from))
}

fn certificates(config: &Config) -> Result<Option<Certificates>, String> {
    let identity = config.tls.identity.as_ref();
    identity.map(|identity| Certificates::load(&identity.certificate, &identity.key)).transpose()
}

async fn run(settings: Settings, place: PlaceFlags, flags: ServeFlags) -> Result<(), String> {
    let config = settings.config.clone();
    let clock = Clock::System;
    let key = HashKey::new(random()?, random()?);
    let database = config.store.path.clone();
    let rules = Arc::new(rules::rules(&config)?);
    let trust = rules.trust.clone();
    let terms = Arc::new(rules::terms(&config)?);
    let certificates = certificates(&config)?;
    let options = control::Options {
        database: database.clone(),
        clock: clock.clone(),
        key,
        trust,
        terms: terms.clone(),
        accept_older_store: flags.accept_older_store,
    };
    // From here on: one that comes while the server starts must not end it.
    let hangup = signal(SignalKind::hangup()).map_err(|error| error.to_string())?;
    // On a thread of the runtime, so that the threads of the store step back too.
    let runtime = tokio::runtime::Handle::current();
    let started = tokio::task::spawn_blocking(move || runtime.block_on(control::start(options)));
    let started = started.await.map_err(|error| error.to_string())?;
    let Started { handle, reader, alarms, serves, task, saver } = started.map_err(|error| error.at(&database))?;
    out!("tenured  {}", env!("CARGO_PKG_VERSION"));
    let revision = handle.published().load().revision;
    match serves {
        Serves::Store => out!("store    {} at revision {revision}", database.display()),
        Serves::LastGood => out!("store    none: the last-good file of revision {revision} is served"),
    }

    let readiness = Readiness::new();
    for (number, alarm) in alarms.iter().enumerate() {
        tracing::warn!("{alarm}");
        readiness.raise(format!("unreadable_row_{}", number + 1), alarm);
    }
    readiness.reach(Stage::SnapshotLoaded);
    watch_store(&handle, &readiness);
    watch_last_good(&handle, &readiness);
    resources::watch(readiness.clone(), &database, clock.clone());
    match (&config.zones, serves) {
        (Some(folder), Serves::Store) => zone_files::import(&handle, folder).await?,
        // Without a store nothing can be imported: the alarm says why, and the next start does it.
        (Some(folder), Serves::LastGood) => tracing::warn!("{} is not imported now", folder.display()),
        (None, Serves::Store | Serves::LastGood) => {}
    }
    readiness.reach(Stage::ZonesImported);

    let publications = Publications::new(&handle);
    let alias = start_alias(&config, &handle, &rules, &clock, &publications)?;
    let serving = Serving {
        published: handle.published(),
        publications: publications.watch(),
        rules: LiveRules::new(Rules::clone(&rules)),
        alias: alias.clone(),
        clock: clock.clone(),
        counters: Arc::default(),
        sampler: Sampler::start(config.log.queries).map_err(|error| format!("no thread for the query log: {error}"))?,
    };
    let encrypted = certificates.clone().map(|certificates| Encrypted {
        certificates,
        dot: config.tls.dot.clone(),
        doq: config.tls.doq.clone(),
    });
    let udp_threads = config.dns.udp_threads.unwrap_or_else(processors);
    let limits = ConnectionLimits {
        all: config.dns.tcp_connections,
        per_client: config.dns.tcp_per_client,
        idle: Duration::from_secs(u64::from(config.dns.tcp_idle)),
    };
    let listeners =
        Listeners::start(&serving, &config.dns.listen, udp_threads, limits, encrypted.as_ref(), inherited()?).map_err(
            |error| {
                let all = [&config.dns.listen[..], &config.tls.dot[..], &config.tls.doq[..]].concat();
                format!("{} cannot be bound: {error}", shown(&all))
            },
        )?;
    let (http, http_address) = bind(config.http.listen).await?;
    if let Some(note) = openly(http_address, config.http.tls) {
        tracing::warn!("{note}");
        readiness.note(note);
    }
    let admin = match config.admin {
        Some(address) => Some(bind(address).await?),
        None => None,
    };
    let https = bind_https(&config, certificates.as_ref(), &listeners).await?;
    readiness.reach(Stage::SocketsBound);

    let readers = reader.clone();
    tokio::spawn(control::schedule::run(handle.clone(), reader.clone(), clock.clone(), rules.trust.clone()));
    let live = Arc::new(Live {
        place,
        flags,
        settings: Mutex::new(settings),
        rules: serving.rules.clone(),
        sampler: serving.sampler.clone(),
        certificates: certificates.clone(),
        lame_duck: Arc::new(AtomicU16::new(config.dns.lame_duck)),
    });
    let reloader = {
        let live = live.clone();
        Reloader::new(move || live.reload())
    };
    let state = ApiState {
        handle: handle.clone(),
        reader,
        alias: Some(alias),
        terms,
        trust: Arc::new(rules.trust.clone()),
        clock: clock.clone(),
        defaults: Defaults { nameservers: config.dns.nameservers.clone() },
        readiness: readiness.clone(),
        counters: serving.counters.clone(),
        external_dns: Default::default(),
        server: Server { reloader: Some(reloader.clone()), sampler: Some(serving.sampler.clone()) },
        record_states: Default::default(),
    };
    let (ended, end) = watch::channel(());
    // The sender goes when the server ends.
    let ends = |mut end: watch::Receiver<()>| async move { drop(end.changed().await) };
    let tls = match (config.http.tls, &certificates) {
        (HttpTls::On, Some(certificates)) => Some(certificates.server_config(&[b"http/1.1"])?),
        (HttpTls::On | HttpTls::Off, _) => None,
    };
    let part = if admin.is_some() { Part::Api } else { Part::All };
    let router = crate::api::router_of(state.clone(), part);
    let api = tokio::spawn(crate::api::serve_by(http, tls, router, ends(end.clone())));
    let admin_address = admin.as_ref().map(|(_, address)| *address);
    if let Some((admin, _)) = admin {
        tokio::spawn(crate::api::serve(admin, crate::api::router_of(state, Part::Admin), ends(end)));
    }
    greet(&config, &handle, &listeners, http_address, admin_address, &https);
    let watching = certificates.map(|certificates| certified::watch(certificates, readiness.clone(), clock.clone()));
    notify::tell("READY=1");
    wait_for_end(hangup, &readiness, &reloader, &live.lame_duck).await?;
    drop(ended);
    for task in https.into_iter().map(|(_, task)| task).chain(watching) {
        task.abort();
    }
    listeners.stop();
    // A client that keeps a request open does not keep the server.
    let _ = tokio::time::timeout(DRAIN, api).await;
    // Readers first: who closes the store last puts all of it into one file.
    let _ = tokio::time::timeout(DRAIN, readers.close()).await;
    handle.stop();
    // What was asked before is committed and answered by then.
    let _ = tokio::time::timeout(DRAIN, task).await;
    let _ = tokio::time::timeout(DRAIN, saver).await;
    Ok(())
}

/// Raises an alarm while the store takes no writes; names are answered all the same.
fn watch_store(handle: &Handle, readiness: &Readiness) {
    let (mut faults, readiness) = (handle.store_fault(), readiness.clone());
    let tell = move |faults: &mut watch::Receiver<Option<String>>| {
        let sentence = |why: &String| format!("the store takes no writes, names are answered as before: {why}");
        let fault = faults.borrow_and_update().as_ref().map(sentence);
        readiness.tell(STORE_ALARM, fault);
    };
    // Before anybody can ask.
    tell(&mut faults);
    tokio::spawn(async move {
        while faults.changed().await.is_ok() {
            tell(&mut faults);
        }
    });
}

/// Raises an alarm while the last-good file cannot be written.
fn watch_last_good(handle: &Handle, readiness: &Readiness) {
    let (mut states, readiness) = (handle.last_good(), readiness.clone());
    tokio::spawn(async move {
        while states.changed().await.is_ok() {
            let failure = states.borrow_and_update().failure.as_ref().map(|why| {
                format!(
                    "the last-good file beside the store cannot be written: {why}; a restart without the store would \
                     answer what the file had before"
                )
            });
            readiness.tell("last_good", failure);
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

/// Sockets for DNS that the supervisor bound (`LISTEN_FDS`).
fn inherited() -> Result<Inherited, String> {
    let mut handed = ListenFd::from_env();
    let mut inherited = Inherited::default();
    for index in 0..handed.len() {
        let failed = |error: std::io::Error| format!("socket {index} of the supervisor cannot be used: {error}");
        // The first question leaves a socket of the other kind where it is.
        match handed.take_udp_socket(index) {
            Ok(Some(socket)) => inherited.udp.push(socket),
            Ok(None) => {}
            Err(_) => inherited.tcp.extend(handed.take_tcp_listener(index).map_err(failed)?),
        }
    }
    Ok(inherited)
}

/// What is said of an API that others can reach without TLS: tokens go over the network as they are.
fn openly(http: SocketAddr, tls: HttpTls) -> Option<String> {
    match tls {
        HttpTls::Off if !http.ip().to_canonical().is_loopback() => Some(format!(
            "the API listens on {http} without TLS: tokens can be read on the way; set http.tls, listen on loopback, or keep \
             the network to itself"
        )),
        HttpTls::Off | HttpTls::On => None,
    }
}

/// Binds a listener of HTTP.
async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), String> {
    let failed = |error: std::io::Error| format!("{address} cannot be bound: {error}");
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// Binds the listeners of DNS over HTTPS, and serves.
async fn bind_https(
    config: &Config,
    certificates: Option<&Certificates>,
    listeners: &Listeners,
) -> Result<Vec<(SocketAddr, JoinHandle<()>)>, String> {
    let mut all = Vec::new();
    let Some(certificates) = certificates else { return Ok(all) };
    let tls = certificates.server_config(&doh::PROTOCOLS)?;
    for address in &config.tls.doh {
        let (listener, address) = bind(*address).await?;
        let serve = doh::serve(listener, tls.clone(), listeners.https.clone(), config.tls.doh_path.clone());
        all.push((address, tokio::spawn(serve)));
    }
    Ok(all)
}

/// Says where it listens, what it serves, and what to try next.
fn greet(
    config: &Config,
    handle: &Handle,
    listeners: &Listeners,
    http: SocketAddr,
    admin: Option<SocketAddr>,
    https: &[(SocketAddr, JoinHandle<()>)],
) {
    let snapshot = handle.published().get();
    let dns = &listeners.addresses;
    out!("zones    {} with {} records", snapshot.zone_count(), snapshot.record_count());
    for address in dns {
        out!("dns      {address} (udp and tcp)");
    }
    for (via, address) in &listeners.encrypted {
        out!("{:<8} {address} (dns over {})", via.text(), via.text());
    }
    for (address, _) in https {
        out!("https    {address} (dns over https, {})", config.tls.doh_path);
    }
    let scheme = match config.http.tls {
        HttpTls::On => "https",
        HttpTls::Off => "http",
    };
    out!("http     {scheme}://{http}");
    if let Some(admin) = admin {
        out!("admin    http://{admin}");
    }
    out!("token    {}", config.store.token_file().display());
    let (host, port) = dns.first().map_or(("127.0.0.1".to_owned(), 53), |one| (one.ip().to_string(), one.port()));
    let apexes = snapshot.zones().map(|zone| zone.apex());
    // A forward zone is the better example.
    match apexes.min_by_key(|apex| (apex.to_string().ends_with(".arpa."), apex.label_count(), (*apex).clone())) {
        Some(apex) => out!("try      dig @{host} -p {port} {} A", apex.to_string().trim_end_matches('.')),
        None => out!("try      tenured zone create example.com"),
    }
}

/// Waits for a signal to end, and with SIGTERM for the lame-duck time too, so that balancers notice. SIGHUP reads the
/// configuration again.
async fn wait_for_end(
    mut hangup: Signal,
    readiness: &Readiness,
    reloader: &Reloader,
    lame_duck: &AtomicU16,
) -> Result<(), String> {
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
    let patience = loop {
        tokio::select! {
            _ = terminate.recv() => break match std::io::stdout().is_terminal() {
                true => Duration::ZERO,
                false => Duration::from_secs(u64::from(lame_duck.load(Ordering::Relaxed))),
            },
            _ = interrupt.recv() => break Duration::ZERO,
            _ = hangup.recv() => if let Err(sentence) = reloader.reload().await {
                tracing::error!("the configuration is not read again: {sentence}");
            },
        }
    };
    readiness.stop();
    notify::tell("STOPPING=1");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_beyond_loopback_without_tls_is_told_of() {
        let said = |address: &str, tls| openly(address.parse().expect("an address"), tls).is_some();
        for (address, is_told) in [
            ("127.0.0.1:1", false),
            ("[::1]:1", false),
            ("[::ffff:127.0.0.1]:1", false),
            ("0.0.0.0:1", true),
            ("192.0.2.1:1", true),
            ("[::]:1", true),
        ] {
            assert_eq!(said(address, HttpTls::Off), is_told, "{address}");
            assert!(!said(address, HttpTls::On), "{address}");
        }
    }
}
