//! Asks upstream resolvers for the addresses of a target: the only file that names hickory-resolver.
//!
//! Each upstream has a resolver of its own without cache, hosts file, search list and retries: failing over, hedging
//! and resting are here, because a pool of its own stops at the first SERVFAIL (alias.md sections 3.4 and 3.5).

use std::collections::VecDeque;
use std::future::Future;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ServerOrderingStrategy,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use hickory_resolver::proto::serialize::binary::BinEncodable;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::closed::Port;
use super::engine::MAX_IN_FLIGHT;
use super::lookup::{Answer, Ask, Failure, Outcome, Upstream};
use super::measures::{Tally, UpstreamQueries};
use super::servers::{MAX_UPSTREAMS, Servers, Standing};
use crate::wire::name::Name as WireName;
use crate::zone::alias::{Family, Group, MAX_STEPS, TargetKey};

/// Longest wait for one server.
const TRY: Duration = Duration::from_secs(1);
/// Longest lookup, all servers taken together.
const LOOKUP: Duration = Duration::from_secs(3);
/// Most requests at once on a TCP connection to a server.
const MAX_PER_CONNECTION: usize = 1_024;
/// Most tries at once of a server that rests: it costs what a live one costs, and for nothing.
const MAX_TRIALS: usize = 64;
/// Octets of a UDP answer that servers are told to keep to (DNS flag day 2020).
const UDP_SIZE: u16 = 1_232;

/// Something that answers lookups: the upstreams, or a test's script.
pub trait Resolve: Send + Sync + 'static {
    /// How many upstreams each group has, by [`Group`].
    fn upstreams(&self) -> Vec<usize>;

    /// How many lookups may be made at once.
    fn at_once(&self) -> usize {
        MAX_IN_FLIGHT
    }

    /// Where an upstream is, for people.
    fn address(&self, group: Group, upstream: Upstream) -> Option<SocketAddr> {
        let _ = (group, upstream);
        None
    }

    /// How many queries went to the upstreams, for people.
    fn queries(&self) -> Vec<UpstreamQueries> {
        Vec::new()
    }

    /// Asks for a family of a target. It ends by itself within seconds.
    fn lookup(&self, target: &TargetKey, family: Family, ask: Ask) -> impl Future<Output = Answer> + Send;
}

/// Why upstreams cannot be used.
#[derive(Debug)]
pub struct UpstreamError(NetError);

impl std::fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the upstream resolvers cannot be set up: {}", self.0)
    }
}

impl std::error::Error for UpstreamError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// All groups of upstreams.
#[derive(Debug)]
pub struct Upstreams {
    groups: Vec<Members>,
    at_once: usize,
}

/// The upstreams of a group.
struct Members {
    resolvers: Vec<TokioResolver>,
    addresses: Vec<SocketAddr>,
    servers: Mutex<Servers>,
    /// What each said.
    tallies: Vec<Tally>,
    ports: Vec<Arc<Port>>,
    /// Room for tries of each while it rests.
    trials: Vec<Arc<Semaphore>>,
    began: Instant,
}

impl std::fmt::Debug for Members {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Members").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

impl Upstreams {
    /// Of these groups, each with at most eight servers; none is a state too: nothing outside is resolved then.
    pub fn new(groups: &[Vec<SocketAddr>]) -> Result<Upstreams, UpstreamError> {
        let groups = groups.iter().map(|servers| Members::new(servers)).collect::<Result<Vec<_>, _>>()?;
        let at_once = lookups_that_files_admit(std::fs::read_to_string("/proc/self/limits").ok().as_deref());
        Ok(Upstreams { groups, at_once })
    }
}

impl Resolve for Upstreams {
    fn upstreams(&self) -> Vec<usize> {
        self.groups.iter().map(|group| group.resolvers.len()).collect()
    }

    fn at_once(&self) -> usize {
        self.at_once
    }

    fn address(&self, group: Group, upstream: Upstream) -> Option<SocketAddr> {
        self.groups.get(usize::from(group.0))?.addresses.get(usize::from(upstream.0)).copied()
    }

