//! Which TCP connections there are: how many may be, in all and from one client, and which of them goes when there is
//! no place for another (answers.md T5, T7; reliability.md section 4).

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Most connections from one /32 or /64, unless the configuration says otherwise.
const MAX_PER_CLIENT: usize = 100;
/// Longest idle time-out above half of all connections.
pub(super) const IDLE_CROWDED: Duration = Duration::from_secs(10);
/// The longest idle are looked for among all connections so many at a time, so that looking is rare.
const OLDEST: usize = 128;

/// How many connections there may be, and how long they may do nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// In all.
    pub all: usize,
    /// From one IPv4 address or IPv6 /64. None means 100, with loopback addresses exempt: behind one stands a proxy on
    /// the same machine, or nobody to be afraid of.
    pub per_client: Option<usize>,
    /// Idle time-out; above half of all connections it is 10 s at most.
    pub idle: Duration,
}

impl ConnectionLimits {
    /// The idle time-out when it is so full.
    pub(super) fn idle_timeout(&self, crowd: Crowd) -> Duration {
        match crowd {
            Crowd::Few => self.idle,
            Crowd::Many => self.idle.min(IDLE_CROWDED),
        }
    }
}

/// How full it is, which decides how long an idle connection may stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crowd {
    /// At most half of the connections that there may be.
    Few,
    /// More.
    Many,
}

/// All connections of a server.
#[derive(Debug)]
pub(super) struct Connections {
    limits: ConnectionLimits,
    start: Instant,
    count: AtomicUsize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    seats: HashMap<u64, Seat>,
    clients: HashMap<IpAddr, Vec<u64>>,
    /// The longest idle of all when they were last looked for, the longest last, with the time of their last activity.
    /// Who was active since is no candidate any more; who is not among them has been idle for a shorter time.
    oldest: Vec<(u64, u64)>,
}

#[derive(Debug)]
struct Seat {
    network: IpAddr,
    guest: Arc<Guest>,
}

/// What a connection and the table know of each other.
#[derive(Debug)]
struct Guest {
    /// Microseconds after [`Connections::start`] when it last did anything.
    active: AtomicU64,
    leave: Notify,
}

/// The place that a connection holds; given back when dropped.
pub struct Place {
    connections: Arc<Connections>,
    id: u64,
    guest: Arc<Guest>,
}

impl Connections {
    pub(super) fn new(limits: ConnectionLimits) -> Connections {
        Connections { limits, start: Instant::now(), count: AtomicUsize::new(0), table: Mutex::default() }
    }

    /// A place for a connection from `peer`. If there is none, the longest idle of the client, or of all, is told to go.
    pub(super) fn enter(self: &Arc<Self>, peer: IpAddr) -> Place {
        let network = network(peer);
        let guest = Arc::new(Guest { active: AtomicU64::new(self.now()), leave: Notify::new() });
        let mut table = self.table();
        let own = table.clients.get(&network).map_or(0, Vec::len);
        if own >= self.most_of(network)
            && let Some(id) = table.oldest_of(network)
        {
            table.send_away(id);
        }
        while table.seats.len() >= self.limits.all.max(1)
            && let Some(id) = table.oldest_of_all()
        {
            table.send_away(id);
        }
        let id = table.next;
        table.next += 1;
        table.seats.insert(id, Seat { network, guest: guest.clone() });
        table.clients.entry(network).or_default().push(id);
        self.count.store(table.seats.len(), Ordering::Relaxed);
        Place { connections: self.clone(), id, guest }
    }

    fn crowd(&self) -> Crowd {
        if self.count.load(Ordering::Relaxed) > self.limits.all / 2 { Crowd::Many } else { Crowd::Few }
    }

    fn most_of(&self, network: IpAddr) -> usize {
        match self.limits.per_client {
            Some(most) => most.max(1),
            None if network.is_loopback() => usize::MAX,
            None => MAX_PER_CLIENT,
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Every change of the table is whole before anything can panic.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_micros() as u64
    }
}

impl Table {
    fn active(&self, id: u64) -> Option<u64> {
        self.seats.get(&id).map(|seat| seat.guest.active.load(Ordering::Relaxed))
    }

    fn oldest_of(&self, network: IpAddr) -> Option<u64> {
        let own = self.clients.get(&network)?;
        own.iter().copied().min_by_key(|id| (self.active(*id), *id))
    }

    fn oldest_of_all(&mut self) -> Option<u64> {
        for _round in 0..2 {
            while let Some((id, active)) = self.oldest.pop() {
                if self.active(id) == Some(active) {
                    return Some(id);
                }
            }
            let mut all: Vec<(u64, u64)> =
                self.seats.iter().map(|(id, seat)| (*id, seat.guest.active.load(Ordering::Relaxed))).collect();
            if all.len() > OLDEST {
                all.select_nth_unstable_by_key(OLDEST - 1, |(id, active)| (*active, *id));
                all.truncate(OLDEST);
            }
            all.sort_unstable_by_key(|(id, active)| std::cmp::Reverse((*active, *id)));
            self.oldest = all;
        }
        // All of them were active while they were looked at: any one.
        self.seats.keys().next().copied()
    }

