//! Standard Base64 with padding (RFC 4648 section 4), read strictly.

/// The octets of a text; none if it is no such text.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let octets = text.as_bytes();
    if octets.is_empty() || !octets.len().is_multiple_of(4) {
        return None;
    }
    let padding = octets.iter().rev().take_while(|octet| **octet == b'=').count();
    if padding > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(octets.len() / 4 * 3);
    let digits = &octets[..octets.len() - padding];
    for group in digits.chunks(4) {
        let mut word = 0_u32;
        for octet in group {
            word = word << 6 | digit(*octet)?;
        }
        let bits = group.len() * 6;
        // What does not fill an octet is zero.
        let rest = bits % 8;
        if word & ((1 << rest) - 1) != 0 {
            return None;
        }
        let word = word >> rest;
        let count = bits / 8;
        out.extend_from_slice(&word.to_be_bytes()[4 - count..]);
    }
    Some(out)
}

fn digit(octet: u8) -> Option<u32> {
    let value = match octet {
        b'A'..=b'Z' => octet - b'A',
        b'a'..=b'z' => octet - b'a' + 26,
        b'0'..=b'9' => octet - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
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
