//! Runs the ALIAS engine: watches the Snapshot, makes the lookups, and hands batches to the controller.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{Id, JoinError, JoinHandle, JoinSet};

use super::engine::{Action, Engine, Event, Settings, Settled};
use super::handle::{AliasHandle, Known, Request, TargetView, When};
use super::lookup::{Answer, Failure, Lookup, Outcome, Report};
use super::measures::{Counts, LookupTimes};
use super::pace::Pace;
use super::references::References;
use super::resolver::Resolve;
use super::slot::TargetStatus;
use crate::clock::Clock;
use crate::wire::name::Name;
use crate::zone::alias::{AliasBatch, Moment, TargetKey};
use crate::zone::published::Published;
use crate::zone::snapshot::Snapshot;
use crate::zone::walk::Trust;

/// Shortest time between two walks of all records with hosted targets, in milliseconds.
const WALKS_APART: u64 = 1_000;
/// Most records that an event about a target names.
const MAX_DEPENDENTS: usize = 100;
/// Most callers that wait until targets are settled; those beyond it are told what is known at once.
const MAX_WAITING: usize = 1_000;
/// Longest sleep, so that a clock that was set is noticed.
const LONGEST_SLEEP: u64 = 1_000;

/// What the actor works with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The time.
    pub clock: Clock,
    /// The Snapshot.
    pub published: Published,
    /// Tells that another Snapshot is published. When its sender is gone the actor ends.
    pub revisions: watch::Receiver<u64>,
    /// Which hosted zones ALIAS may enter.
    pub trust: Trust,
    /// Most lookups in flight.
    pub lookups: usize,
    /// How fast lookups may follow one another.
    pub pace: Pace,
    /// Where chance begins.
    pub seed: u64,
}

/// Starts the actor on the current runtime. Batches go to `batches`, on their way to the controller. The actor ends when
/// all handles are gone, when the receiver of `batches` is, or when the sender of the revisions is.
pub fn spawn(resolver: impl Resolve, setup: Setup, batches: mpsc::Sender<AliasBatch>) -> (AliasHandle, JoinHandle<()>) {
    let (handle, hints, requests) = AliasHandle::new();
    let settings = Settings {
        upstreams: resolver.upstreams(),
        in_flight: resolver.at_once().min(setup.lookups),
        pace: setup.pace,
        seed: setup.seed,
    };
    let seen = Arc::new(Snapshot::new(setup.published.load().key()));
    let mut engine = Engine::new(settings);
    let now = setup.clock.now();
    for entry in setup.published.load().alias.iter() {
        engine.step(Event::Restored(entry.clone()), now);
    }
    let actor = Actor {
        engine,
        references: References::new(setup.trust.clone()),
        resolver: Arc::new(resolver),
        seen,
        walked: None,
        lookups: JoinSet::new(),
        running: HashMap::new(),
        times: handle.times().clone(),
        hints,
        requests,
        waiting: Vec::new(),
        batches,
        setup,
    };
    (handle, tokio::spawn(actor.run()))
}

struct Actor<R> {
    engine: Engine,
    references: References,
    resolver: Arc<R>,
    /// The Snapshot that the references are of.
    seen: Arc<Snapshot>,
    walked: Option<Moment>,
    lookups: JoinSet<Answer>,
    /// The lookups in flight, by task, each with when it began.
    running: HashMap<Id, (Lookup, Instant)>,
    /// How long they take.
    times: LookupTimes,
    hints: mpsc::Receiver<TargetKey>,
    requests: mpsc::Receiver<Request>,
    /// Who waits until targets are settled.
    waiting: Vec<Waiting>,
    batches: mpsc::Sender<AliasBatch>,
    setup: Setup,
}

/// Somebody who waits until targets are settled.
struct Waiting {
    targets: Vec<TargetKey>,
    reply: oneshot::Sender<BTreeMap<TargetKey, Known>>,
}

