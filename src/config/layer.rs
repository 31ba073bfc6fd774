//! The keys of the configuration, as the structs of [`Layer`]: one source of settings, and how each source is read.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};

use super::alias::AliasLayer;
use super::sources::Effect;
use super::{
    AnyAnswer, ConfigError, DNS_PORT, DOH_PORT, LogFormat, Network, PlaceFlags, ServeFlags, TLS_PORT, address,
    parse_http,
};
use crate::wire::name::Name;

/// Sections and keys that the environment is searched for, with the form of their values, and when a change of each takes
/// effect. Tables with names of their own, as `alias.upstream`, stand in the file alone and need a restart.
pub(super) const KEYS: &[(&[&str], Form, Effect)] = &[
    (&["dns", "listen"], Form::List, Effect::Restart),
    (&["dns", "udp_threads"], Form::Number, Effect::Restart),
    (&["dns", "edns_size"], Form::Number, Effect::Restart),
    (&["dns", "tcp_connections"], Form::Number, Effect::Restart),
    (&["dns", "tcp_per_client"], Form::Number, Effect::Restart),
    (&["dns", "tcp_idle"], Form::Number, Effect::Restart),
    (&["dns", "nsid"], Form::Text, Effect::Now),
    (&["dns", "version"], Form::Text, Effect::Now),
    (&["dns", "any"], Form::Text, Effect::Now),
    (&["dns", "nameservers"], Form::List, Effect::Restart),
    (&["dns", "cookies", "enforce"], Form::Flag, Effect::Now),
    (&["dns", "cookies", "secret_file"], Form::Text, Effect::Now),
    (&["dns", "rrl", "rate"], Form::Number, Effect::Now),
    (&["dns", "rrl", "exempt"], Form::List, Effect::Now),
    (&["http", "listen"], Form::Text, Effect::Restart),
    (&["store", "path"], Form::Text, Effect::Restart),
    (&["zones", "directory"], Form::Text, Effect::Restart),
    (&["alias", "upstreams"], Form::List, Effect::Restart),
    (&["alias", "trusted_zones"], Form::List, Effect::Restart),
    (&["alias", "trust_all_zones"], Form::Flag, Effect::Restart),
    (&["alias", "allow_private_targets"], Form::Flag, Effect::Restart),
    (&["alias", "probe_interval"], Form::Number, Effect::Restart),
    (&["alias", "lookups"], Form::Number, Effect::Restart),
    (&["alias", "owner_rate"], Form::Number, Effect::Restart),
    (&["alias", "owner_burst"], Form::Number, Effect::Restart),
    (&["alias", "max_targets"], Form::Number, Effect::Restart),
    (&["alias", "ede_text"], Form::Text, Effect::Now),
    (&["alias", "expose_type"], Form::Flag, Effect::Now),
    (&["log", "format"], Form::Text, Effect::Restart),
    (&["dns", "lame_duck"], Form::Number, Effect::Now),
    (&["dns", "cookies", "secret"], Form::Text, Effect::Now),
    (&["http", "tls"], Form::Flag, Effect::Restart),
    (&["admin", "listen"], Form::Text, Effect::Restart),
    (&["tls", "certificate"], Form::Text, Effect::Now),
    (&["tls", "key"], Form::Text, Effect::Now),
    (&["tls", "dot"], Form::List, Effect::Restart),
    (&["tls", "doq"], Form::List, Effect::Restart),
    (&["tls", "doh"], Form::List, Effect::Restart),
    (&["tls", "doh_path"], Form::Text, Effect::Restart),
    (&["log", "queries"], Form::Number, Effect::Now),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Number,
    Flag,
    List,
}

