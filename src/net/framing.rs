//! How a stream of octets is cut into messages: each has its length before it, in two octets (RFC 1035 section 4.2.2).
//! Pure: what was read comes in, in pieces of any size, and messages go out.

use crate::wire::query::HEADER;

/// Octets of the length before a message.
const LENGTH: usize = 2;

/// What a stream has next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// A whole message, at least a header long, without its length. It counts as taken.
    Message(&'a [u8]),
    /// Part of a message, or of its length: more must be read.
    Unfinished,
    /// Nothing: all that was read has been taken.
    Empty,
    /// A length that no message has (answers.md T9). Nothing behind it can be told apart any more.
    NoMessage,
}

/// What was read from a stream and not taken yet: at most what one reading adds to one message.
#[derive(Debug, Default)]
pub struct Incoming {
    octets: Vec<u8>,
    taken: usize,
}

impl Incoming {
    /// Room behind what is there, for `octets` more at least, for a reading to append to.
    pub fn room(&mut self, octets: usize) -> &mut Vec<u8> {
        self.forget();
        self.octets.reserve(octets);
        &mut self.octets
    }

    /// Takes the next message, if it is whole.
    #[inline]
    pub fn take(&mut self) -> Next<'_> {
        let rest = &self.octets[self.taken..];
        let Some((length, behind)) = rest.split_first_chunk::<LENGTH>() else {
            return if rest.is_empty() { Next::Empty } else { Next::Unfinished };
        };
        let length = usize::from(u16::from_be_bytes(*length));
        if length < HEADER {
            return Next::NoMessage;
        }
        match behind.get(..length) {
            Some(message) => {
                self.taken += LENGTH + length;
                Next::Message(message)
            }
            None => Next::Unfinished,
        }
    }

    /// Whether all that was read has been taken.
    pub fn is_empty(&self) -> bool {
        self.taken == self.octets.len()
    }

    /// Gives up the octets that were taken, and all memory if none are left: an idle connection holds no buffer.
    pub fn forget(&mut self) {
        if self.is_empty() {
            self.octets = Vec::new();
        } else {
            self.octets.drain(..self.taken);
        }
        self.taken = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_below_a_header_is_no_message_and_one_of_a_header_is() {
        for length in 0..=13_u8 {
            let mut incoming = Incoming::default();
            incoming.room(2).extend_from_slice(&[0, length]);
            let wanted = if length < 12 { Next::NoMessage } else { Next::Unfinished };
            assert_eq!(incoming.take(), wanted, "{length}");
        }
    }

    #[test]
    fn memory_is_given_back_when_all_is_taken() {
        let mut incoming = Incoming::default();
        incoming.room(2048).extend_from_slice(&[&[0, 12][..], &[7; 12], &[0]].concat());
        assert_eq!(incoming.take(), Next::Message(&[7; 12]));
        assert_eq!(incoming.take(), Next::Unfinished);
        incoming.room(1).extend_from_slice(&[[12].as_slice(), &[8; 12]].concat());
        assert_eq!(incoming.take(), Next::Message(&[8; 12]));
        assert_eq!(incoming.take(), Next::Empty);
        incoming.forget();
        assert_eq!(incoming.octets.capacity(), 0);
    }
}
