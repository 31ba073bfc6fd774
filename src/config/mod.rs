//! What the server is told at its start: TOML < environment < flags (operations.md section 2). The one list of keys is
//! the structs of `Layer`; an unknown key or a bad value names its file and line, its variable, or its flag.

mod alias;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _};

use alias::AliasLayer;
pub use alias::{Alias, EdeText, Targets};

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
/// Port of HTTP by default.
pub const DEFAULT_HTTP_PORT: u16 = 8053;
/// TCP connections by default (reliability.md section 4), and most of them.
const DEFAULT_TCP: usize = 10_000;
const MAX_TCP: u32 = 1_000_000;
/// Seconds that a TCP connection may be idle by default, and most of them (RFC 7828 counts 100 ms in 16 bits).
const DEFAULT_TCP_IDLE: u16 = 30;
const MAX_TCP_IDLE: u16 = 3_600;
/// Sections and keys that the environment is searched for, with the form of their values.
const KEYS: &[(&[&str], Form)] = &[
    (&["dns", "listen"], Form::List),
    (&["dns", "udp_threads"], Form::Number),
    (&["dns", "edns_size"], Form::Number),
    (&["dns", "tcp_connections"], Form::Number),
    (&["dns", "tcp_per_client"], Form::Number),
    (&["dns", "tcp_idle"], Form::Number),
    (&["dns", "nsid"], Form::Text),
    (&["dns", "version"], Form::Text),
    (&["dns", "any"], Form::Text),
    (&["dns", "nameservers"], Form::List),
    (&["dns", "cookies", "enforce"], Form::Flag),
    (&["dns", "cookies", "secret_file"], Form::Text),
    (&["dns", "rrl", "rate"], Form::Number),
    (&["dns", "rrl", "exempt"], Form::List),
    (&["http", "listen"], Form::Text),
    (&["store", "path"], Form::Text),
    (&["zones", "directory"], Form::Text),
    (&["alias", "upstreams"], Form::List),
    (&["alias", "trusted_zones"], Form::List),
    (&["alias", "trust_all_zones"], Form::Flag),
    (&["alias", "allow_private_targets"], Form::Flag),
    (&["alias", "probe_interval"], Form::Number),
    (&["alias", "lookups"], Form::Number),
    (&["alias", "owner_rate"], Form::Number),
    (&["alias", "owner_burst"], Form::Number),
    (&["alias", "max_targets"], Form::Number),
    (&["alias", "ede_text"], Form::Text),
    (&["alias", "expose_type"], Form::Flag),
    (&["log", "format"], Form::Text),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Number,
    Flag,
    List,
}

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
}

/// What a query of type ANY gets (RFC 8482).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
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
}

/// Form of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
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

