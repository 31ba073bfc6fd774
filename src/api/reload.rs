//! Reading the configuration again: what changed, and when each change takes effect. The server itself does it; the API
//! asks for it and shows what came of it.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What reading the configuration again came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReloadDocument {
    /// Keys with another value than before, in order; none if all is as it was.
    pub changes: Vec<ChangedKeyDocument>,
}

/// A key of the configuration with another value than before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedKeyDocument {
    /// Sections and key, as `dns.nsid`.
    pub key: String,
    /// The value before, as TOML has it; left out if there was none. Of a secret, that it is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub before: Option<String>,
    /// The value now.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<String>,
    /// `now` if it is in effect, `restart` if it takes effect when the server starts again.
    pub effect: String,
}

type Reload = dyn Fn() -> Result<ReloadDocument, String> + Send + Sync;

/// Reads the configuration again. Clones do the same.
#[derive(Clone)]
pub struct Reloader(Arc<Reload>);

impl fmt::Debug for Reloader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reloader")
    }
}

impl Reloader {
    /// Of what does it; the error is a sentence for the operator.
    pub fn new(reload: impl Fn() -> Result<ReloadDocument, String> + Send + Sync + 'static) -> Reloader {
        Reloader(Arc::new(reload))
    }

    /// Does it, on a thread that may read files.
    pub async fn reload(&self) -> Result<ReloadDocument, String> {
        let reload = self.0.clone();
        tokio::task::spawn_blocking(move || reload()).await.unwrap_or_else(|error| Err(error.to_string()))
    }
}
