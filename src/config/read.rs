//! From the keys to a [`Config`]: what values are allowed, and what belongs together.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use super::layer::{Layer, NameText, TlsLayer};
use super::{
    Config, Cookies, DEFAULT_DNS_PORT, DEFAULT_HTTP_PORT, DEFAULT_STORE, Dns, Http, HttpTls, Identity, Log, Rrl, Store,
    Tls,
};

/// TCP connections by default, and most of them.
const DEFAULT_TCP: usize = 10_000;
const MAX_TCP: u32 = 1_000_000;
/// Seconds that a TCP connection may be idle by default, and most of them (RFC 7828 counts 100 ms in 16 bits).
const DEFAULT_TCP_IDLE: u16 = 30;
const MAX_TCP_IDLE: u16 = 3_600;
/// Seconds that a server goes on answering after it was told to end, by default and at most.
const DEFAULT_LAME_DUCK: u16 = 5;
const MAX_LAME_DUCK: u16 = 600;
/// Most listeners of one kind.
const MAX_LISTENERS: usize = 64;
/// The path of DNS over HTTPS that most clients take for granted.
const DOH_PATH: &str = "/dns-query";

/// A key whose value is not allowed; where it stands is added by who knows the sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) key: Vec<String>,
    /// What is allowed.
    pub(super) sentence: String,
}

impl Wrong {
    pub(super) fn new(key: &[&str], sentence: impl Into<String>) -> Wrong {
        Wrong { key: key.iter().map(|part| (*part).to_owned()).collect(), sentence: sentence.into() }
    }
}

impl Config {
    /// Reads all keys; those that are not there have their defaults.
    pub(super) fn of_layer(layer: Layer) -> Result<Config, Wrong> {
        let loopback = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        let names = |texts: Option<Vec<NameText>>| texts.unwrap_or_default().into_iter().map(|text| text.0).collect();
        let listen = layer.dns.listen.unwrap_or_else(|| vec![loopback(DEFAULT_DNS_PORT)]);
        if listen.is_empty() {
            return Err(Wrong::new(&["dns", "listen"], "at least one address is needed, like 127.0.0.1:5300"));
        }
        few(&["dns", "listen"], &listen)?;
        let edns_size = layer.dns.edns_size.unwrap_or(1232);
        within(&["dns", "edns_size"], Some(u32::from(edns_size)), 512, 4096, " octets")?;
        within(&["dns", "tcp_connections"], layer.dns.tcp_connections, 1, MAX_TCP, "")?;
        within(&["dns", "tcp_per_client"], layer.dns.tcp_per_client, 1, MAX_TCP, "")?;
        within(&["dns", "tcp_idle"], layer.dns.tcp_idle.map(u32::from), 1, u32::from(MAX_TCP_IDLE), " seconds")?;
        within(&["dns", "lame_duck"], layer.dns.lame_duck.map(u32::from), 0, u32::from(MAX_LAME_DUCK), " seconds")?;
        within(&["dns", "udp_threads"], layer.dns.udp_threads.map(u32::from), 1, 1024, "")?;
        if layer.dns.nsid.as_ref().is_some_and(|nsid| nsid.len() > 128) {
            return Err(Wrong::new(&["dns", "nsid"], "at most 128 octets"));
        }
        if layer.dns.version.as_ref().is_some_and(|version| version.len() > 255) {
            return Err(Wrong::new(&["dns", "version"], "at most 255 octets"));
        }
        let cookies = layer.dns.cookies;
        if cookies.secret.is_some() && cookies.secret_file.is_some() {
            let sentence = "dns.cookies.secret_file says the same thing: leave one of the two out";
            return Err(Wrong::new(&["dns", "cookies", "secret"], sentence));
        }
        let http_tls = if layer.http.tls.unwrap_or(false) { HttpTls::On } else { HttpTls::Off };
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
                    enforce: cookies.enforce.unwrap_or(false),
                    secret_file: cookies.secret_file,
                    secret: cookies.secret,
                },
                rrl: Rrl { rate: layer.dns.rrl.rate.unwrap_or(0), exempt: layer.dns.rrl.exempt.unwrap_or_default() },
                nameservers: names(layer.dns.nameservers),
                lame_duck: layer.dns.lame_duck.unwrap_or(DEFAULT_LAME_DUCK),
            },
            http: Http { listen: layer.http.listen.unwrap_or_else(|| loopback(DEFAULT_HTTP_PORT)), tls: http_tls },
            store: Store { path: layer.store.path.unwrap_or_else(|| PathBuf::from(DEFAULT_STORE)) },
            zones: layer.zones.directory,
            alias: layer.alias.read()?,
            admin: layer.admin.listen,
            tls: tls(layer.tls, http_tls)?,
            log: Log { format: layer.log.format.unwrap_or_default(), queries: layer.log.queries.unwrap_or(0) },
        })
    }
}

fn tls(layer: TlsLayer, http: HttpTls) -> Result<Tls, Wrong> {
    let listeners = [("dot", &layer.dot), ("doq", &layer.doq), ("doh", &layer.doh)];
    let mut needed = (http == HttpTls::On).then_some("http.tls".to_owned());
    for (key, addresses) in listeners {
        few(&["tls", key], addresses.as_deref().unwrap_or_default())?;
        if addresses.as_ref().is_some_and(|addresses| !addresses.is_empty()) {
            needed = Some(format!("tls.{key}"));
        }
    }
    let identity = match (layer.certificate, layer.key, needed) {
        (Some(certificate), Some(key), _) => Some(Identity { certificate, key }),
        (None, None, None) => None,
        (None, Some(_), _) => return Err(Wrong::new(&["tls", "key"], "tls.certificate is needed too")),
        (Some(_), None, _) => return Err(Wrong::new(&["tls", "certificate"], "tls.key is needed too")),
        (None, None, Some(by)) => {
            let key: Vec<&str> = by.split('.').collect();
            return Err(Wrong::new(&key, "tls.certificate and tls.key are needed for it: files in PEM"));
        }
    };
    let doh_path = layer.doh_path.unwrap_or_else(|| DOH_PATH.to_owned());
    let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || b"/-_.~".contains(&octet);
    if !doh_path.starts_with('/') || doh_path.len() > 255 || !doh_path.bytes().all(is_plain) {
        return Err(Wrong::new(&["tls", "doh_path"], "a path like /dns-query, of letters, digits and / - _ . ~"));
    }
    let listen = |addresses: Option<Vec<SocketAddr>>| addresses.unwrap_or_default();
    Ok(Tls { identity, dot: listen(layer.dot), doq: listen(layer.doq), doh: listen(layer.doh), doh_path })
}

fn few(key: &[&str], addresses: &[SocketAddr]) -> Result<(), Wrong> {
    if addresses.len() > MAX_LISTENERS {
        return Err(Wrong::new(key, format!("at most {MAX_LISTENERS} addresses")));
    }
    Ok(())
}

fn within(key: &[&str], number: Option<u32>, least: u32, most: u32, unit: &str) -> Result<(), Wrong> {
    match number {
        Some(number) if !(least..=most).contains(&number) => {
            Err(Wrong::new(key, format!("from {least} to {most}{unit}, not {number}")))
        }
        Some(_) | None => Ok(()),
    }
}