/// One source of settings; what it does not say is none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Layer {
    dns: DnsLayer,
    http: HttpLayer,
    store: StoreLayer,
    zones: ZonesLayer,
    alias: AliasLayer,
    log: LogLayer,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct DnsLayer {
    #[serde(deserialize_with = "dns_addresses")]
    listen: Option<Vec<SocketAddr>>,
    udp_threads: Option<u16>,
    edns_size: Option<u16>,
    tcp_connections: Option<u32>,
    tcp_per_client: Option<u32>,
    tcp_idle: Option<u16>,
    nsid: Option<String>,
    version: Option<String>,
    any: Option<AnyAnswer>,
    cookies: CookiesLayer,
    rrl: RrlLayer,
    nameservers: Option<Vec<NameText>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct CookiesLayer {
    enforce: Option<bool>,
    secret_file: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RrlLayer {
    rate: Option<u32>,
    #[serde(deserialize_with = "networks")]
    exempt: Option<Vec<Network>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct HttpLayer {
    #[serde(deserialize_with = "http_address")]
    listen: Option<SocketAddr>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct StoreLayer {
    path: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ZonesLayer {
    directory: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct LogLayer {
    format: Option<LogFormat>,
}

/// A name, read where it stands, so that an error has its line.
#[derive(Clone, Debug)]
struct NameText(Name);

impl<'de> Deserialize<'de> for NameText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NameText, D::Error> {
        let text = String::deserialize(deserializer)?;
        Name::parse(&text)
            .map(NameText)
            .map_err(|error| D::Error::custom(format!("`{}` is no domain name: {error}", text.escape_debug())))
    }
}

struct DnsAddress(SocketAddr);

impl<'de> Deserialize<'de> for DnsAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DnsAddress, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_dns(&text).map(DnsAddress).map_err(D::Error::custom)
    }
}

fn dns_addresses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<SocketAddr>>, D::Error> {
    let addresses = Vec::<DnsAddress>::deserialize(deserializer)?;
    Ok(Some(addresses.into_iter().map(|address| address.0).collect()))
}

fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Network>>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let networks = texts.iter().map(|text| text.parse().map_err(D::Error::custom));
    networks.collect::<Result<Vec<Network>, D::Error>>().map(Some)
}

fn http_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_http(&text).map(Some).map_err(D::Error::custom)
}

macro_rules! take_later {
    ($low:ident, $high:ident; $($($field:ident).+),* $(,)?) => {
        $(if $high.$($field).+.is_some() { $low.$($field).+ = $high.$($field).+; })*
    };
}

impl Layer {
    /// What the later one says goes before.
    fn then(mut self, later: Layer) -> Layer {
        take_later!(self, later; dns.listen, dns.udp_threads, dns.edns_size, dns.tcp_connections,
            dns.tcp_per_client, dns.tcp_idle, dns.nsid, dns.version, dns.any, dns.cookies.enforce, dns.cookies.secret_file, dns.rrl.rate, dns.rrl.exempt, dns.nameservers, http.listen, store.path, zones.directory,
            alias.upstreams, alias.trusted_zones, alias.trust_all_zones, alias.allow_private_targets, alias.upstream,
            alias.owners, alias.probe_interval, alias.lookups, alias.owner_rate, alias.owner_burst, alias.max_targets,
            alias.ede_text, alias.expose_type, log.format);
        self
    }

    fn of_text(text: &str, file: &str) -> Result<Layer, ConfigError> {
        toml::from_str(text).map_err(|error| at_line(&error, text, file))
    }

    fn of_environment(variables: impl Iterator<Item = (String, String)>) -> Result<Layer, ConfigError> {
        let mut layer = Layer::default();
        for (variable, value) in variables {
            let Some(path) = variable.strip_prefix("TENURED_").filter(|rest| rest.contains("__")) else { continue };
            let path = path.to_ascii_lowercase();
            let path: Vec<&str> = path.split("__").collect();
            let Some((_, form)) = KEYS.iter().find(|(key, _)| *key == path) else {
                let known: Vec<String> =
                    KEYS.iter().map(|(key, _)| format!("TENURED_{}", key.join("__").to_ascii_uppercase())).collect();
                return Err(ConfigError(format!("unknown variable {variable}: expected one of {}", known.join(", "))));
            };
            let one = read_variable(&path, *form, &value)
                .map_err(|error| ConfigError(format!("environment variable {variable}: {error}")))?;
            layer = layer.then(one);
        }
        Ok(layer)
    }

    fn of_flags(place: &PlaceFlags, flags: &ServeFlags) -> Layer {
        let listed = |addresses: &Vec<SocketAddr>| (!addresses.is_empty()).then(|| addresses.clone());
        Layer {
            dns: DnsLayer { listen: listed(&flags.dns), udp_threads: flags.udp_threads, ..DnsLayer::default() },
            http: HttpLayer { listen: flags.http },
            store: StoreLayer { path: place.db.clone() },
            zones: ZonesLayer { directory: flags.zones.clone() },
            alias: AliasLayer { upstreams: listed(&flags.upstreams), ..AliasLayer::default() },
            log: LogLayer::default(),
        }
    }
}

/// One variable as a layer: its value is read as TOML would have it.
fn read_variable(path: &[&str], form: Form, value: &str) -> Result<Layer, String> {
    let mut toml = match form {
        Form::Text => toml::Value::String(value.to_owned()),
        Form::Number => toml::Value::Integer(value.parse().map_err(|_| format!("`{value}` is no whole number"))?),
        Form::Flag => toml::Value::Boolean(value.parse().map_err(|_| format!("`{value}` is neither true nor false"))?),
        Form::List => {
            let parts = value.split(',').map(str::trim).filter(|part| !part.is_empty());
            toml::Value::Array(parts.map(|part| toml::Value::String(part.to_owned())).collect())
        }
    };
    for key in path.iter().rev() {
        let mut table = toml::Table::new();
        table.insert((*key).to_owned(), toml);
        toml = toml::Value::Table(table);
    }
    deserialized(toml)
}

fn deserialized<T: DeserializeOwned>(value: toml::Value) -> Result<T, String> {
    value.try_into().map_err(|error: toml::de::Error| error.message().to_owned())
}

fn at_line(error: &toml::de::Error, text: &str, file: &str) -> ConfigError {
    let message = error.message().replace("unknown field", "unknown key");
    match error.span() {
        Some(span) => {
            let before = text.get(..span.start).unwrap_or(text);
            let line = 1 + before.matches('\n').count();
            // The key is named by the message if it is unknown; of a bad value it stands in the line.
            let key = text.lines().nth(line - 1).and_then(|line| line.split_once('=')).map(|(key, _)| key.trim());
            match key.filter(|key| !message.contains(&format!("`{key}`"))) {
                Some(key) => ConfigError(format!("{file}:{line}: {key}: {message}")),
                None => ConfigError(format!("{file}:{line}: {message}")),
            }
        }
        None => ConfigError(format!("{file}: {message}")),
    }
}

/// The configuration file as a layer; the default one may be missing.
fn file_layer(place: &PlaceFlags) -> Result<Layer, ConfigError> {
    let path = place.config.as_deref().unwrap_or_else(|| Path::new(DEFAULT_FILE));
    let shown = path.display().to_string();
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.len() > MAX_FILE => {
            return Err(ConfigError(format!("{shown}: a configuration file has at most {MAX_FILE} octets")));
        }
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && place.config.is_none() => {
            return Ok(Layer::default());
        }
        Err(error) => return Err(ConfigError(format!("{shown}: {error}"))),
    }
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError(format!("{shown}: {error}")))?;
    Layer::of_text(&text, &shown)
}

