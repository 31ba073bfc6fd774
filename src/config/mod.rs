//! What the server is told: TOML < environment < flags. `layer` has the keys, `read` their bounds, `sources` says where
//! each value comes from; an unknown key or a bad value names its file and line, its variable, or its flag.

mod alias;
mod layer;
mod read;
mod sources;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use serde::{Deserialize, Serialize};

pub use alias::{Alias, EdeText, Targets};
pub use sources::{Difference, Effect, Entry, Settings};

use crate::answer::rate::Network;
use crate::wire::name::Name;

/// The configuration file that is read if it is there and no other one is named.
pub const DEFAULT_FILE: &str = "tenured.toml";
/// The store if none is named.
pub const DEFAULT_STORE: &str = "tenured.db";
/// Largest configuration file, in octets.
pub const MAX_FILE: u64 = 1024 * 1024;
/// Port of the DNS (RFC 1035 section 4.2).
const DNS_PORT: u16 = 53;
/// Port of DNS by default: unlike 53 it needs no privilege.
const DEFAULT_DNS_PORT: u16 = 5300;
/// Port of DNS over TLS and QUIC (RFC 7858 section 3.1, RFC 9250 section 4.1.1).
const TLS_PORT: u16 = 853;
/// Port of DNS over HTTPS (RFC 8484 section 8.1).
const DOH_PORT: u16 = 443;
/// Port of HTTP by default.
pub const DEFAULT_HTTP_PORT: u16 = 8053;

/// All that `serve` is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Section `dns`.
    pub dns: Dns,
    /// Section `http`.
    pub http: Http,
    /// Section `store`.
    pub store: Store,
    /// `zones.directory`: a folder of zone files to import.
    pub zones: Option<PathBuf>,
    /// Section `alias`.
    pub alias: Alias,
    /// `admin.listen`: a listener of its own for health and metrics; none means that of `http`.
    pub admin: Option<SocketAddr>,
    /// Section `tls`.
    pub tls: Tls,
    /// Section `log`.
    pub log: Log,
}

/// The DNS listeners and what they answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dns {
    /// Addresses for UDP and TCP, at least one.
    pub listen: Vec<SocketAddr>,
    /// Threads for UDP; none means as many as there are processors.
    pub udp_threads: Option<usize>,
    /// Largest UDP answer in octets, 512 to 4096.
    pub edns_size: u16,
    /// Most TCP connections.
    pub tcp_connections: usize,
    /// Most TCP connections from one IPv4 address or IPv6 /64; none means 100, with loopback addresses exempt.
    pub tcp_per_client: Option<usize>,
    /// Seconds that a TCP connection may be idle; above half of all connections at most 10.
    pub tcp_idle: u16,
    /// Name server identifier (RFC 5001); none answers without.
    pub nsid: Option<String>,
    /// Answer to `version.bind` (RFC 4892); none refuses the question.
    pub version: Option<String>,
    /// What ANY gets.
    pub any: AnyAnswer,
    /// DNS cookies.
    pub cookies: Cookies,
    /// Response rate limiting.
    pub rrl: Rrl,
    /// Our own names, for zones made without any.
    pub nameservers: Vec<Name>,
    /// Seconds that a server goes on answering when SIGTERM tells it to end; at a terminal it is 0.
    pub lame_duck: u16,
}

/// What a query of type ANY gets (RFC 8482).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AnyAnswer {
    /// One RRset.
    #[default]
    Minimal,
    /// All.
    Full,
}

/// DNS cookies (RFC 7873, RFC 9018).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cookies {
    /// Whether UDP clients without a valid cookie are sent to TCP.
    pub enforce: bool,
    /// The file with the secret that several servers share; none makes one at each start.
    pub secret_file: Option<PathBuf>,
    /// The secret itself, in the form of that file.
    pub secret: Option<String>,
}

/// Response rate limiting (answers.md W1-W5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rrl {
    /// Like replies a second to one network; 0 limits nothing.
    pub rate: u32,
    /// Networks that are not limited.
    pub exempt: Vec<Network>,
}