/// Whether the actor goes on.
enum Next {
    Go,
    End,
}

impl<R: Resolve> Actor<R> {
    async fn run(mut self) {
        self.setup.revisions.mark_unchanged();
        self.advance();
        while let Next::Go = self.turn().await {}
    }

    /// Does what is due, then waits for the next thing to happen.
    async fn turn(&mut self) -> Next {
        let now = self.setup.clock.now();
        if self.references.needs_walk() && self.walk_at() <= now {
            self.walk(now);
        }
        let mut actions = Vec::new();
        self.engine.actions(now, &mut actions);
        for action in actions {
            match action {
                Action::Lookup(lookup) => self.begin(lookup),
                Action::Publish(mut batch) => {
                    for transition in &mut batch.transitions {
                        transition.dependents = self.references.dependents(&transition.target, MAX_DEPENDENTS);
                    }
                    if let Next::End = self.hand_over(batch).await {
                        return Next::End;
                    }
                }
            }
        }
        self.tell_waiting();
        let sleep = tokio::time::sleep(self.sleeps_for());
        tokio::select! {
            changed = self.setup.revisions.changed() => match changed {
                Ok(()) => self.advance(),
                Err(_) => return Next::End,
            },
            Some(done) = self.lookups.join_next_with_id() => {
                self.done(done);
                // All that is done goes into one batch.
                while let Some(done) = self.lookups.try_join_next_with_id() {
                    self.done(done);
                }
            }
            Some(target) = self.hints.recv() => {
                let now = self.setup.clock.now();
                self.engine.step(Event::Hint(target), now);
                while let Ok(target) = self.hints.try_recv() {
                    self.engine.step(Event::Hint(target), now);
                }
            }
            request = self.requests.recv() => match request {
                Some(request) => self.answer(request),
                None => return Next::End,
            },
            () = sleep => {}
        }
        Next::Go
    }

    /// Hands a batch to the controller. While that is busy questions are answered: its own may be among them.
    async fn hand_over(&mut self, batch: AliasBatch) -> Next {
        loop {
            tokio::select! {
                room = self.batches.clone().reserve_owned() => {
                    let Ok(room) = room else { return Next::End };
                    room.send(batch);
                    return Next::Go;
                }
                request = self.requests.recv() => match request {
                    Some(request) => self.answer(request),
                    None => return Next::End,
                },
            }
        }
    }

    fn sleeps_for(&self) -> Duration {
        let walk = self.references.needs_walk().then(|| self.walk_at());
        let next = [self.engine.next_wakeup(), walk].into_iter().flatten().min();
        let now = self.setup.clock.now();
        let milliseconds = next.map_or(LONGEST_SLEEP, |next| next.0.saturating_sub(now.0).clamp(1, LONGEST_SLEEP));
        Duration::from_millis(milliseconds)
    }

    /// Goes on to the Snapshot that is published now.
    fn advance(&mut self) {
        let next = self.setup.published.get();
        let mut events = Vec::new();
        self.references.advance(&self.seen, &next, self.setup.clock.now(), &mut events);
        self.seen = next;
        self.take(events);
    }

    fn walk_at(&self) -> Moment {
        self.walked.map_or(Moment(0), |walked| Moment(walked.0.saturating_add(WALKS_APART)))
    }

    fn walk(&mut self, now: Moment) {
        self.walked = Some(now);
        let mut events = Vec::new();
        self.references.walk_inside(&self.seen, now, &mut events);
        self.take(events);
    }

    fn take(&mut self, events: Vec<Event>) {
        let now = self.setup.clock.now();
        for event in events {
            self.engine.step(event, now);
        }
    }

    fn begin(&mut self, lookup: Lookup) {
        let resolver = self.resolver.clone();
        let (target, family, ask) = (lookup.target.clone(), lookup.family, lookup.ask);
        let task = self.lookups.spawn(async move { resolver.lookup(&target, family, ask).await });
        self.running.insert(task.id(), (lookup, Instant::now()));
    }