impl Config {
    /// Reads all sources: the file (if there is one), `environment`, and the flags.
    pub fn load(
        place: &PlaceFlags,
        flags: &ServeFlags,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Config, ConfigError> {
        let layer = file_layer(place)?.then(Layer::of_environment(environment)?).then(Layer::of_flags(place, flags));
        Config::of_layer(layer)
    }

    fn of_layer(layer: Layer) -> Result<Config, ConfigError> {
        let loopback = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        let names = |texts: Option<Vec<NameText>>| texts.unwrap_or_default().into_iter().map(|text| text.0).collect();
        let listen = layer.dns.listen.unwrap_or_else(|| vec![loopback(DEFAULT_DNS_PORT)]);
        if listen.is_empty() {
            return Err(ConfigError("dns.listen: at least one address is needed, like 127.0.0.1:5300".to_owned()));
        }
        let edns_size = layer.dns.edns_size.unwrap_or(1232);
        if !(512..=4096).contains(&edns_size) {
            return Err(ConfigError(format!("dns.edns_size is from 512 to 4096 octets, not {edns_size}")));
        }
        for (key, number) in
            [("tcp_connections", layer.dns.tcp_connections), ("tcp_per_client", layer.dns.tcp_per_client)]
        {
            if number.is_some_and(|number| !(1..=MAX_TCP).contains(&number)) {
                return Err(ConfigError(format!("dns.{key} is from 1 to {MAX_TCP}")));
            }
        }
        if layer.dns.tcp_idle.is_some_and(|seconds| !(1..=MAX_TCP_IDLE).contains(&seconds)) {
            return Err(ConfigError(format!("dns.tcp_idle is from 1 to {MAX_TCP_IDLE} seconds")));
        }
        if layer.dns.nsid.as_ref().is_some_and(|nsid| nsid.len() > 128) {
            return Err(ConfigError("dns.nsid has at most 128 octets".to_owned()));
        }
        if layer.dns.version.as_ref().is_some_and(|version| version.len() > 255) {
            return Err(ConfigError("dns.version has at most 255 octets".to_owned()));
        }
        if layer.dns.udp_threads.is_some_and(|threads| !(1..=1024).contains(&threads)) {
            return Err(ConfigError("dns.udp_threads is from 1 to 1024".to_owned()));
        }
        let alias = layer.alias.read()?;
        Ok(Config {
            dns: Dns {
                listen,
                udp_threads: layer.dns.udp_threads.map(usize::from),
                edns_size,
                tcp_connections: layer.dns.tcp_connections.map_or(DEFAULT_TCP, |number| number as usize),
                tcp_per_client: layer.dns.tcp_per_client.map(|number| number as usize),
                tcp_idle: layer.dns.tcp_idle.unwrap_or(DEFAULT_TCP_IDLE),
                nsid: layer.dns.nsid,
                version: layer.dns.version,
                any: layer.dns.any.unwrap_or_default(),
                cookies: Cookies {
                    enforce: layer.dns.cookies.enforce.unwrap_or(false),
                    secret_file: layer.dns.cookies.secret_file,
                },
                rrl: Rrl { rate: layer.dns.rrl.rate.unwrap_or(0), exempt: layer.dns.rrl.exempt.unwrap_or_default() },
                nameservers: names(layer.dns.nameservers),
            },
            http: Http { listen: layer.http.listen.unwrap_or_else(|| loopback(DEFAULT_HTTP_PORT)) },
            store: Store { path: layer.store.path.unwrap_or_else(|| PathBuf::from(DEFAULT_STORE)) },
            zones: layer.zones.directory,
            alias,
            log: Log { format: layer.log.format.unwrap_or_default() },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, String> {
        Layer::of_text(text, "tenured.toml").and_then(Config::of_layer).map_err(|error| error.to_string())
    }

    fn variables(pairs: &[(&str, &str)]) -> Result<Layer, String> {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Layer::of_environment(pairs.into_iter()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_file_gives_the_defaults() {
        let config = read("").expect("defaults");
        assert_eq!(config.dns.listen, ["127.0.0.1:5300".parse().expect("an address")]);
        assert_eq!(config.http.listen, "127.0.0.1:8053".parse().expect("an address"));
        assert_eq!(config.store.token_file(), Path::new("tenured.db.token"));
        assert_eq!((config.dns.edns_size, config.dns.any), (1232, AnyAnswer::Minimal));
        assert_eq!((config.dns.tcp_connections, config.dns.tcp_per_client), (10_000, None));
        assert_eq!(config.alias.upstreams, None);
    }

    #[test]
    fn all_keys_are_read() {
        let config = read(
            r#"
            [dns]
            listen = ["192.0.2.1", "[2001:db8::1]:5353"]
            udp_threads = 2
            edns_size = 1400
            tcp_connections = 20000
            tcp_per_client = 50
            tcp_idle = 5
            nsid = "ns1"
            version = "none of yours"
            any = "full"
            nameservers = ["ns1.example.net", "ns2.example.net."]
            cookies = { enforce = true, secret_file = "cookie.secret" }
            [http]
            listen = "127.0.0.1:9053"
            [store]
            path = "names.db"
            [zones]
            directory = "zones"
            [alias]
            upstreams = ["192.0.2.53"]
            trusted_zones = ["example.com"]
            trust_all_zones = true
            allow_private_targets = true
            probe_interval = 60
            lookups = 100
            owner_rate = 5
            owner_burst = 6
            max_targets = 7
            ede_text = "target"
            expose_type = true
            [alias.upstream.inside]
            servers = ["192.0.2.54", "192.0.2.55:5353"]
            [alias.owners."k8s:prod"]
            allow = ["proxy.test"]
            deny = ["bad.proxy.test"]
            [log]
            format = "json"
            "#,
        )
        .expect("all keys");
        assert_eq!(config.dns.listen[0].to_string(), "192.0.2.1:53");
        assert_eq!(config.dns.listen[1].to_string(), "[2001:db8::1]:5353");
        assert_eq!((config.dns.tcp_connections, config.dns.tcp_per_client), (20_000, Some(50)));
        assert_eq!(config.dns.tcp_idle, 5);
        assert_eq!(config.dns.nameservers[0].to_string(), "ns1.example.net.");
        assert!(config.dns.cookies.enforce);
        assert_eq!(config.log.format, LogFormat::Json);
        assert_eq!(config.alias.upstreams.as_ref().expect("one")[0].to_string(), "192.0.2.53:53");
        assert_eq!(config.alias.groups["inside"][1].to_string(), "192.0.2.55:5353");
        let lists = &config.alias.owners["k8s:prod"];
        assert_eq!((lists.allow.len(), lists.deny[0].to_string().as_str()), (1, "bad.proxy.test."));
        let alias = &config.alias;
        assert_eq!((alias.probe_interval, alias.lookups, alias.owner_rate), (60, 100, 5));
        assert_eq!((alias.owner_burst, alias.max_targets, alias.ede_text), (6, 7, EdeText::Target));
        assert!(config.alias.expose_type);
        assert_eq!(config.zones.as_deref(), Some(Path::new("zones")));
    }

    #[test]
    fn an_error_names_file_line_and_key_and_what_is_allowed() {
        for (text, expected) in [
            (
                "[dns]\nlisten = [\"127.0.0.1\"]\nlitsen = 1\n",
                &["tenured.toml:3: ", "`litsen`", "`listen`", "`nsid`"][..],
            ),
            ("\n[dsn]\n", &["tenured.toml:2: ", "`dsn`", "`dns`"]),
            ("[dns]\nany = \"some\"\n", &["tenured.toml:2: any: ", "`some`", "`minimal`"]),
            ("[http]\n\nlisten = \"localhost\"\n", &["tenured.toml:3: listen: ", "`localhost`", "8053"]),
            ("[dns]\nnameservers = [\"a..b\"]\n", &["tenured.toml:2: nameservers: ", "a..b"]),
            ("[dns]\nudp_threads = \"two\"\n", &["tenured.toml:2: udp_threads: "]),
            ("[dns\n", &["tenured.toml:1: "]),
            ("[dns]\nedns_size = 100\n", &["dns.edns_size", "512"]),
            ("[dns]\nlisten = []\n", &["dns.listen"]),
            ("[dns]\ntcp_per_client = 0\n", &["dns.tcp_per_client", "1 to"]),
            ("[alias]\nprobe_interval = 59\n", &["alias.probe_interval", "60 to 3600"]),
            ("[alias.upstream.\"a b\"]\nservers = []\n", &["alias.upstream.a b", "letters"]),
            ("[alias]\nupstreams = []\n[alias.upstream.default]\nservers = []\n", &["alias.upstream.default"]),
        ] {
            let error = read(text).expect_err(text);
            for part in expected {
                assert!(error.contains(part), "{error:?} has no {part:?}");
            }
        }
    }

    #[test]
    fn the_environment_goes_before_the_file_and_names_its_variable() {
        let low = Layer::of_text("[http]\nlisten = \"192.0.2.1:80\"\n[store]\npath = \"a.db\"\n", "f").expect("a file");
        let high = variables(&[
            ("TENURED_HTTP__LISTEN", "192.0.2.2:80"),
            ("TENURED_DNS__COOKIES__ENFORCE", "true"),
            ("TENURED_ALIAS__UPSTREAMS", "192.0.2.53, 192.0.2.54:5353"),
            ("TENURED_URL", "the client's"),
            ("HOME", "another's"),
        ]);
        let config = Config::of_layer(low.then(high.expect("variables"))).expect("a configuration");
        assert_eq!(config.http.listen.to_string(), "192.0.2.2:80");
        assert_eq!(config.store.path, Path::new("a.db"));
        assert!(config.dns.cookies.enforce);
        assert_eq!(config.alias.upstreams.expect("two").len(), 2);
        for (variable, value) in [
            ("TENURED_DNS__LITSEN", "1"),
            ("TENURED_DNS__UDP_THREADS", "two"),
            ("TENURED_HTTP__LISTEN", "x"),
            ("TENURED_LOG__FORMAT", "xml"),
        ] {
            let error = variables(&[(variable, value)]).expect_err(variable);
            assert!(error.contains(variable), "{error}");
        }
    }

    #[test]
    fn every_key_of_the_environment_is_a_key_of_the_file() {
        for (path, form) in KEYS {
            let value = match (form, path[path.len() - 1]) {
                (Form::Number, _) => "1024",
                (Form::Flag, _) => "true",
                (_, "any") => "full",
                (_, "ede_text") => "none",
                (_, "format") => "json",
                (Form::Text | Form::List, _) => "192.0.2.1",
            };
            read_variable(path, *form, value).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        }
    }
}
