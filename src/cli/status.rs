//! `tenured health` and `tenured version`.

use serde_json::{Value, json};

use super::client::Client;
use super::failure::Failure;
use super::output::{self, Format};

/// Prints what `/readyz?verbose` says; not ready is a failure.
pub(super) async fn health(client: &Client) -> Result<(), Failure> {
    let (status, text) = client.ask_openly("/readyz", &[("verbose", "true")]).await?;
    output::print(&text)?;
    if status.is_success() {
        Ok(())
    } else {
        Err(Failure::Unavailable("the server is not ready: the lines above with [-] or [!] say why".to_owned()))
    }
}

/// Prints this program's version, and the server's if one answers.
pub(super) async fn version(client: &Client, format: Format) -> Result<(), Failure> {
    let own = env!("CARGO_PKG_VERSION");
    let server = match client.ask_openly("/version", &[]).await {
        Ok((status, text)) if status.is_success() => serde_json::from_str::<Value>(&text)
            .ok()
            .and_then(|value| value.get("version").and_then(Value::as_str).map(str::to_owned)),
        Ok(_) | Err(_) => None,
    };
    match format {
        Format::Json => output::print_json(&json!({"client": own, "server": server})),
        Format::Name => output::print(&format!("{own}\n")),
        Format::Table => {
            output::print(&format!("tenured {own}\n"))?;
            match server {
                Some(server) => output::print(&format!("server {server}\n")),
                None => Ok(()),
            }
        }
    }
}