    fn done(&mut self, done: Result<(Id, Answer), JoinError>) {
        let (id, answer) = match done {
            Ok(done) => done,
            Err(error) => {
                tracing::error!(%error, "a lookup of an ALIAS target broke off");
                (error.id(), Answer::direct(None, Outcome::Failed(Failure::ServFail)))
            }
        };
        let Some((Lookup { target, family, ticket, .. }, began)) = self.running.remove(&id) else { return };
        self.times.observe(began.elapsed());
        let crosses = self.crosses(&answer.chain);
        let from = answer.upstream.and_then(|one| self.resolver.address(target.group, one));
        let answer = Answer { crosses, from, ..answer };
        let report = Report { target, family, ticket, answer };
        self.engine.step(Event::Done(report), self.setup.clock.now());
    }

    fn known(&self, targets: &[TargetKey]) -> BTreeMap<TargetKey, Known> {
        let known = targets.iter().filter_map(|target| {
            let (entry, _) = self.engine.known(target)?;
            Some((target.clone(), Known { state: entry.state(), a: entry.a.state, aaaa: entry.aaaa.state }))
        });
        known.collect()
    }

    /// Answers those whose targets are settled, and forgets those who wait no longer.
    fn tell_waiting(&mut self) {
        for at in (0..self.waiting.len()).rev() {
            let is_settled =
                |target: &TargetKey| self.engine.known(target).is_none_or(|(_, settled)| settled == Settled::Yes);
            let is_gone = self.waiting[at].reply.is_closed();
            if is_gone || self.waiting[at].targets.iter().all(is_settled) {
                let Waiting { targets, reply } = self.waiting.swap_remove(at);
                if !is_gone {
                    let _ = reply.send(self.known(&targets));
                }
            }
        }
    }

    /// The first name of a chain that lies in a hosted zone.
    fn crosses(&self, chain: &[Name]) -> Option<usize> {
        chain.iter().position(|name| self.seen.zone_of(name).is_some())
    }

    /// A caller that has gone away wants no answer.
    fn answer(&mut self, request: Request) {
        match request {
            Request::Status { only: Some(target), reply } => {
                let view = self.engine.status(&target).map(|status| self.view(status));
                let _ = reply.send(view.into_iter().collect());
            }
            Request::Status { only: None, reply } => {
                let mut views: Vec<TargetView> = self.engine.statuses().map(|status| self.view(status)).collect();
                views.sort_by_cached_key(|view| view.status.entry.target.clone());
                let _ = reply.send(views);
            }
            Request::Known { targets, when, reply } => {
                let now = self.setup.clock.now();
                for target in &targets {
                    if self.engine.known(target).is_none() {
                        self.engine.step(Event::Hint(target.clone()), now);
                    }
                }
                match when {
                    When::Settled if self.waiting.len() < MAX_WAITING => {
                        self.waiting.push(Waiting { targets, reply });
                    }
                    When::Now | When::Settled => {
                        let _ = reply.send(self.known(&targets));
                    }
                }
            }
            Request::DeadInside { reply } => {
                let dead = self.references.dead_inside().map(|(key, dead)| (key.clone(), dead.clone()));
                let _ = reply.send(dead.collect());
            }
            Request::Counts { reply } => {
                let _ = reply.send(Counts { queries: self.resolver.queries(), coalesced: self.engine.coalesced() });
            }
            Request::Refresh { targets, reply } => {
                let now = self.setup.clock.now();
                let _ = reply.send(targets.iter().map(|target| self.engine.refresh(target, now)).collect());
            }
        }
    }

    fn view(&self, status: TargetStatus) -> TargetView {
        let target = &status.entry.target;
        let records = self.references.of_target(target).cloned().collect();
        TargetView { status, records }
    }
}