    fn queries(&self) -> Vec<UpstreamQueries> {
        let of_group = |group: &Members| {
            let of_each = group.addresses.iter().zip(&group.tallies);
            let all = of_each.flat_map(|(upstream, tally)| {
                tally.counts().map(|(said, count)| UpstreamQueries { upstream: *upstream, said, count })
            });
            all.collect::<Vec<_>>()
        };
        self.groups.iter().flat_map(of_group).collect()
    }

    async fn lookup(&self, target: &TargetKey, family: Family, ask: Ask) -> Answer {
        match self.groups.get(usize::from(target.group.0)) {
            Some(group) => group.lookup(&target.name, family, ask).await,
            None => Answer::direct(None, Outcome::Failed(Failure::NoResolver)),
        }
    }
}

impl Members {
    fn new(addresses: &[SocketAddr]) -> Result<Members, UpstreamError> {
        let addresses: Vec<SocketAddr> = addresses.iter().copied().take(MAX_UPSTREAMS).collect();
        let resolvers = addresses.iter().map(|one| resolver(*one)).collect::<Result<Vec<_>, _>>();
        Ok(Members {
            resolvers: resolvers.map_err(UpstreamError)?,
            servers: Mutex::new(Servers::new(addresses.len())),
            tallies: addresses.iter().map(|_| Tally::default()).collect(),
            ports: addresses.iter().map(|one| Arc::new(Port::new(*one))).collect(),
            trials: addresses.iter().map(|_| Arc::new(Semaphore::new(MAX_TRIALS))).collect(),
            addresses,
            began: Instant::now(),
        })
    }

    fn servers<R>(&self, change: impl FnOnce(&mut Servers, Duration) -> R) -> R {
        let now = self.began.elapsed();
        // Nothing panics while it holds the lock, and figures on servers are of use even if something had.
        change(&mut self.servers.lock().unwrap_or_else(PoisonError::into_inner), now)
    }

