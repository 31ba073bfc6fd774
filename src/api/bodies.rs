//! Bodies of requests as octets: how large each may be, and how much room all of them have together.
//!
//! A body is counted before it is read, by the length that its head tells, or as it comes if the head tells none. What of
//! a body is over the size of a small one is counted apart: large bodies can use up their room, and small ones go on.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, header};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::Refused;
use crate::ledger::code::Code;

/// Octets up to which a body is small.
const SMALL: usize = 1024 * 1024;
/// Most octets of small bodies, and of the beginnings of large ones, together.
pub const MAX_SMALL_BODIES: usize = 64 * SMALL;
/// Most octets of what is over the size of a small body, of all bodies together: room for one zone file of the largest
/// size, or for one apply of the largest size, which is counted [`JSON_WEIGHT`] times.
pub const MAX_LARGE_BODIES: usize = 256 * SMALL;
/// What is read from JSON takes up to so many times the octets of its text, the text included.
pub const JSON_WEIGHT: usize = 3;
/// A body that brings nothing for so long is given up.
pub const MAX_BODY_PAUSE: Duration = Duration::from_secs(10);
/// Unit in which bodies are counted, in octets.
const UNIT: usize = 1024;

/// How large a body may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLimit {
    /// The route reads none.
    Nothing,
    /// 1 MiB.
    Small,
    /// 32 MiB: requests of the PowerDNS door.
    Door,
    /// 64 MiB: apply and change.
    Records,
    /// 256 MiB: zone files.
    ZoneFile,
}

impl BodyLimit {
    /// Octets.
    pub fn octets(self) -> usize {
        match self {
            BodyLimit::Nothing => 0,
            BodyLimit::Small => SMALL,
            BodyLimit::Door => 32 * SMALL,
            BodyLimit::Records => 64 * SMALL,
            BodyLimit::ZoneFile => 256 * SMALL,
        }
    }

    fn weight(self) -> usize {
        match self {
            BodyLimit::Nothing | BodyLimit::ZoneFile => 1,
            BodyLimit::Small | BodyLimit::Door | BodyLimit::Records => JSON_WEIGHT,
        }
    }
}

