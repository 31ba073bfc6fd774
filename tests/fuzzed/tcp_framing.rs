//! Octets as a TCP stream, in pieces of any size, against the plainest way to cut it into messages.

use tenured::net::framing::{Incoming, Next};

/// How a stream ends, besides the messages that it has.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Clean,
    InAMessage,
    NoMessage,
}

/// The messages of a whole stream and its end.
fn all_at_once(mut rest: &[u8]) -> (Vec<Vec<u8>>, End) {
    let mut messages = Vec::new();
    loop {
        match rest {
            [] => return (messages, End::Clean),
            [_] => return (messages, End::InAMessage),
            [high, low, behind @ ..] => {
                let length = usize::from(*high) * 256 + usize::from(*low);
                if length < 12 {
                    return (messages, End::NoMessage);
                }
                if behind.len() < length {
                    return (messages, End::InAMessage);
                }
                messages.push(behind[..length].to_vec());
                rest = &behind[length..];
            }
        }
    }
}

/// The input of [`run`] for messages in pieces of these sizes, at most 15.
pub fn seed(sizes: &[u8], messages: &[Vec<u8>]) -> Vec<u8> {
    let mut input = vec![sizes.len() as u8];
    input.extend_from_slice(sizes);
    for message in messages {
        input.extend_from_slice(&(message.len() as u16).to_be_bytes());
        input.extend_from_slice(message);
    }
    input
}

/// The first octet says how many pieces' sizes follow it, which are used in turn (0 means 256); behind them is the stream.
pub fn run(input: &[u8]) {
    let Some((&count, rest)) = input.split_first() else { return };
    let Some((sizes, stream)) = rest.split_at_checked(usize::from(count % 16)) else { return };
    let (messages, end) = all_at_once(stream);
    let mut sizes = sizes.iter().map(|size| if *size == 0 { 256 } else { usize::from(*size) }).cycle();
    let mut incoming = Incoming::default();
    let mut found = Vec::new();
    let mut state = Next::Empty;
    let mut rest = stream;
    while !rest.is_empty() && state != Next::NoMessage {
        let (piece, behind) = rest.split_at(sizes.next().unwrap_or(1).min(rest.len()));
        rest = behind;
        incoming.room(piece.len()).extend_from_slice(piece);
        loop {
            state = match incoming.take() {
                Next::Message(message) => {
                    found.push(message.to_vec());
                    continue;
                }
                Next::Unfinished => Next::Unfinished,
                Next::Empty => Next::Empty,
                Next::NoMessage => Next::NoMessage,
            };
            break;
        }
        assert_eq!(incoming.is_empty(), state == Next::Empty);
        if found.len() % 2 == 0 {
            // It may be done at any time.
            incoming.forget();
        }
    }
    assert_eq!(found, messages);
    let wanted = match end {
        End::Clean => Next::Empty,
        End::InAMessage => Next::Unfinished,
        End::NoMessage => Next::NoMessage,
    };
    assert_eq!(state, wanted);
}
