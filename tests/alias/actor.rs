//! The actor between a Snapshot that changes and a real server on loopback.

use std::sync::Arc;
use std::time::Duration;

use tenured::alias::actor::{Setup, spawn};
use tenured::alias::engine::MAX_IN_FLIGHT;
use tenured::alias::engine::Refreshed;
use tenured::alias::handle::{AliasHandle, Ended};
use tenured::alias::pace::Pace;
use tenured::alias::resolver::Upstreams;
use tenured::clock::Clock;
use tenured::wire::codes::Rtype;
use tenured::wire::name::{HashKey, Name};
use tenured::zone::alias::{AliasBatch, AliasEntry, AliasRecord, AliasState, Family, Moment};
use tenured::zone::content::Zone;
use tenured::zone::node::RRset;
use tenured::zone::policy::Hold;
use tenured::zone::published::SnapshotWriter;
use tenured::zone::snapshot::Snapshot;
use tenured::zone::walk::Trust;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::timeline::target;
use crate::upstream::{A, AAAA, Say, Upstream, Value};

const TARGET: &str = "edge.proxy.test.";

/// What the controller does, as far as ALIAS goes.
struct Controller {
    writer: SnapshotWriter,
    current: Snapshot,
    revisions: watch::Sender<u64>,
    batches: mpsc::Receiver<AliasBatch>,
    clock: Clock,
    handle: AliasHandle,
    task: JoinHandle<()>,
}

impl Controller {
    fn start(upstream: &Upstream) -> Controller {
        let key = HashKey::new(3, 4);
        let mut current = Snapshot::new(key);
        current.put_zone(Arc::new(Zone::new(name("example.com."), key, 1)));
        let writer = SnapshotWriter::new(current.clone());
        let (revisions, watched) = watch::channel(0);
        let (batches_out, batches) = mpsc::channel(16);
        let clock = Clock::manual(Moment(1_790_000_000_000));
        let setup = Setup {
            clock: clock.clone(),
            published: writer.published(),
            revisions: watched,
            trust: Trust::default(),
            lookups: MAX_IN_FLIGHT,
            pace: Pace::default(),
            seed: 5,
        };
        let upstreams = Upstreams::new(&[vec![upstream.address]]).expect("an upstream");
        let (handle, task) = spawn(upstreams, setup, batches_out);
        Controller { writer, current, revisions, batches, clock, handle, task }
    }

    fn publish(&mut self) {
        self.current.revision += 1;
        self.writer.publish(self.current.clone());
        self.revisions.send_replace(self.current.revision);
    }

    /// Puts an ALIAS at a name of the zone, or takes away what stands there.
    fn set(&mut self, at: &str, alias: Option<&str>) {
        let mut zone = (**self.current.zone(&name("example.com.")).expect("the zone")).clone();
        let rrsets: Vec<RRset> = alias
            .into_iter()
            .map(|target| {
                let target = name(target).as_wire().to_vec();
                let record = AliasRecord::plain(target, vec![1]);
                RRset { rtype: Rtype::ALIAS, ttl: 300, records: vec![record.encode()] }
            })
            .collect();
        zone.set(&name(at), &rrsets);
        self.current.put_zone(Arc::new(zone));
        self.publish();
    }

    /// Takes in batches until the target is as wanted.
    async fn until(&mut self, is: impl Fn(Option<&AliasEntry>) -> bool) {
        let target = target(TARGET);
        let mut pauses = 0;
        while !is(self.current.alias.entry(&target).map(AsRef::as_ref)) {
            match tokio::time::timeout(Duration::from_secs(3), self.batches.recv()).await {
                Ok(batch) => {
                    self.current.alias.apply(batch.expect("the actor runs"));
                    self.publish();
                }
                // A machine that stood still makes a lookup time out, and it is done again once its back-off is over.
                Err(_elapsed) => {
                    pauses += 1;
                    assert!(pauses < 5, "a batch in time");
                    self.clock.advance(3_000);
                }
            }
        }
    }

    async fn until_both_are(&mut self, state: AliasState) {
        self.until(|entry| entry.is_some_and(|entry| entry.a.state == state && entry.aaaa.state == state)).await;
    }
}

fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

async fn healthy() -> Upstream {
    let upstream = Upstream::start().await;
    upstream.says(TARGET, A, Say::Records(vec![(TARGET, 60, Value::Address("192.0.2.10"))]));
    upstream.says(TARGET, AAAA, Say::Records(vec![(TARGET, 60, Value::Address("2001:db8::10"))]));
    upstream
}

