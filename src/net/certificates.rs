//! The certificate of the encrypted listeners: read from files, read again when they change, and looked at for its end.
//! rustls with ring is the one provider of TLS in the binary.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};

use super::validity;

/// Largest file of certificates or of a key, in octets.
const MAX_FILE: u64 = 256 * 1024;

/// Whether the files hold something else than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// They hold what they held.
    Same,
    /// They were read, and new connections get the new certificate.
    Renewed,
}

/// See the module. Clones share it.
#[derive(Clone, Debug)]
pub struct Certificates(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    provider: Arc<CryptoProvider>,
    current: ArcSwap<Current>,
    files: Mutex<Files>,
}

struct Current {
    key: Arc<CertifiedKey>,
    /// Seconds since 1970 after which it is not valid, if that could be read.
    not_after: Option<u64>,
}

impl fmt::Debug for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Current {{ not_after: {:?} }}", self.not_after)
    }
}

#[derive(Clone, PartialEq, Eq)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
    /// What they held when they were read last.
    held: (Vec<u8>, Vec<u8>),
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Files {{ certificate: {:?}, key: {:?} }}", self.certificate, self.key)
    }
}

impl Certificates {
    /// Reads a chain and its key, both PEM. The error is a sentence that names the file.
    pub fn load(certificate: &Path, key: &Path) -> Result<Certificates, String> {
        let provider = Arc::new(ring::default_provider());
        let files = read(certificate, key)?;
        let current = ArcSwap::from_pointee(certified(&provider, &files)?);
        Ok(Certificates(Arc::new(Inner { provider, current, files: Mutex::new(files) })))
    }

    /// Reads the files again if they hold something else; what cannot be used leaves things as they are.
    pub fn renew(&self) -> Result<Renewal, String> {
        let mut files = self.0.files.lock().unwrap_or_else(PoisonError::into_inner);
        let now = read(&files.certificate, &files.key)?;
        if now == *files {
            return Ok(Renewal::Same);
        }
        self.0.current.store(Arc::new(certified(&self.0.provider, &now)?));
        *files = now;
        Ok(Renewal::Renewed)
    }

    /// Takes other files, as the configuration may say.
    pub fn move_to(&self, certificate: &Path, key: &Path) -> Result<Renewal, String> {
        let mut files = self.0.files.lock().unwrap_or_else(PoisonError::into_inner);
        let now = read(certificate, key)?;
        let renewal = if now.held == files.held { Renewal::Same } else { Renewal::Renewed };
        self.0.current.store(Arc::new(certified(&self.0.provider, &now)?));
        *files = now;
        Ok(renewal)
    }

    /// Seconds since 1970 after which it is not valid, if that could be read.
    pub fn not_after(&self) -> Option<u64> {
        self.0.current.load().not_after
    }

    /// What a listener on TCP offers, with these protocols (ALPN). No early data, so that nothing can be replayed.
    pub fn server_config(&self, protocols: &[&[u8]]) -> Result<Arc<ServerConfig>, String> {
        self.config(&[&TLS13, &TLS12], protocols)
    }

    /// What QUIC needs: TLS 1.3 (RFC 9001 section 4.2).
    pub(super) fn quic_config(&self, protocols: &[&[u8]]) -> Result<Arc<ServerConfig>, String> {
        self.config(&[&TLS13], protocols)
    }

    fn config(
        &self,
        versions: &[&'static rustls::SupportedProtocolVersion],
        protocols: &[&[u8]],
    ) -> Result<Arc<ServerConfig>, String> {
        let builder = ServerConfig::builder_with_provider(self.0.provider.clone())
            .with_protocol_versions(versions)
            .map_err(|error| format!("TLS cannot be set up: {error}"))?;
        let resolver = Arc::new(Resolver(self.clone()));
        let mut config = builder.with_no_client_auth().with_cert_resolver(resolver);
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Ok(Arc::new(config))
    }
}

#[derive(Debug)]
struct Resolver(Certificates);

impl ResolvesServerCert for Resolver {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.0.current.load().key.clone())
    }
}

fn read(certificate: &Path, key: &Path) -> Result<Files, String> {
    let file = |path: &Path| {
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        if std::fs::metadata(path).map_err(failed)?.len() > MAX_FILE {
            return Err(format!("{}: a certificate or key file has at most {MAX_FILE} octets", path.display()));
        }
        std::fs::read(path).map_err(failed)
    };
    Ok(Files { certificate: certificate.to_owned(), key: key.to_owned(), held: (file(certificate)?, file(key)?) })
}

fn certified(provider: &CryptoProvider, files: &Files) -> Result<Current, String> {
    let (certificate, key) = (files.certificate.display(), files.key.display());
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(&files.held.0)
            .collect::<Result<_, _>>()
            .map_err(|error| format!("{certificate}: no certificates in PEM: {error}"))?;
    let own = chain.first().ok_or_else(|| format!("{certificate}: there is no certificate in it"))?;
    let not_after = validity::not_after(own);
    let private = PrivateKeyDer::from_pem_slice(&files.held.1)
        .map_err(|error| format!("{key}: no private key in PEM: {error}"))?;
    let key = CertifiedKey::from_der(chain, private, provider)
        .map_err(|error| format!("{key}: it is no key of the certificate in {certificate}: {error}"))?;
    Ok(Current { key: Arc::new(key), not_after })
}