/// One source of settings; what it does not say is none.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Layer {
    pub(super) dns: DnsLayer,
    pub(super) http: HttpLayer,
    pub(super) store: StoreLayer,
    pub(super) zones: ZonesLayer,
    pub(super) alias: AliasLayer,
    pub(super) admin: AdminLayer,
    pub(super) tls: TlsLayer,
    pub(super) log: LogLayer,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct DnsLayer {
    #[serde(deserialize_with = "dns_addresses")]
    pub(super) listen: Option<Vec<SocketAddr>>,
    pub(super) udp_threads: Option<u16>,
    pub(super) edns_size: Option<u16>,
    pub(super) tcp_connections: Option<u32>,
    pub(super) tcp_per_client: Option<u32>,
    pub(super) tcp_idle: Option<u16>,
    pub(super) nsid: Option<String>,
    pub(super) version: Option<String>,
    pub(super) any: Option<AnyAnswer>,
    pub(super) cookies: CookiesLayer,
    pub(super) rrl: RrlLayer,
    pub(super) nameservers: Option<Vec<NameText>>,
    pub(super) lame_duck: Option<u16>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CookiesLayer {
    pub(super) enforce: Option<bool>,
    pub(super) secret_file: Option<PathBuf>,
    pub(super) secret: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RrlLayer {
    pub(super) rate: Option<u32>,
    #[serde(deserialize_with = "networks", serialize_with = "shown_networks")]
    pub(super) exempt: Option<Vec<Network>>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct HttpLayer {
    #[serde(deserialize_with = "http_address")]
    pub(super) listen: Option<SocketAddr>,
    pub(super) tls: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct AdminLayer {
    #[serde(deserialize_with = "http_address")]
    pub(super) listen: Option<SocketAddr>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TlsLayer {
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
    #[serde(deserialize_with = "tls_addresses")]
    pub(super) dot: Option<Vec<SocketAddr>>,
    #[serde(deserialize_with = "tls_addresses")]
    pub(super) doq: Option<Vec<SocketAddr>>,
    #[serde(deserialize_with = "doh_addresses")]
    pub(super) doh: Option<Vec<SocketAddr>>,
    pub(super) doh_path: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct StoreLayer {
    pub(super) path: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ZonesLayer {
    pub(super) directory: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LogLayer {
    pub(super) format: Option<LogFormat>,
    pub(super) queries: Option<u32>,
}

/// A name, read where it stands, so that an error has its line.
#[derive(Clone, Debug)]
pub(super) struct NameText(pub(super) Name);

impl Serialize for NameText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for NameText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NameText, D::Error> {
        let text = String::deserialize(deserializer)?;
        Name::parse(&text)
            .map(NameText)
            .map_err(|error| D::Error::custom(format!("`{}` is no domain name: {error}", text.escape_debug())))
    }
}

/// An address that has this port if it names none.
struct Address<const PORT: u16>(SocketAddr);

impl<'de, const PORT: u16> Deserialize<'de> for Address<PORT> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Address<PORT>, D::Error> {
        let text = String::deserialize(deserializer)?;
        address(&text, PORT).map(Address).map_err(D::Error::custom)
    }
}

type Addresses = Option<Vec<SocketAddr>>;

fn addresses<'de, D: Deserializer<'de>, const PORT: u16>(deserializer: D) -> Result<Addresses, D::Error> {
    let addresses = Vec::<Address<PORT>>::deserialize(deserializer)?;
    Ok(Some(addresses.into_iter().map(|address| address.0).collect()))
}

pub(super) fn dns_addresses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Addresses, D::Error> {
    addresses::<D, DNS_PORT>(deserializer)
}

fn tls_addresses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Addresses, D::Error> {
    addresses::<D, TLS_PORT>(deserializer)
}

fn doh_addresses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Addresses, D::Error> {
    addresses::<D, DOH_PORT>(deserializer)
}

fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Network>>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let networks = texts.iter().map(|text| text.parse().map_err(D::Error::custom));
    networks.collect::<Result<Vec<Network>, D::Error>>().map(Some)
}

fn shown_networks<S: Serializer>(networks: &Option<Vec<Network>>, serializer: S) -> Result<S::Ok, S::Error> {
    match networks {
        Some(networks) => serializer.collect_seq(networks.iter().map(Network::to_string)),
        None => serializer.serialize_none(),
    }
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
    pub(super) fn then(mut self, later: Layer) -> Layer {
        take_later!(self, later; dns.listen, dns.udp_threads, dns.edns_size, dns.tcp_connections,
            dns.tcp_per_client, dns.tcp_idle, dns.nsid, dns.version, dns.any, dns.cookies.enforce, dns.cookies.secret_file, dns.rrl.rate, dns.rrl.exempt, dns.nameservers,
            dns.lame_duck, dns.cookies.secret, http.listen, http.tls, admin.listen, tls.certificate, tls.key, tls.dot, tls.doq, tls.doh, tls.doh_path, log.queries, store.path, zones.directory,
            alias.upstreams, alias.trusted_zones, alias.trust_all_zones, alias.allow_private_targets, alias.upstream,
            alias.owners, alias.probe_interval, alias.lookups, alias.owner_rate, alias.owner_burst, alias.max_targets,
            alias.ede_text, alias.expose_type, log.format);
        self
    }

    pub(super) fn of_text(text: &str, file: &str) -> Result<Layer, ConfigError> {
        toml::from_str(text).map_err(|error| at_line(&error, text, file))
    }

    pub(super) fn of_environment(variables: impl Iterator<Item = (String, String)>) -> Result<Layer, ConfigError> {
        let mut layer = Layer::default();
        for (variable, value) in variables {
            let Some(path) = variable.strip_prefix("TENURED_").filter(|rest| rest.contains("__")) else { continue };
            let path = path.to_ascii_lowercase();
            let path: Vec<&str> = path.split("__").collect();
            let Some((_, form, _)) = KEYS.iter().find(|(key, _, _)| *key == path) else {
                let known: Vec<String> =
                    KEYS.iter().map(|(key, _, _)| format!("TENURED_{}", key.join("__").to_ascii_uppercase())).collect();
                return Err(ConfigError(format!("unknown variable {variable}: expected one of {}", known.join(", "))));
            };
            let one = read_variable(&path, *form, &value)
                .map_err(|error| ConfigError(format!("environment variable {variable}: {error}")))?;
            layer = layer.then(one);
        }
        Ok(layer)
    }

    pub(super) fn of_flags(place: &PlaceFlags, flags: &ServeFlags) -> Layer {
        let listed = |addresses: &Vec<SocketAddr>| (!addresses.is_empty()).then(|| addresses.clone());
        Layer {
            dns: DnsLayer { listen: listed(&flags.dns), udp_threads: flags.udp_threads, ..DnsLayer::default() },
            http: HttpLayer { listen: flags.http, tls: None },
            store: StoreLayer { path: place.db.clone() },
            zones: ZonesLayer { directory: flags.zones.clone() },
            alias: AliasLayer { upstreams: listed(&flags.upstreams), ..AliasLayer::default() },
            ..Layer::default()
        }
    }
}

/// One variable as a layer: its value is read as TOML would have it.
pub(super) fn read_variable(path: &[&str], form: Form, value: &str) -> Result<Layer, String> {
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