    async fn lookup(&self, target: &WireName, family: Family, ask: Ask) -> Answer {
        let Ok(name) = Name::from_labels(target.labels()) else {
            return Answer::direct(None, Outcome::Failed(Failure::ServFail));
        };
        let mut waiting: VecDeque<Upstream> = self.servers(|servers, now| servers.order(ask, now)).into();
        let mut last = Answer::direct(None, Outcome::Failed(Failure::NoResolver));
        let deadline = Instant::now() + LOOKUP;
        // Dropping the set ends the tries that are still on their way.
        let mut tries: JoinSet<(Upstream, Duration, Answer)> = JoinSet::new();
        let mut running: Vec<(Upstream, Instant)> = Vec::new();
        let mut hedge = Instant::now();
        loop {
            if tries.is_empty() && waiting.is_empty() {
                return last;
            }
            if tries.is_empty() {
                hedge = Instant::now();
            }
            tokio::select! {
                biased;
                Some(done) = tries.join_next() => {
                    let Ok((upstream, took, answer)) = done else { continue };
                    running.retain(|(one, _)| *one != upstream);
                    if let Some(tally) = self.tallies.get(usize::from(upstream.0)) {
                        tally.count(&answer.outcome);
                    }
                    match &answer.outcome {
                        Outcome::Failed(Failure::Timeout) => {
                            let standing = self.servers(|servers, now| servers.failed(upstream, now));
                            // The packet may have been lost; whoever did not say no is asked again while there is time,
                            // but not one that has said nothing to many.
                            if standing == Standing::Fit {
                                waiting.push_back(upstream);
                            }
                        }
                        Outcome::Failed(Failure::Network | Failure::NoResolver | Failure::RateLimited) => {
                            self.servers(|servers, now| servers.failed(upstream, now));
                        }
                        Outcome::Failed(Failure::ServFail | Failure::Refused) => {
                            self.servers(|servers, _| servers.answered(upstream, took));
                        }
                        Outcome::Addresses { .. }
                        | Outcome::NoData { .. }
                        | Outcome::NameError { .. }
                        | Outcome::Loop
                        | Outcome::ChainTooLong => {
                            self.servers(|servers, _| {
                                servers.answered(upstream, took);
                                for (overtaken, since) in &running {
                                    servers.overtaken(*overtaken, since.elapsed());
                                }
                            });
                            return Answer { upstream: Some(upstream), ..answer };
                        }
                    }
                    last = Answer { upstream: Some(upstream), ..answer };
                    hedge = Instant::now();
                }
                () = sleep_until(deadline) => {
                    // Nobody has answered or failed so far: they are all slow.
                    let late = Answer::direct(None, Outcome::Failed(Failure::Timeout));
                    return if last.upstream.is_some() { last } else { late };
                }
                () = sleep_until(hedge), if !waiting.is_empty() => {
                    if let Some(upstream) = waiting.pop_front()
                        && let Some(resolver) = self.resolvers.get(usize::from(upstream.0))
                        && let Some(port) = self.ports.get(usize::from(upstream.0)).cloned()
                    {
                        let (resolver, name) = (resolver.clone(), name.clone());
                        running.push((upstream, Instant::now()));
                        let standing = self.servers(|servers, now| servers.standing(upstream, now));
                        let trials = self.trials.get(usize::from(upstream.0)).filter(|_| standing == Standing::Rests);
                        let trials = trials.cloned();
                        tries.spawn(async move {
                            // A server that says nothing is asked by some; the others wait for what becomes of those.
                            let _room = match trials {
                                Some(trials) => trials.acquire_owned().await.ok(),
                                None => None,
                            };
                            let began = Instant::now();
                            let answer = tokio::select! {
                                answer = ask_one(&resolver, name, family) => answer,
                                () = port.closed() => Answer::direct(None, Outcome::Failed(Failure::Network)),
                            };
                            (upstream, began.elapsed(), answer)
                        });
                        hedge = Instant::now() + self.servers(|servers, _| servers.hedge_after(upstream));
                    }
                }
            }
        }
    }
}

/// How many lookups a quarter of the files admits that the process may open, since each has a socket, or two with its
/// hedge, and clients' connections need theirs. `limits` is the text of Linux's `/proc/self/limits`.
fn lookups_that_files_admit(limits: Option<&str>) -> usize {
    let soft = limits
        .and_then(|text| text.lines().find_map(|line| line.strip_prefix("Max open files")))
        .and_then(|values| values.split_whitespace().next())
        .and_then(|soft| soft.parse::<usize>().ok());
    soft.map_or(MAX_IN_FLIGHT, |soft| (soft / 4).clamp(1, MAX_IN_FLIGHT))
}

/// A resolver of one server.
fn resolver(address: SocketAddr) -> Result<TokioResolver, NetError> {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
        connection.port = address.port();
        connection
    });
    let server = NameServerConfig::new(address.ip(), true, connections.into());
    let config = ResolverConfig::from_name_servers(vec![server]);
    let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
    let options = builder.options_mut();
    options.timeout = TRY;
    options.attempts = 0;
    options.num_concurrent_reqs = 1;
    options.server_ordering_strategy = ServerOrderingStrategy::UserProvidedOrder;
    // Its cache gives back TTLs that have shrunk, and would hide an upstream that changed its mind.
    options.cache_size = 0;
    options.use_hosts_file = ResolveHosts::Never;
    options.edns0 = true;
    options.edns_payload_len = UDP_SIZE;
    options.case_randomization = true;
    options.max_active_requests = MAX_PER_CONNECTION;
    // Without the CNAMEs between there is no telling a loop, nor the lowest TTL.
    options.preserve_intermediates = true;
    builder.build()
}

/// Asks one server.
async fn ask_one(resolver: &TokioResolver, name: Name, family: Family) -> Answer {
    let rtype = match family {
        Family::A => RecordType::A,
        Family::Aaaa => RecordType::AAAA,
    };
    let mut chain = Chain::new(name);
    let said = match resolver.lookup(chain.end.clone(), rtype).await {
        Ok(lookup) => match chain.follow(lookup.answers(), rtype) {
            End::Outcome(outcome) => Said::plain(outcome),
            End::Name => step_by_step(resolver, &mut chain, rtype).await,
        },
        // A negative answer without SOA may be the end of a chain that was followed over several answers and given
        // up; what it is is asked step by step.
        Err(NetError::Dns(DnsError::NoRecordsFound(none)))
            if none.response_code == ResponseCode::NoError && none.soa.is_none() =>
        {
            step_by_step(resolver, &mut chain, rtype).await
        }
        Err(error) => negative(&error),
    };
    let Said { outcome, authority } = said;
    Answer { authority, chain: chain.names(), ..Answer::direct(None, outcome) }
}

