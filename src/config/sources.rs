//! Where each setting comes from, and what differs between two readings of all sources.

use std::path::{Path, PathBuf};

use super::layer::{KEYS, Layer};
use super::read::Wrong;
use super::{Config, ConfigError, DEFAULT_FILE, MAX_FILE, PlaceFlags, ServeFlags};

/// The defaults that have a value; all other keys are not set.
const DEFAULTS: &str = r#"
[dns]
listen = ["127.0.0.1:5300"]
edns_size = 1232
tcp_connections = 10000
tcp_idle = 30
any = "minimal"
lame_duck = 5
cookies = { enforce = false }
rrl = { rate = 0 }
[http]
listen = "127.0.0.1:8053"
tls = false
[store]
path = "tenured.db"
[alias]
trust_all_zones = false
allow_private_targets = false
probe_interval = 300
lookups = 4096
owner_rate = 10000
owner_burst = 50000
max_targets = 100000
ede_text = "status"
expose_type = false
[tls]
doh_path = "/dns-query"
[log]
format = "text"
queries = 0
"#;
/// Keys whose values are shown to nobody.
const SECRET: &[&str] = &["dns.cookies.secret"];

/// When a change takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// When the configuration is read again.
    Now,
    /// When the server starts again.
    Restart,
}

/// One key that is set.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Sections and key, with dots.
    pub key: String,
    value: toml::Value,
    /// `default`, a file with its line, an environment variable, or `flag`.
    pub source: String,
}

impl Entry {
    /// The value as TOML has it; of a secret, that it is one.
    pub fn shown(&self) -> String {
        if SECRET.contains(&self.key.as_str()) { "(secret)".to_owned() } else { self.value.to_string() }
    }
}

/// A key that has another value than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Sections and key, with dots.
    pub key: String,
    /// The value before; none if it was not set.
    pub before: Option<String>,
    /// The value now.
    pub after: Option<String>,
    /// When it takes effect.
    pub effect: Effect,
}

/// A configuration with where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What all sources say together.
    pub config: Config,
    entries: Vec<Entry>,
}

enum Source {
    Default,
    File { name: String, text: String },
    Environment,
    Flags,
}

impl Source {
    /// Where a key stands, without its name.
    fn place(&self, key: &[String]) -> String {
        match self {
            Source::Default => "default".to_owned(),
            Source::File { name, text } => match line_of(text, key) {
                Some(line) => format!("{name}:{line}"),
                None => name.clone(),
            },
            Source::Environment => format!("environment variable TENURED_{}", key.join("__").to_ascii_uppercase()),
            Source::Flags => "flag".to_owned(),
        }
    }
}