    fn send_away(&mut self, id: u64) {
        if let Some(guest) = self.remove(id) {
            guest.leave.notify_one();
        }
    }

    fn remove(&mut self, id: u64) -> Option<Arc<Guest>> {
        let Seat { network, guest } = self.seats.remove(&id)?;
        if let Some(own) = self.clients.get_mut(&network) {
            own.retain(|one| *one != id);
            if own.is_empty() {
                self.clients.remove(&network);
            }
        }
        Some(guest)
    }
}

impl Place {
    /// Notes that the connection did something, now.
    pub fn active(&self) {
        self.guest.active.store(self.connections.now(), Ordering::Relaxed);
    }

    /// Ends when the place is wanted for another connection.
    pub async fn wanted(&self) {
        self.guest.leave.notified().await;
    }

    /// How full it is now.
    pub fn crowd(&self) -> Crowd {
        self.connections.crowd()
    }

    /// The idle time-out now.
    pub(super) fn idle_timeout(&self) -> Duration {
        self.connections.limits.idle_timeout(self.crowd())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut table = self.connections.table();
        table.remove(self.id);
        self.connections.count.store(table.seats.len(), Ordering::Relaxed);
    }
}

/// The /32 or /64 of a client.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) if v6.is_loopback() => IpAddr::V6(v6),
        IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) & (u128::MAX << 64)).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(all: usize, per_client: Option<usize>) -> Arc<Connections> {
        Arc::new(Connections::new(ConnectionLimits { all, per_client, idle: Duration::from_secs(30) }))
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// Whether it was told to go.
    fn gone(place: &Place) -> bool {
        let mut wanted = std::pin::pin!(place.wanted());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        wanted.as_mut().poll(&mut context).is_ready()
    }

    /// A place that was active at a time.
    fn at(connections: &Arc<Connections>, peer: &str, active: u64) -> Place {
        let place = connections.enter(address(peer));
        place.guest.active.store(active, Ordering::Relaxed);
        place
    }

    #[test]
    fn at_the_limit_of_a_client_its_own_longest_idle_goes() {
        let connections = connections(100, Some(3));
        let other = at(&connections, "192.0.2.2", 1);
        let places = [7, 5, 6].map(|active| at(&connections, "192.0.2.1", active));
        assert!(places.iter().all(|place| !gone(place)), "at the limit all stay");
        let fourth = at(&connections, "192.0.2.1", 8);
        assert_eq!([&places[0], &places[1], &places[2], &fourth, &other].map(gone), [false, true, false, false, false]);
        drop(places);
        assert_eq!(connections.table().clients.len(), 2);
        drop((fourth, other));
        assert!(connections.table().clients.is_empty() && connections.table().seats.is_empty());
    }

    #[test]
    fn at_the_limit_of_all_the_longest_idle_goes_whoever_was_active_since_they_were_looked_for() {
        let connections = connections(300, None);
        let places: Vec<Place> =
            (0..300_u64).map(|number| at(&connections, &format!("192.0.2.{}", number % 200), number)).collect();
        assert!(!places.iter().any(gone));
        let mut later = vec![at(&connections, "198.51.100.1", 1_000)];
        assert!(gone(&places[0]) && !gone(&places[1]));
        places[1].guest.active.store(2_000, Ordering::Relaxed);
        for number in 0..250 {
            later.push(at(&connections, "2001:db8::1", 1_001 + number));
            assert_eq!(connections.count.load(Ordering::Relaxed), 300);
        }
        let gone: Vec<usize> = (0..300).filter(|number| gone(&places[*number])).collect();
        // Those of 2001:db8::/64 above 100 made room among themselves.
        assert_eq!(gone, (2..102).collect::<Vec<_>>());
        assert_eq!(later.iter().filter(|place| gone_once(place)).count(), 150);
    }

    fn gone_once(place: &Place) -> bool {
        !place.connections.table().seats.contains_key(&place.id)
    }

    #[test]
    fn loopback_is_exempt_unless_a_number_is_configured_and_a_64_is_one_client() {
        let free = connections(1_000, None);
        let places: Vec<Place> = (0..300).map(|number| at(&free, "127.0.0.1", number)).collect();
        assert!(!places.iter().any(gone));
        let sixes: Vec<Place> = (0..101).map(|number| at(&free, &format!("2001:db8::{number}"), 1 + number)).collect();
        assert!(gone(&sixes[0]) && !gone(&sixes[1]));
        let bound = connections(1_000, Some(2));
        let places: Vec<Place> = (0..3).map(|number| at(&bound, "::ffff:127.0.0.1", 1 + number)).collect();
        assert!(gone(&places[0]) && !gone(&places[1]));
    }

    #[test]
    fn above_half_of_the_limit_the_idle_have_less_time() {
        let connections = connections(10, None);
        let mut places: Vec<Place> = (0..5).map(|number| at(&connections, "127.0.0.1", number)).collect();
        assert_eq!(places[0].idle_timeout(), Duration::from_secs(30));
        places.push(at(&connections, "127.0.0.1", 9));
        assert_eq!(places[0].idle_timeout(), Duration::from_secs(10));
        places.pop();
        assert_eq!(connections.crowd(), Crowd::Few);
    }
}
