//! API tokens: `tnd_<id>_<secret>`, of which the store has only a hash.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::error::StoreError;

/// A token just made; its text is shown once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minted {
    /// Its id.
    pub id: String,
    /// The whole text, `tnd_<id>_<secret>`.
    pub text: String,
    /// SHA-256 of the secret.
    pub hash: [u8; 32],
}

/// Makes a token of random octets.
pub fn mint() -> Result<Minted, StoreError> {
    let mut octets = [0_u8; 38];
    getrandom::fill(&mut octets).map_err(StoreError::Random)?;
    let id = hexadecimal(&octets[..6]);
    let secret = hexadecimal(&octets[6..]);
    Ok(Minted { text: format!("tnd_{id}_{secret}"), hash: hash(&secret), id })
}

/// Id and secret of a token's text.
pub fn split(text: &str) -> Option<(&str, &str)> {
    let (id, secret) = text.strip_prefix("tnd_")?.split_once('_')?;
    (!id.is_empty() && !secret.is_empty()).then_some((id, secret))
}

/// What is stored of a secret.
pub fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Whether a secret is the one of a stored hash, in a time that does not tell how much of it is right.
pub fn matches(secret: &str, stored: &[u8; 32]) -> bool {
    hash(secret).ct_eq(stored).into()
}

fn hexadecimal(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_again_by_its_secret_alone() {
        let minted = mint().expect("random numbers");
        let (id, secret) = split(&minted.text).expect("its own text");
        assert_eq!(id, minted.id);
        assert!(matches(secret, &minted.hash));
        assert!(!matches("other", &minted.hash));
        assert_ne!(mint().expect("random numbers").text, minted.text);
        for text in ["", "tnd_", "tnd_a", "tnd_a_", "x_a_b"] {
            assert_eq!(split(text), None, "{text}");
        }
    }
}
