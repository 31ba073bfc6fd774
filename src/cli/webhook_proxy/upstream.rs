//! The connection to the server: opened when it is needed, kept open between cycles, with or without TLS.

use std::future::poll_fn;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{HeaderMap, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::listen::Octets;
use crate::cli::failure::Failure;

/// Time to reach the server, its certificate checked.
const CONNECT_TIME: Duration = Duration::from_secs(4);
/// How long a connection may be idle and is used again: longer than a cycle, and shorter than the server keeps it.
const IDLE_TIME: Duration = Duration::from_secs(125);
/// Most octets of an answer.
const MAX_ANSWER: usize = 256 * 1024 * 1024;

/// Where the server is.
pub(super) struct Upstream {
    host: String,
    port: u16,
    /// Host and port as the `Host` header has them.
    authority: String,
    /// The path of the URL, without a final slash.
    base: String,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    /// The connection that was used last.
    kept: Mutex<Option<(SendRequest<Octets>, Instant)>>,
}

/// An answer of the server, whole.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Upstream {
    /// Of a URL; `ca_file` names whom to trust in place of the system's authorities.
    pub(super) fn new(url: &str, ca_file: Option<&Path>) -> Result<Upstream, Failure> {
        let wrong =
            || Failure::Usage(format!("{url} is no URL of the door: https://dns.example.net/externaldns/OWNER"));
        let uri: Uri = url.trim_end_matches('/').parse().map_err(|_| wrong())?;
        let is_secure = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            Some(_) | None => return Err(wrong()),
        };
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@')).ok_or_else(wrong)?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let tls = if is_secure {
            let name = ServerName::try_from(host.clone()).map_err(|_| wrong())?;
            Some((TlsConnector::from(Arc::new(client_config(ca_file)?)), name))
        } else {
            None
        };
        Ok(Upstream {
            port: authority.port_u16().unwrap_or(if is_secure { 443 } else { 80 }),
            authority: authority.to_string(),
            base: uri.path().trim_end_matches('/').to_owned(),
            host,
            tls,
            kept: Mutex::new(None),
        })
    }

    /// A request for a path below the URL.
    pub(super) fn request(&self, path: &str) -> hyper::http::request::Builder {
        let path = if self.base.is_empty() && path.is_empty() { "/" } else { path };
        Request::builder().uri(format!("{}{path}", self.base)).header(hyper::header::HOST, &self.authority)
    }

    /// Sends a request and takes the whole answer. The error is a sentence; then nothing is known of the request.
    pub(super) async fn send(&self, request: Request<Octets>) -> Result<Reply, String> {
        let mut sender = match self.take() {
            Some(sender) => sender,
            None => tokio::time::timeout(CONNECT_TIME, self.connect())
                .await
                .map_err(|_| format!("{} is not reached within {} s", self.authority, CONNECT_TIME.as_secs()))??,
        };
        let response = sender.send_request(request).await.map_err(|error| format!("{}: {error}", self.authority))?;
        let (parts, body) = response.into_parts();
        let body = whole(body).await?;
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some((sender, Instant::now()));
        Ok(Reply { status: parts.status, headers: parts.headers, body })
    }

    /// The connection of the last request, if it is still there.
    fn take(&self) -> Option<SendRequest<Octets>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.filter(|(sender, since)| since.elapsed() < IDLE_TIME && sender.is_ready()).map(|(sender, _)| sender)
    }

    async fn connect(&self) -> Result<SendRequest<Octets>, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.authority);
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        match &self.tls {
            None => self.speak(stream).await,
            Some((connector, name)) => self.speak(connector.connect(name.clone(), stream).await.map_err(failed)?).await,
        }
    }

    async fn speak<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        stream: S,
    ) -> Result<SendRequest<Octets>, String> {
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| format!("{}: {error}", self.authority))?;
        // It ends with the connection; what goes wrong is told to whoever waits for an answer.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(sender)
    }
}

async fn whole(mut body: Incoming) -> Result<Bytes, String> {
    let mut octets = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|error| format!("the answer broke off: {error}"))?;
        let Ok(data) = frame.into_data() else { continue };
        if octets.len() + data.len() > MAX_ANSWER {
            return Err(format!("the answer is over {MAX_ANSWER} octets"));
        }
        octets.extend_from_slice(&data);
    }
    Ok(octets.into())
}

fn client_config(ca_file: Option<&Path>) -> Result<ClientConfig, Failure> {
    let mut roots = RootCertStore::empty();
    match ca_file {
        Some(file) => {
            let wrong = |why: String| Failure::Usage(format!("{}: {why}", file.display()));
            let found = CertificateDer::pem_file_iter(file).map_err(|error| wrong(error.to_string()))?;
            for certificate in found {
                let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
                roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
            }
            if roots.is_empty() {
                return Err(wrong("there is no certificate in it".to_owned()));
            }
        }
        None => {
            // One that cannot be read is one less; none at all is an error that says so.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                let what = "the system has no certificates of authorities: give those of the server with --ca-file";
                return Err(Failure::failed(what.to_owned()));
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::failed(format!("TLS: {error}")))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_the_door_are_read_or_refused() {
        let of = |url: &str| Upstream::new(url, None);
        let upstream = of("http://127.0.0.1:8053/externaldns/prod/").expect("a URL");
        let request = upstream.request("/records").body(Octets::new("")).expect("a request");
        assert_eq!(request.uri().path(), "/externaldns/prod/records");
        assert_eq!(request.headers()["host"], "127.0.0.1:8053");
        let upstream = of("http://[::1]/externaldns/prod").expect("a URL");
        assert_eq!((upstream.host.as_str(), upstream.port), ("::1", 80));
        for wrong in ["", "127.0.0.1:8053", "ftp://host/x", "http://user:secret@host/x", "/externaldns/prod"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