impl Settings {
    /// Reads all sources: the file (if there is one), `environment`, and the flags.
    pub fn load(
        place: &PlaceFlags,
        flags: &ServeFlags,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Settings, ConfigError> {
        let mut sources = vec![];
        if let Some((name, text)) = file(place)? {
            let layer = Layer::of_text(&text, &name)?;
            sources.push((Source::File { name, text }, layer));
        }
        sources.push((Source::Environment, Layer::of_environment(environment)?));
        sources.push((Source::Flags, Layer::of_flags(place, flags)));
        Settings::of(sources)
    }

    /// Of sources, the first one the weakest.
    fn of(mut sources: Vec<(Source, Layer)>) -> Result<Settings, ConfigError> {
        sources.insert(0, (Source::Default, Layer::of_text(DEFAULTS, "defaults")?));
        let entries: Vec<Vec<(Vec<String>, toml::Value)>> =
            sources.iter().map(|(_, layer)| flattened(layer)).collect::<Result<_, _>>()?;
        // The strongest source that has the key, or a part of it.
        let place = |key: &[String]| {
            let has = |own: &Vec<(Vec<String>, toml::Value)>| own.iter().any(|(path, _)| path.starts_with(key));
            sources.iter().zip(&entries).rev().find(|(_, own)| has(own)).map(|((source, _), _)| source.place(key))
        };
        let whole = sources.iter().fold(Layer::default(), |low, (_, high)| low.then(high.clone()));
        let mut all = flattened(&whole)?;
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        let entry = |(path, value): (Vec<String>, toml::Value)| {
            let source = place(&path).unwrap_or_else(|| "default".to_owned());
            Entry { key: dotted(&path), value, source }
        };
        let entries = all.into_iter().map(entry).collect();
        let config = Config::of_layer(whole).map_err(|Wrong { key, sentence }| {
            let place = place(&key).map_or_else(String::new, |place| format!("{place}: "));
            ConfigError(format!("{place}{}: {sentence}", dotted(&key)))
        })?;
        Ok(Settings { config, entries })
    }

    /// All keys that are set, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Keys that may be set and are not, in order.
    pub fn unset(&self) -> Vec<String> {
        let is_set = |key: &String| self.entries.iter().any(|entry| entry.key == *key);
        let mut keys: Vec<String> = KEYS.iter().map(|(path, _, _)| path.join(".")).filter(|key| !is_set(key)).collect();
        keys.sort();
        keys
    }

    /// What is different in `next`.
    pub fn differences(&self, next: &Settings) -> Vec<Difference> {
        let find = |all: &[Entry], key: &str| all.iter().find(|entry| entry.key == key).cloned();
        let mut keys: Vec<&String> = self.entries.iter().chain(&next.entries).map(|entry| &entry.key).collect();
        keys.sort();
        keys.dedup();
        let differs = |key: &&String| {
            let (before, after) = (find(&self.entries, key), find(&next.entries, key));
            before.map(|entry| entry.value) != after.map(|entry| entry.value)
        };
        let shown = |all: &[Entry], key: &str| find(all, key).map(|entry| entry.shown());
        keys.into_iter()
            .filter(differs)
            .map(|key| Difference {
                before: shown(&self.entries, key),
                after: shown(&next.entries, key),
                effect: effect(key),
                key: key.clone(),
            })
            .collect()
    }
}

fn effect(key: &str) -> Effect {
    KEYS.iter().find(|(path, _, _)| path.join(".") == key).map_or(Effect::Restart, |(_, _, effect)| *effect)
}

/// Name and text of the configuration file; the default one may be missing.
fn file(place: &PlaceFlags) -> Result<Option<(String, String)>, ConfigError> {
    let path = place.config.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_FILE));
    let shown = path.display().to_string();
    match std::fs::metadata(&path) {
        Ok(metadata) if metadata.len() > MAX_FILE => {
            return Err(ConfigError(format!("{shown}: a configuration file has at most {MAX_FILE} octets")));
        }
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && place.config.is_none() => return Ok(None),
        Err(error) => return Err(ConfigError(format!("{shown}: {error}"))),
    }
    let text = read(&path).map_err(|error| ConfigError(format!("{shown}: {error}")))?;
    Ok(Some((shown, text)))
}

fn read(path: &Path) -> std::io::Result<String> {
    std::fs::read_to_string(path)
}

/// Keys with their values, those of inner tables with the names of all tables around them.
fn flattened(layer: &Layer) -> Result<Vec<(Vec<String>, toml::Value)>, ConfigError> {
    fn add(table: toml::Table, above: &[String], out: &mut Vec<(Vec<String>, toml::Value)>) {
        for (key, value) in table {
            let path = [above, &[key]].concat();
            match value {
                toml::Value::Table(inner) => add(inner, &path, out),
                value => out.push((path, value)),
            }
        }
    }
    // A path that is no UTF-8 cannot be shown: only a flag can have one.
    let table = toml::Table::try_from(layer).map_err(|error| ConfigError(format!("a setting is no text: {error}")))?;
    let mut out = Vec::new();
    add(table, &[], &mut out);
    Ok(out)
}

/// A path of keys as TOML writes it.
fn dotted(path: &[String]) -> String {
    let bare = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
    let part = |part: &String| {
        if !part.is_empty() && part.bytes().all(bare) { part.clone() } else { format!("\"{}\"", part.escape_debug()) }
    };
    path.iter().map(part).collect::<Vec<_>>().join(".")
}

/// The line, from 1, on which a key stands in TOML.
fn line_of(text: &str, path: &[String]) -> Option<usize> {
    let document = toml::de::DeTable::parse(text).ok()?;
    let mut table = document.get_ref();
    let mut start = None;
    for part in path {
        let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref().as_ref() == part.as_str()) else { break };
        start = Some(key.span().start);
        match value.get_ref() {
            toml::de::DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    Some(1 + text.get(..start?)?.matches('\n').count())
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
