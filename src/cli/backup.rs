//! `tenured backup` and `tenured restore`: copies of the store as files.

use std::path::Path;

use serde_json::json;

use super::failure::Failure;
use super::output::{self, Format};
use crate::config::{Config, PlaceFlags, ServeFlags};

fn config(place: &PlaceFlags, environment: impl Iterator<Item = (String, String)>) -> Result<Config, Failure> {
    Config::load(place, &ServeFlags::default(), environment).map_err(|error| Failure::Usage(error.to_string()))
}

/// Copies the store.
pub(super) async fn backup(
    file: &Path,
    place: &PlaceFlags,
    environment: impl Iterator<Item = (String, String)>,
    format: Format,
) -> Result<(), Failure> {
    let (octets, revision) = crate::app::backup(&config(place, environment)?, file).await.map_err(Failure::failed)?;
    match format {
        Format::Json => {
            output::print_json(&json!({"file": file.display().to_string(), "octets": octets, "revision": revision}))
        }
        Format::Name => output::print(&format!("{}\n", file.display())),
        Format::Table => output::print(&format!(
            "{}: revision {revision}, {octets} octets, checked; it holds hashes of tokens, so keep it as safe as the store\n",
            file.display()
        )),
    }
}

/// Puts a copy in the place of the store.
pub(super) async fn restore(
    file: &Path,
    place: &PlaceFlags,
    environment: impl Iterator<Item = (String, String)>,
    format: Format,
) -> Result<(), Failure> {
    let config = config(place, environment)?;
    let (revision, kept) = crate::app::restore(&config, file).await.map_err(Failure::failed)?;
    let store = config.store.path.display();
    match format {
        Format::Json => output::print_json(&json!({
            "store": store.to_string(), "revision": revision, "before": kept.map(|kept| kept.display().to_string()),
        })),
        Format::Name => output::print(&format!("{store}\n")),
        Format::Table => {
            let kept = kept.map_or_else(String::new, |kept| format!("; the one before is {}", kept.display()));
            output::print(&format!(
                "{store}: revision {revision}{kept}\nstart with `tenured serve --accept-older-store`: it may be older than what was served last\n"
            ))
        }
    }
}
