//! Standard Base64 with padding (RFC 4648 section 4), read strictly.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The octets of a text; none if it is no such text, or empty.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok().filter(|octets| !octets.is_empty())
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn the_vectors_of_rfc_4648_are_read_and_nothing_else() {
        for (text, wanted) in
            [("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmE=", "fooba"), ("Zm9vYmFy", "foobar")]
        {
            assert_eq!(decode(text).as_deref(), Some(wanted.as_bytes()), "{text}");
        }
        for text in ["", "Zg", "Zg=", "Z===", "Zh==", "Zg==\n", "Z-8=", "====", "Zm9v Zm9"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
