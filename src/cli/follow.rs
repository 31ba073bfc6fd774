//! `tenured history --follow`: a line a change, from now on or from a revision, over breaks of the connection.

use std::time::Duration;

use super::client::Client;
use super::failure::Failure;
use super::history::what;
use super::output::{self, Format, clean};
use crate::api::documents::ChangeDocument;

/// Pause before a stream that ended is opened again.
const AGAIN: Duration = Duration::from_secs(1);
/// Longest event, in octets: a change of an RRset before and after.
const MAX_EVENT: usize = 1024 * 1024;

/// Follows until it is interrupted, the reader of the output is gone, or the server refuses.
pub(super) async fn follow(client: &Client, query: &[(&str, &str)], format: Format) -> Result<(), Failure> {
    let mut last: Option<String> = None;
    loop {
        let opened = client.open_stream("/v1/changes", query, last.as_deref()).await;
        let mut stream = match (opened, &last) {
            (Ok(stream), _) => stream,
            // Once it has followed, it waits for a server that is away.
            (Err(Failure::Unavailable(_)), Some(_)) => {
                tokio::time::sleep(AGAIN).await;
                continue;
            }
            (Err(failure), _) => return Err(failure),
        };
        let mut buffer: Vec<u8> = Vec::new();
        while let Ok(Some(chunk)) = stream.chunk().await {
            buffer.extend_from_slice(&chunk);
            while let Some(end) = buffer.iter().position(|octet| *octet == b'\n') {
                let line = String::from_utf8_lossy(&buffer[..end]).into_owned();
                buffer.drain(..=end);
                if let Some(id) = line.strip_prefix("id: ") {
                    last = Some(id.to_owned());
                } else if let Some(data) = line.strip_prefix("data: ") {
                    print(data, format)?;
                }
            }
            if buffer.len() > MAX_EVENT {
                return Err(Failure::failed(format!("the server sent an event of over {MAX_EVENT} octets")));
            }
        }
        tokio::time::sleep(AGAIN).await;
    }
}

fn print(data: &str, format: Format) -> Result<(), Failure> {
    let change: ChangeDocument = serde_json::from_str(data)
        .map_err(|error| Failure::failed(format!("the server's event is not as expected: {error}")))?;
    match format {
        Format::Json => output::print(&format!("{data}\n")),
        Format::Name => output::print_names([change.name.as_str()].into_iter()),
        Format::Table => {
            let what = what(&change.before, &change.after);
            let line = format!(
                "{} {} {} {} {} {}: {what}",
                change.revision, change.at, change.actor, change.owner, change.name, change.rtype
            );
            output::print(&format!("{}\n", clean(&line)))
        }
    }
}
