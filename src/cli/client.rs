//! The HTTP client of all commands: where the server is, which token it gets, and what an answer means.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::failure::Failure;
use crate::api::documents::{List, ProblemDocument};
use crate::api::paging::PageDocument;
use crate::config::{Config, PlaceFlags, ServeFlags};

/// Time to reach the server.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// Time for a request: a little over the server's longest, that of an import.
const REQUEST_TIME: Duration = Duration::from_secs(620);
/// Time after which an event stream is opened anew.
const STREAM_TIME: Duration = Duration::from_secs(24 * 3600);
/// Largest token file, in octets.
const MAX_TOKEN_FILE: u64 = 4096;
/// What is escaped in a part of a path or a parameter.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Where the server is and which token it gets.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ClientFlags {
    /// Address of the API [env: TENURED_URL] [default: http://127.0.0.1:8053]
    #[arg(long, global = true, value_name = "URL")]
    url: Option<String>,
    /// File with the API token; TENURED_TOKEN gives the token itself [default: the store's, tenured.db.token]
    #[arg(long, global = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl ClientFlags {
    /// The URL and the token file as they are given, by flag or, the URL, in the environment.
    pub(super) fn place(
        &self,
        mut environment: impl Iterator<Item = (String, String)>,
    ) -> (Option<String>, Option<PathBuf>) {
        let url = self.url.clone().or_else(|| environment.find(|(name, _)| name == "TENURED_URL").map(|(_, url)| url));
        (url, self.token_file.clone())
    }
}

/// What goes along with a request.
pub(super) enum Body {
    /// Nothing.
    Nothing,
    /// JSON.
    Json(Value),
    /// A zone file.
    ZoneFile(String),
}

/// The client.
pub(super) struct Client {
    http: reqwest::Client,
    url: String,
    token: Result<String, String>,
}

/// A path of encoded parts below the root.
pub(super) fn path(parts: &[&str]) -> String {
    parts.iter().map(|part| format!("/{}", utf8_percent_encode(part, ESCAPED))).collect()
}

impl Client {
    /// From the flags, the environment and the configuration that `serve` would have.
    pub(super) fn new(
        flags: &ClientFlags,
        place: &PlaceFlags,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Client, Failure> {
        let variables: Vec<(String, String)> = environment.collect();
        let variable = |name: &str| {
            variables.iter().find(|(other, value)| other == name && !value.is_empty()).map(|(_, value)| value.clone())
        };
        let config = Config::load(place, &ServeFlags::default(), variables.clone().into_iter())
            .map_err(|error| Failure::Usage(error.to_string()))?;
        let url = flags.url.clone().or_else(|| variable("TENURED_URL")).unwrap_or_else(|| url_of(config.http.listen));
        let url = url.trim_end_matches('/').to_owned();
        if !url.starts_with("http://") {
            return Err(Failure::Usage(format!("{url} is no URL that this version can ask: it starts with http://")));
        }
        let token = match (&flags.token_file, variable("TENURED_TOKEN")) {
            (Some(file), _) => token_of(file),
            (None, Some(token)) => Ok(token.trim().to_owned()),
            (None, None) => token_of(&config.store.token_file()),
        };
        // The server is this machine's or one of the operator's own: a proxy for the web is not the way to it.
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIME)
            .timeout(REQUEST_TIME)
            .user_agent(concat!("tenured/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Failure::failed(format!("the HTTP client could not be made: {error}")))?;
        Ok(Client { http, url, token })
    }

    /// The id of the token that is used.
    pub(super) fn token_id(&self) -> Result<&str, Failure> {
        let token = self.token.as_ref().map_err(|what| Failure::NoToken(what.clone()))?;
        token.strip_prefix("tnd_").and_then(|rest| rest.split_once('_')).map(|(id, _)| id).ok_or_else(|| {
            Failure::NoToken("the token has not the form tnd_<id>_<secret>: look at its file or variable".to_owned())
        })
    }

    /// Reads a document.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str, query: &[(&str, &str)]) -> Result<T, Failure> {
        let (_, text) = self.send(Method::GET, path, query, Body::Nothing).await?;
        document(&text)
    }

    /// Reads a whole list, page by page.
    pub(super) async fn get_all<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<List<T>, Failure> {
        let mut all: PageDocument<T> = self.get(path, query).await?;
        while let Some(next) = all.next.take() {
            let query = [query, &[("continue", next.as_str())]].concat();
            let page: PageDocument<T> = self.get(path, &query).await?;
            all.items.extend(page.items);
            (all.revision, all.next) = (page.revision, page.next);
        }
        Ok(List { revision: all.revision, items: all.items })
    }

    /// Writes, and reads the document that comes back, with its status.
    pub(super) async fn write<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        body: Body,
    ) -> Result<(StatusCode, T), Failure> {
        let (status, text) = self.send(method, path, query, body).await?;
        Ok((status, document(&text)?))
    }