/// The HTTP listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Http {
    /// Its address.
    pub listen: SocketAddr,
    /// Whether it speaks TLS, with the certificate of section `tls`.
    pub tls: HttpTls,
}

/// Whether the HTTP listener speaks TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpTls {
    /// It does not.
    #[default]
    Off,
    /// It speaks nothing else.
    On,
}

/// Encrypted transports of DNS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Files of the certificate chain and of its key, PEM both; there if anything needs them.
    pub identity: Option<Identity>,
    /// Addresses for DNS over TLS (RFC 7858).
    pub dot: Vec<SocketAddr>,
    /// Addresses for DNS over QUIC (RFC 9250).
    pub doq: Vec<SocketAddr>,
    /// Addresses for DNS over HTTPS (RFC 8484).
    pub doh: Vec<SocketAddr>,
    /// The path of DNS over HTTPS.
    pub doh_path: String,
}

/// Where a certificate is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The chain, the server's own certificate first.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// The store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// The database file.
    pub path: PathBuf,
}

impl Store {
    /// The file with the first token: `<database>.token`.
    pub fn token_file(&self) -> PathBuf {
        let mut file = self.path.clone().into_os_string();
        file.push(".token");
        PathBuf::from(file)
    }
}

/// The log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Its form.
    pub format: LogFormat,
    /// One query in so many is logged; 0 logs none.
    pub queries: u32,
}

/// Form of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For machines.
    Json,
}

/// Where the configuration file and the store are: flags of `serve` and of all client commands.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceFlags {
    /// Configuration file [default: tenured.toml, if it is there]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Database file; its token file tells client commands their token [default: tenured.db]
    #[arg(long, global = true, value_name = "FILE")]
    pub db: Option<PathBuf>,
}

/// Flags of `serve` alone.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct ServeFlags {
    /// Import each *.zone file of this folder whose zone is not in the store yet
    #[arg(long, value_name = "DIR")]
    pub zones: Option<PathBuf>,
    /// Address for DNS over UDP and TCP; may repeat [default: 127.0.0.1:5300]
    #[arg(long, value_name = "ADDR", value_parser = parse_dns)]
    pub dns: Vec<SocketAddr>,
    /// Address for the HTTP API [default: 127.0.0.1:8053]
    #[arg(long, value_name = "ADDR", value_parser = parse_http)]
    pub http: Option<SocketAddr>,
    /// Resolver that is asked for ALIAS targets; may repeat [default: the system's]
    #[arg(long = "upstream", value_name = "ADDR", value_parser = parse_dns)]
    pub upstreams: Vec<SocketAddr>,
    /// Threads for UDP [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub udp_threads: Option<u16>,
    /// Take a store that is older than what was served last, as after restoring a backup
    #[arg(long)]
    pub accept_older_store: bool,
}

/// Why there is no configuration: one sentence that names the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

fn parse_dns(text: &str) -> Result<SocketAddr, String> {
    address(text, DNS_PORT)
}

fn parse_http(text: &str) -> Result<SocketAddr, String> {
    address(text, DEFAULT_HTTP_PORT)
}

/// `192.0.2.1`, `192.0.2.1:53`, `2001:db8::1`, `[2001:db8::1]:53`; without a port it is `port`.
fn address(text: &str, port: u16) -> Result<SocketAddr, String> {
    let with_port = SocketAddr::from_str(text).ok();
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    with_port
        .or_else(|| IpAddr::from_str(bare).ok().map(|address| SocketAddr::new(address, port)))
        .ok_or_else(|| format!("`{}` is no address like 192.0.2.1:{port} or [2001:db8::1]:{port}", text.escape_debug()))
}

impl Config {
    /// Reads all sources: the file (if there is one), `environment`, and the flags.
    pub fn load(
        place: &PlaceFlags,
        flags: &ServeFlags,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Config, ConfigError> {
        Settings::load(place, flags, environment).map(|settings| settings.config)
    }
}