#[tokio::test]
async fn an_alias_that_is_published_is_resolved_and_one_that_goes_is_forgotten() {
    let upstream = healthy().await;
    let mut controller = Controller::start(&upstream);
    controller.set("www.example.com.", Some(TARGET));
    controller.until_both_are(AliasState::Resolved).await;
    let entry = controller.current.alias.entry(&target(TARGET)).expect("the entry");
    assert_eq!(*entry.a.addresses.octets(Family::A), [192, 0, 2, 10]);

    let view = controller.handle.status_of(&target(TARGET)).await.expect("the actor").expect("the target");
    assert_eq!(view.status.records, 1);
    assert_eq!(view.records.iter().map(|one| one.name.to_string()).collect::<Vec<_>>(), ["www.example.com."]);
    assert!(view.status.a.next_refresh.is_some_and(|next| next >= entry.a.expires(Hold::default())));

    controller.set("www.example.com.", None);
    // Once it tells that no record is left, a minute goes by.
    while controller
        .handle
        .status_of(&target(TARGET))
        .await
        .expect("the actor")
        .is_some_and(|one| one.status.records > 0)
    {
        tokio::task::yield_now().await;
    }
    controller.clock.advance(61_000);
    controller.until(|entry| entry.is_none()).await;
    assert_eq!(controller.handle.status().await, Ok(vec![]));
}

#[tokio::test]
async fn a_target_that_dies_is_found_out_at_its_refresh_and_by_request() {
    let upstream = healthy().await;
    let mut controller = Controller::start(&upstream);
    controller.set("*.example.com.", Some(TARGET));
    controller.until_both_are(AliasState::Resolved).await;
    for rtype in [A, AAAA] {
        upstream.says(TARGET, rtype, Say::NameError(vec![], Some(60)));
    }
    controller.clock.advance(3_000);
    let refreshed = controller.handle.refresh(vec![target(TARGET), target("nobody.test.")]).await;
    assert_eq!(refreshed, Ok(vec![Refreshed::Accepted, Refreshed::Unknown]));
    controller.until_both_are(AliasState::Suspect).await;
    controller.clock.advance(31_000);
    controller.until_both_are(AliasState::TargetNxdomain).await;
    let entry = controller.current.alias.entry(&target(TARGET)).expect("the entry");
    assert_eq!(*entry.a.addresses.octets(Family::A), [192, 0, 2, 10], "what it was is kept");
}

#[tokio::test]
async fn ten_thousand_hints_make_one_query_of_each_family() {
    let upstream = Upstream::start().await;
    let late = |address| Say::Late(50, Box::new(Say::Records(vec![(TARGET, 60, Value::Address(address))])));
    upstream.says(TARGET, A, late("192.0.2.10"));
    upstream.says(TARGET, AAAA, late("2001:db8::10"));
    let mut controller = Controller::start(&upstream);
    for number in 0..10_000 {
        controller.handle.hint(&target(TARGET));
        if number % 512 == 0 {
            tokio::task::yield_now().await;
        }
    }
    controller.until_both_are(AliasState::Resolved).await;
    let asked = upstream.asked();
    assert_eq!(asked.iter().filter(|one| one.rtype == A).count(), 1);
    assert_eq!(asked.iter().filter(|one| one.rtype == AAAA).count(), 1);
}

#[tokio::test]
async fn hints_beyond_the_queue_are_dropped_and_counted() {
    let upstream = healthy().await;
    let controller = Controller::start(&upstream);
    // On this one thread the actor has not run yet, so that nobody empties the queue.
    for _ in 0..2_000 {
        controller.handle.hint(&target(TARGET));
    }
    assert_eq!(controller.handle.hints_dropped(), 2_000 - 1_024);
}

#[tokio::test]
async fn questions_are_answered_while_the_controller_is_busy() {
    let upstream = Upstream::start().await;
    let controller = Controller::start(&upstream);
    // More batches than fit between the two, since each hint of a target never asked settles a Pending entry.
    for number in 0..200 {
        controller.handle.hint(&target(&format!("host-{number}.proxy.test.")));
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }
    while controller.batches.len() < 16 {
        tokio::task::yield_now().await;
    }
    assert!(controller.handle.status().await.is_ok());
}

#[tokio::test]
async fn the_actor_ends_with_the_controller() {
    let upstream = healthy().await;
    let Controller { revisions, batches, handle, task, .. } = Controller::start(&upstream);
    drop((revisions, batches));
    task.await.expect("an end without a panic");
    assert_eq!(handle.status().await, Err(Ended));
}

#[tokio::test]
async fn the_actor_ends_with_its_last_handle() {
    let upstream = healthy().await;
    let Controller { revisions: _revisions, mut batches, handle, task, .. } = Controller::start(&upstream);
    drop(handle);
    task.await.expect("an end without a panic");
    assert_eq!(batches.recv().await, None);
}