/// Room for the bodies of all requests. Clones share it.
#[derive(Clone, Debug)]
pub struct Bodies {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

impl Default for Bodies {
    fn default() -> Bodies {
        let room = |octets: usize| Arc::new(Semaphore::new(octets / UNIT));
        Bodies { small: room(MAX_SMALL_BODIES), large: room(MAX_LARGE_BODIES) }
    }
}

/// A body that was read, with the room it takes until it is dropped.
#[derive(Debug, Default)]
pub struct Held {
    /// The octets.
    pub octets: Bytes,
    room: Room,
}

#[derive(Debug, Default)]
struct Room {
    small: Option<OwnedSemaphorePermit>,
    large: Option<OwnedSemaphorePermit>,
}

impl Room {
    /// Makes room for a body of so many octets in all.
    fn grow(&mut self, bodies: &Bodies, octets: usize, limit: BodyLimit) -> Result<(), Refused> {
        more(&mut self.small, &bodies.small, octets.min(SMALL))?;
        more(&mut self.large, &bodies.large, octets.saturating_sub(SMALL) * limit.weight())
    }
}

fn more(held: &mut Option<OwnedSemaphorePermit>, of: &Arc<Semaphore>, octets: usize) -> Result<(), Refused> {
    let has = held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
    let missing = octets.div_ceil(UNIT).saturating_sub(has);
    if missing == 0 {
        return Ok(());
    }
    let missing = u32::try_from(missing).unwrap_or(u32::MAX);
    let permit = Arc::clone(of).try_acquire_many_owned(missing).map_err(|_| {
        let detail = "the bodies of other requests take all the room there is: send it again in a moment, or split it";
        Refused::new(Code::RateLimited, detail)
    })?;
    match held {
        Some(held) => held.merge(permit),
        None => *held = Some(permit),
    }
    Ok(())
}

impl Bodies {
    /// Reads a body up to its limit.
    pub async fn read(&self, headers: &HeaderMap, mut body: Body, limit: BodyLimit) -> Result<Held, Refused> {
        if limit == BodyLimit::Nothing {
            return Ok(Held::default());
        }
        let too_large = || {
            let detail = format!("the body is over {} octets, the most for this path: split it", limit.octets());
            Refused::new(Code::PayloadTooLarge, detail)
        };
        let told = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        if told.is_some_and(|length| length > limit.octets() as u64) {
            return Err(too_large());
        }
        let mut room = Room::default();
        let told = told.and_then(|length| usize::try_from(length).ok()).unwrap_or_default();
        if let Err(refused) = room.grow(self, told, limit) {
            // Who waits for a go-ahead is told by the refusal not to send it.
            if !headers.contains_key(header::EXPECT) {
                discard(&mut body).await;
            }
            return Err(refused);
        }
        let mut octets = Vec::with_capacity(told);
        loop {
            let frame =
                tokio::time::timeout(MAX_BODY_PAUSE, poll_fn(|context| Pin::new(&mut body).poll_frame(context)));
            let frame = frame.await.map_err(|_| Refused::bad_request("the body stopped coming: send it again"))?;
            let Some(frame) = frame else { break };
            let frame = frame.map_err(|_| Refused::bad_request("the body broke off: send it again"))?;
            let Ok(data) = frame.into_data() else { continue };
            let length = octets.len() + data.len();
            if length > limit.octets() {
                return Err(too_large());
            }
            room.grow(self, length, limit)?;
            octets.extend_from_slice(&data);
        }
        Ok(Held { octets: octets.into(), room })
    }
}

/// Takes what a client sends before it looks for an answer, and keeps none of it: a connection that is closed under its
/// hands would lose the refusal. A client that stops sending, or a body without an end, is not waited for.
async fn discard(body: &mut Body) {
    let most = BodyLimit::ZoneFile.octets();
    let mut taken = 0;
    while taken <= most {
        let frame = tokio::time::timeout(MAX_BODY_PAUSE, poll_fn(|context| Pin::new(&mut *body).poll_frame(context)));
        match frame.await {
            Ok(Some(Ok(frame))) => taken += frame.data_ref().map_or(0, Bytes::len),
            Ok(Some(Err(_)) | None) | Err(_) => return,
        }
    }
}

impl Held {
    /// Octets that are counted for it.
    pub fn counted(&self) -> usize {
        let units =
            |permit: &Option<OwnedSemaphorePermit>| permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        (units(&self.room.small) + units(&self.room.large)) * UNIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn told(length: usize) -> HeaderMap {
        let length = HeaderValue::from_str(&length.to_string()).expect("digits");
        HeaderMap::from_iter([(header::CONTENT_LENGTH, length)])
    }

    #[tokio::test]
    async fn large_bodies_use_up_their_room_and_small_ones_go_on() {
        let bodies = Bodies::default();
        let large = vec![b' '; 60 * SMALL];
        let first = bodies.read(&told(large.len()), Body::from(large.clone()), BodyLimit::Records).await;
        let first = first.expect("there is room for one");
        assert_eq!(first.counted(), SMALL + 59 * SMALL * JSON_WEIGHT);
        for _ in 0..23 {
            // Refused by what its head tells, before any of it is read.
            let refused = bodies.read(&told(large.len()), Body::empty(), BodyLimit::Records).await;
            assert_eq!(refused.expect_err("no room").document().code, "rate_limited");
        }
        let unsaid = bodies.read(&HeaderMap::new(), Body::from(large.clone()), BodyLimit::Records).await;
        assert_eq!(unsaid.expect_err("no room").document().status, 429, "counted as it comes");
        let small = vec![b' '; SMALL];
        let mut held = Vec::new();
        for _ in 0..MAX_SMALL_BODIES / SMALL - 1 {
            let read = bodies.read(&told(SMALL), Body::from(small.clone()), BodyLimit::Small).await;
            held.push(read.expect("small ones go on"));
        }
        assert!(bodies.read(&told(SMALL), Body::from(small), BodyLimit::Small).await.is_err());
        drop((first, held));
        let whole = bodies.read(&told(large.len()), Body::from(large), BodyLimit::Records).await;
        assert!(whole.is_ok(), "the room comes back");
    }

    #[tokio::test]
    async fn a_body_of_the_largest_size_has_room_when_it_is_alone() {
        for limit in [BodyLimit::Small, BodyLimit::Door, BodyLimit::Records, BodyLimit::ZoneFile] {
            let mut room = Room::default();
            assert!(room.grow(&Bodies::default(), limit.octets(), limit).is_ok(), "{limit:?}");
        }
    }
}