/// What a server said, and in a negative answer the owner of its SOA.
struct Said {
    outcome: Outcome,
    authority: Option<WireName>,
}

impl Said {
    fn plain(outcome: Outcome) -> Said {
        Said { outcome, authority: None }
    }
}

/// Follows a chain by asking for the CNAME of each name in it, and then for the addresses of the last.
async fn step_by_step(resolver: &TokioResolver, chain: &mut Chain, rtype: RecordType) -> Said {
    let mut asked = false;
    loop {
        match resolver.lookup(chain.end.clone(), RecordType::CNAME).await {
            Ok(lookup) => {
                let before = chain.met.len();
                match chain.follow(lookup.answers(), rtype) {
                    End::Outcome(outcome) => return Said::plain(outcome),
                    End::Name if chain.met.len() == before => break,
                    End::Name => asked = true,
                }
            }
            Err(NetError::Dns(DnsError::NoRecordsFound(none))) if none.response_code == ResponseCode::NoError => break,
            Err(error) => return negative(&error),
        }
    }
    if !asked && chain.met.len() == 1 {
        return Said::plain(Outcome::NoData { ttl: None });
    }
    match resolver.lookup(chain.end.clone(), rtype).await {
        Ok(lookup) => match chain.follow(lookup.answers(), rtype) {
            End::Outcome(outcome) => Said::plain(outcome),
            End::Name => Said::plain(Outcome::NoData { ttl: None }),
        },
        Err(error) => negative(&error),
    }
}

/// A chain from a target, as far as it has been followed.
struct Chain {
    /// All names met, the target first.
    met: Vec<Name>,
    end: Name,
    /// Lowest TTL of its CNAMEs in seconds.
    ttl: u32,
}

/// Where the answer section of a message leads a chain.
enum End {
    /// To what the lookup is about.
    Outcome(Outcome),
    /// To a name that the section does not say more of.
    Name,
}

impl Chain {
    fn new(name: Name) -> Chain {
        Chain { met: vec![name.clone()], end: name, ttl: u32::MAX }
    }

    /// The names behind the target.
    fn names(&self) -> Vec<WireName> {
        self.met[1..].iter().filter_map(in_wire_form).collect()
    }

    /// Goes on along the records of an answer section, whatever their order; records beside the chain do not count.
    fn follow(&mut self, answers: &[Record], rtype: RecordType) -> End {
        loop {
            let here = || answers.iter().filter(|record| record.name == self.end);
            let mut octets = Vec::new();
            let mut ttl = self.ttl;
            for record in here().filter(|record| record.record_type() == rtype) {
                match &record.data {
                    RData::A(address) => octets.extend_from_slice(&address.octets()),
                    RData::AAAA(address) => octets.extend_from_slice(&address.octets()),
                    _ => continue,
                }
                ttl = ttl.min(record.ttl);
            }
            if !octets.is_empty() {
                return End::Outcome(Outcome::Addresses { octets, ttl });
            }
            let next = here().find_map(|record| match &record.data {
                RData::CNAME(target) => Some((target.0.clone(), record.ttl)),
                _ => None,
            });
            let Some((target, ttl)) = next else { return End::Name };
            if self.met.contains(&target) {
                return End::Outcome(Outcome::Loop);
            }
            if self.met.len() > MAX_STEPS {
                return End::Outcome(Outcome::ChainTooLong);
            }
            self.ttl = self.ttl.min(ttl);
            self.met.push(target.clone());
            self.end = target;
        }
    }
}

/// What an error of the resolver says. NXDOMAIN and NODATA are one error there, told apart by the response code.
fn negative(error: &NetError) -> Said {
    let outcome = match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NXDomain => Outcome::NameError { ttl: none.negative_ttl },
            ResponseCode::NoError => Outcome::NoData { ttl: none.negative_ttl },
            ResponseCode::Refused => Outcome::Failed(Failure::Refused),
            _ => Outcome::Failed(Failure::ServFail),
        },
        NetError::Dns(DnsError::ResponseCode(ResponseCode::Refused)) => Outcome::Failed(Failure::Refused),
        NetError::Timeout => Outcome::Failed(Failure::Timeout),
        NetError::Io(_) | NetError::NoConnections | NetError::Busy => Outcome::Failed(Failure::Network),
        // Other codes, and messages that make no sense.
        _ => Outcome::Failed(Failure::ServFail),
    };
    let authority = match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => none.soa.as_ref().and_then(|soa| in_wire_form(&soa.name)),
        _ => None,
    };
    Said { outcome, authority }
}

