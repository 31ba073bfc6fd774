//! Clients of the encrypted transports for tests, and certificates made when a test runs.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto, pki_types::CertificateDer};
use tokio_rustls::{TlsConnector, rustls};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(8);
/// The name in the certificates.
const NAME: &str = "ns1.example.net";

/// How a query goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    Tcp,
    Tls,
    Quic,
    Get,
    Post,
}

/// What became of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Became {
    Reply(Vec<u8>),
    /// The stream or the connection ended without one.
    Ended,
    /// QUIC: the connection was closed with this code.
    Closed(u64),
    /// HTTP: this status, not 200.
    Status(u16),
}

/// A certificate with its key in files.
pub(crate) struct Certificate {
    pub(crate) chain: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) pem: String,
}

/// Writes a certificate that is good from a year to a year, into `<name>.pem` and `<name>.key` of a folder.
pub(crate) fn certificate(folder: &Path, name: &str, years: (i32, i32)) -> Certificate {
    let mut parameters = rcgen::CertificateParams::new(vec![NAME.to_owned()]).expect("a name");
    parameters.not_before = rcgen::date_time_ymd(years.0, 1, 1);
    parameters.not_after = rcgen::date_time_ymd(years.1, 1, 1);
    let pair = rcgen::KeyPair::generate().expect("a key");
    let signed = parameters.self_signed(&pair).expect("a certificate");
    let (chain, key) = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key")));
    std::fs::write(&key, pair.serialize_pem()).expect("the key's file");
    std::fs::write(&chain, signed.pem()).expect("the certificate's file");
    Certificate { chain, key, pem: signed.pem() }
}

/// A client that trusts one certificate and no other.
pub(crate) struct Client {
    config: Arc<ClientConfig>,
}

impl Client {
    pub(crate) fn trusting(pem: &str, protocol: &[u8]) -> Client {
        let mut roots = RootCertStore::empty();
        let own = CertificateDer::from_pem_slice(pem.as_bytes()).expect("a certificate");
        roots.add(own).expect("a certificate to trust");
        let mut config = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        Client { config: Arc::new(config) }
    }

    /// A TLS connection; the error is the client's.
    pub(crate) async fn connect(&self, server: SocketAddr) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(server).await?;
        let name = ServerName::try_from(NAME).expect("a name");
        tokio::time::timeout(PATIENCE, TlsConnector::from(self.config.clone()).connect(name, stream)).await?
    }

    /// A QUIC connection.
    pub(crate) async fn dial(&self, server: SocketAddr) -> (quinn::Endpoint, quinn::Connection) {
        let crypto = quinn::crypto::rustls::QuicClientConfig::try_from(self.config.clone()).expect("TLS 1.3");
        let mut endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().expect("an address")).expect("an endpoint");
        endpoint.set_default_client_config(quinn::ClientConfig::new(Arc::new(crypto)));
        let connecting = endpoint.connect(server, NAME).expect("a connection begins");
        let connection = tokio::time::timeout(PATIENCE, connecting).await.expect("in time").expect("a connection");
        (endpoint, connection)
    }
}

/// Sends a message as a stream of a connection and reads to the end. The octets are sent as they are.
pub(crate) async fn quic_stream(connection: &quinn::Connection, octets: &[u8]) -> Became {
    let work = async {
        let (mut send, mut receive) = connection.open_bi().await.ok()?;
        send.write_all(octets).await.ok()?;
        send.finish().ok()?;
        receive.read_to_end(70_000).await.ok()
    };
    match tokio::time::timeout(PATIENCE, work).await.expect("in time") {
        Some(read) if read.len() > 2 => Became::Reply(read[2..].to_vec()),
        Some(_) => Became::Ended,
        None => match connection.close_reason() {
            Some(quinn::ConnectionError::ApplicationClosed(close)) => Became::Closed(close.error_code.into_inner()),
            Some(_) | None => Became::Ended,
        },
    }
}

pub(crate) fn framed(octets: &[u8]) -> Vec<u8> {
    [&(octets.len() as u16).to_be_bytes()[..], octets].concat()
}

/// A message over a carrier.
pub(crate) async fn exchange(carrier: Carrier, server: SocketAddr, pem: &str, octets: &[u8]) -> Became {
    match carrier {
        Carrier::Tcp => framed_exchange(TcpStream::connect(server).await.expect("a connection"), octets).await,
        Carrier::Tls => {
            let stream = Client::trusting(pem, b"dot").connect(server).await.expect("a TLS connection");
            framed_exchange(stream, octets).await
        }
        Carrier::Quic => {
            let (_endpoint, connection) = Client::trusting(pem, b"doq").dial(server).await;
            quic_stream(&connection, &framed(octets)).await
        }
        Carrier::Get => {
            let head = format!("GET /dns-query?dns={} HTTP/1.1\r\nHost: {NAME}\r\n\r\n", base64url(octets));
            http(pem, server, head.as_bytes()).await.1
        }
        Carrier::Post => {
            let length = octets.len();
            let head = format!(
                "POST /dns-query HTTP/1.1\r\nHost: {NAME}\r\nContent-Type: application/dns-message\r\n\
                 Content-Length: {length}\r\n\r\n"
            );
            http(pem, server, &[head.as_bytes(), octets].concat()).await.1
        }
    }
}

async fn framed_exchange(
    mut stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    octets: &[u8],
) -> Became {
    let work = async {
        stream.write_all(&framed(octets)).await.ok()?;
        let length = stream.read_u16().await.ok()?;
        let mut reply = vec![0; usize::from(length)];
        stream.read_exact(&mut reply).await.ok()?;
        Some(reply)
    };
    // What gets no reply leaves the connection open: a little patience tells.
    match tokio::time::timeout(PATIENCE / 8, work).await {
        Ok(Some(reply)) => Became::Reply(reply),
        Ok(None) | Err(_) => Became::Ended,
    }
}

/// A request over HTTP/1.1, written as it is: head of the response, and what became of it.
pub(crate) async fn http(pem: &str, server: SocketAddr, request: &[u8]) -> (String, Became) {
    let mut stream = Client::trusting(pem, b"http/1.1").connect(server).await.expect("a TLS connection");
    stream.write_all(request).await.expect("the request is sent");
    let mut read = Vec::new();
    let work = async {
        loop {
            if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&read[..end]).to_ascii_lowercase();
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
                if read.len() >= end + 4 + length.unwrap_or(0) {
                    return (head, read[end + 4..].to_vec());
                }
            }
            let more = stream.read_buf(&mut read).await.unwrap_or(0);
            assert!(more > 0, "the response ends early: {}", String::from_utf8_lossy(&read));
        }
    };
    let (head, body) = tokio::time::timeout(PATIENCE, work).await.expect("in time");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let became = if status == 200 { Became::Reply(body) } else { Became::Status(status) };
    (head, became)
}

/// Base64url without padding.
pub(crate) fn base64url(octets: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::new();
    for part in octets.chunks(3) {
        let bits = part.iter().fold(0_u32, |bits, octet| bits << 8 | u32::from(*octet)) << (8 * (3 - part.len()));
        for index in 0..=part.len() {
            out.push(char::from(DIGITS[(bits >> (18 - 6 * index)) as usize & 63]));
        }
    }
    out
}

/// Whether an error of a TLS connection is that of a certificate that is over.
pub(crate) fn is_expired(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::InvalidCertificate(why)) if format!("{why:?}").contains("Expired"))
}