    /// Asks with the token, and gives back status and text of a success.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        body: Body,
    ) -> Result<(StatusCode, String), Failure> {
        let token = self.token.as_ref().map_err(|what| Failure::NoToken(what.clone()))?;
        let request = self.http.request(method, self.address(path, query)).bearer_auth(token);
        let request = match body {
            Body::Nothing => request,
            Body::Json(value) => request.json(&value),
            Body::ZoneFile(text) => request.header(reqwest::header::CONTENT_TYPE, "text/dns").body(text),
        };
        let (status, text) = self.answer(request).await?;
        if status.is_success() { Ok((status, text)) } else { Err(problem(status, &text)) }
    }

    /// Opens an event stream, after an event if one is given.
    pub(super) async fn open_stream(
        &self,
        path: &str,
        query: &[(&str, &str)],
        last: Option<&str>,
    ) -> Result<reqwest::Response, Failure> {
        let token = self.token.as_ref().map_err(|what| Failure::NoToken(what.clone()))?;
        let request = self.http.get(self.address(path, query)).bearer_auth(token).timeout(STREAM_TIME);
        let request = request.header(reqwest::header::ACCEPT, "text/event-stream");
        let request = last.into_iter().fold(request, |request, last| request.header("last-event-id", last));
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let text = response.text().await.map_err(|error| self.unreachable(&error))?;
        Err(problem(status, &text))
    }

    /// Asks a route that needs no token, and gives back status and text whatever they are.
    pub(super) async fn ask_openly(&self, path: &str, query: &[(&str, &str)]) -> Result<(StatusCode, String), Failure> {
        self.answer(self.http.get(self.address(path, query))).await
    }

    /// The same server with another token.
    pub(super) fn with_token(&self, token: String) -> Client {
        Client { http: self.http.clone(), url: self.url.clone(), token: Ok(token) }
    }

    /// Patches through a door with JSON, and gives back status and text whatever they are.
    pub(super) async fn patch_by_door(&self, path: &str, body: &Value) -> Result<(StatusCode, String), Failure> {
        let token = self.token.as_ref().map_err(|what| Failure::NoToken(what.clone()))?;
        self.answer(self.http.patch(self.address(path, &[])).bearer_auth(token).json(body)).await
    }

    fn address(&self, path: &str, query: &[(&str, &str)]) -> String {
        let mut address = format!("{}{path}", self.url);
        for (at, (name, value)) in query.iter().enumerate() {
            address.push(if at == 0 { '?' } else { '&' });
            address.push_str(&format!("{name}={}", utf8_percent_encode(value, ESCAPED)));
        }
        address
    }

    async fn answer(&self, request: reqwest::RequestBuilder) -> Result<(StatusCode, String), Failure> {
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        let text = response.text().await.map_err(|error| self.unreachable(&error))?;
        Ok((status, text))
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        if error.is_builder() {
            return Failure::Usage(format!("{} is no URL: it is like http://127.0.0.1:8053", self.url));
        }
        let mut cause: &dyn std::error::Error = error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        let url = &self.url;
        Failure::Unavailable(format!(
            "no answer from the server at {url}: {cause}\n  start it with `tenured serve`, or say where it is with --url \
             or TENURED_URL"
        ))
    }
}

/// The URL by which a listener is reached from this machine.
fn url_of(listen: SocketAddr) -> String {
    let mut address = listen;
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    format!("http://{address}")
}

/// The token of a file, or a sentence why there is none.
fn token_of(file: &Path) -> Result<String, String> {
    let shown = file.display();
    let advice = "\n  run this in the directory of the server, or give --token-file or TENURED_TOKEN";
    let metadata = std::fs::metadata(file).map_err(|error| format!("no token: {shown}: {error}{advice}"))?;
    if metadata.len() > MAX_TOKEN_FILE {
        return Err(format!("{shown} is no token file: it has over {MAX_TOKEN_FILE} octets{advice}"));
    }
    let text = std::fs::read_to_string(file).map_err(|error| format!("no token: {shown}: {error}{advice}"))?;
    match text.trim() {
        "" => Err(format!("no token: {shown} is empty{advice}")),
        token if token.bytes().all(|octet| octet.is_ascii_graphic()) => Ok(token.to_owned()),
        _ => Err(format!("{shown} is no token file: a token is one word like tnd_…{advice}")),
    }
}

fn document<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::Failed {
        what: format!("the server's answer is not as expected: {error}"),
        advice: Some("is it tenured of the same version? `tenured version` tells".to_owned()),
    })
}

fn problem(status: StatusCode, text: &str) -> Failure {
    let mut problem: ProblemDocument = serde_json::from_str(text).unwrap_or_default();
    problem.status = status.as_u16();
    if problem.detail.is_empty() {
        problem.detail = format!("the server answered {status}");
    }
    Failure::Problem(Box::new(problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_path_are_encoded() {
        assert_eq!(
            path(&["v1", "owners", "k8s:prod/Gateway/shop/web", "records"]),
            "/v1/owners/k8s%3Aprod%2FGateway%2Fshop%2Fweb/records"
        );
        assert_eq!(path(&["v1", "zones", "a\\.b.example."]), "/v1/zones/a%5C.b.example.");
    }

    #[test]
    fn a_listener_on_all_addresses_is_asked_on_loopback() {
        let url = |text: &str| url_of(text.parse().expect("an address"));
        assert_eq!(url("0.0.0.0:8053"), "http://127.0.0.1:8053");
        assert_eq!(url("[::]:80"), "http://[::1]:80");
        assert_eq!(url("192.0.2.1:80"), "http://192.0.2.1:80");
    }
}