fn in_wire_form(name: &Name) -> Option<WireName> {
    name.to_bytes().ok().and_then(|wire| WireName::from_wire(&wire).ok())
}

/// The host's resolvers (`/etc/resolv.conf` on Unix) without those that are listeners of our own; none if the host
/// has none, which is no error: hosted targets are answered all the same.
pub fn system_upstreams(own: &[SocketAddr]) -> Vec<SocketAddr> {
    let Ok((config, _)) = hickory_resolver::system_conf::read_system_conf() else { return Vec::new() };
    without_own(
        config.name_servers().iter().map(|server| {
            let port = server.connections.first().map_or(53, |connection| connection.port);
            SocketAddr::new(server.ip, port)
        }),
        own,
    )
}

fn without_own(servers: impl Iterator<Item = SocketAddr>, own: &[SocketAddr]) -> Vec<SocketAddr> {
    let mut kept: Vec<SocketAddr> = Vec::new();
    for server in servers.filter(|server| !is_own(*server, own)) {
        if !kept.contains(&server) {
            kept.push(server);
        }
    }
    kept.truncate(MAX_UPSTREAMS);
    kept
}

/// Whether a server is one of these listeners: the same address and port, or an address of this host where a listener
/// takes all of them.
pub fn is_own(server: SocketAddr, own: &[SocketAddr]) -> bool {
    own.iter().filter(|listener| listener.port() == server.port()).any(|listener| {
        listener.ip() == server.ip()
            || server.ip().is_unspecified()
            || (listener.ip().is_unspecified() && is_local(server.ip()))
    })
}

/// Only addresses of this host can be bound.
fn is_local(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

/// A shared resolver is as good as one's own.
impl<R: Resolve> Resolve for Arc<R> {
    fn upstreams(&self) -> Vec<usize> {
        R::upstreams(self)
    }

    fn address(&self, group: Group, upstream: Upstream) -> Option<SocketAddr> {
        R::address(self, group, upstream)
    }

    fn at_once(&self) -> usize {
        R::at_once(self)
    }

    fn queries(&self) -> Vec<UpstreamQueries> {
        R::queries(self)
    }

    fn lookup(&self, target: &TargetKey, family: Family, ask: Ask) -> impl Future<Output = Answer> + Send {
        R::lookup(self, target, family, ask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address with a port")
    }

    #[test]
    fn own_listeners_are_no_upstreams() {
        let own = [at("127.0.0.1:53"), at("[::]:5300")];
        for (server, wanted) in [
            ("127.0.0.1:53", true),
            ("127.0.0.1:5353", false),
            ("192.0.2.53:53", false),
            ("[::1]:5300", true),
            ("127.0.0.1:5300", true),
            ("192.0.2.53:5300", false),
        ] {
            assert_eq!(is_own(at(server), &own), wanted, "{server}");
        }
        let servers = ["192.0.2.53:53", "127.0.0.1:53", "192.0.2.53:53", "[2001:db8::53]:53"].map(at);
        assert_eq!(without_own(servers.into_iter(), &own), [at("192.0.2.53:53"), at("[2001:db8::53]:53")]);
    }

    #[test]
    fn lookups_keep_to_a_quarter_of_the_files() {
        let limits =
            |soft: &str| format!("Limit  Soft Limit  Hard Limit  Units\nMax open files   {soft}   65536   files\n");
        assert_eq!(lookups_that_files_admit(Some(&limits("1024"))), 256);
        assert_eq!(lookups_that_files_admit(Some(&limits("65536"))), MAX_IN_FLIGHT);
        assert_eq!(lookups_that_files_admit(Some(&limits("unlimited"))), MAX_IN_FLIGHT);
        assert_eq!(lookups_that_files_admit(None), MAX_IN_FLIGHT);
    }
}
