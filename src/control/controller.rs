//! The controller: the one task that owns the Writer and publishes. It puts many commands into one transaction,
//! commits, publishes once, and then answers each caller.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc, oneshot, watch};

use super::assemble;
use super::assertions::Assertions;
use super::dangling::{self, Found, Kept, Refs};
use super::handle::{Conditions, Request};
use super::loops::{self, Closing};
use super::measures::{Measures, observe};
use super::once;
use super::refused::Memory;
use super::targets::Unsaved;
use super::terms::Terms;
use super::{Options, Parts};
use crate::clock::Clock;
use crate::ledger::code::Code;
use crate::ledger::command::Command;
use crate::ledger::plan::plan;
use crate::ledger::report::{Refusal, Report};
use crate::ledger::scope::Scope;
use crate::store::history::Keep;
use crate::store::writer::Origin;
use crate::store::{StoreError, Writer};
use crate::wire::name::Name;
use crate::zone::alias::{AliasBatch, Moment};
use crate::zone::published::SnapshotWriter;
use crate::zone::snapshot::Snapshot;
use crate::zone::walk::Trust;

/// Commands that wait, at most (reliability.md section 4).
pub(super) const INBOX: usize = 10_000;
/// Batches of ALIAS answers that wait, at most.
pub(super) const ALIAS_INBOX: usize = 256;
/// Most commands of one commit.
const MAX_BATCH: usize = 1_000;
/// Records of one command that are refused for ALIAS loops before the command is.
const MAX_LOOPS: usize = 100;
/// Work of one commit before it takes no more commands.
const BATCH_TIME: Duration = Duration::from_millis(10);

/// How often what the ALIAS engine learnt is written.
const SAVE_PERIOD: Duration = Duration::from_secs(1);
/// How often it is looked whether the store is there, and whether one that took no write takes one again.
const PROBE_PERIOD: Duration = Duration::from_secs(5);
/// How often the history is looked at when nobody writes.
const TRIM_PERIOD: Duration = Duration::from_secs(60);

/// What comes back to a caller.
pub(super) type Answer = Result<Report, Refusal>;

/// A command that waits for its answer.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) request: Request,
    pub(super) conditions: Conditions,
    pub(super) reply: oneshot::Sender<Answer>,
}

/// What the ALIAS engine learnt.
#[derive(Debug)]
pub(super) struct AliasUpdate {
    pub(super) batch: AliasBatch,
    pub(super) done: oneshot::Sender<()>,
}

/// See the module.
pub(super) struct Controller {
    pub(super) writer: Writer,
    pub(super) snapshots: SnapshotWriter,
    pub(super) clock: Clock,
    pub(super) inbox: mpsc::Receiver<Job>,
    pub(super) alias: mpsc::Receiver<AliasUpdate>,
    pub(super) revision: watch::Sender<u64>,
    /// Hosted zones that every ALIAS may enter.
    pub(super) trust: Trust,
    /// What the configuration says about ALIAS records.
    pub(super) terms: Arc<Terms>,
    /// Told when the server ends.
    pub(super) stop: Arc<Notify>,
    /// Why the store took no write the last time, if it did not.
    pub(super) fault: watch::Sender<Option<String>>,
    /// The Snapshot before the one that is published: kept until the next, so that a large zone that goes is freed
    /// here and not by a thread that answers queries.
    pub(super) retired: Option<Arc<Snapshot>>,
    pub(super) measures: Measures,
    /// What the ALIAS engine learnt and the store does not have yet.
    pub(super) unsaved: Unsaved,
    /// What was refused because of another owner.
    pub(super) refused: Memory,
    /// Claims that were asked for again as they are.
    pub(super) assertions: Assertions,
}

/// What a command came to inside its transaction.
struct Done {
    answer: Answer,
    /// Whether there is something to commit.
    wrote: bool,
}

impl Controller {
    /// Of an open store and all else.
    pub(super) fn new(writer: Writer, parts: Parts, options: &Options) -> Controller {
        let Parts { snapshots, inbox, alias, revision, identity: _, stop, fault, measures } = parts;
        Controller {
            writer,
            snapshots,
            clock: options.clock.clone(),
            inbox,
            alias,
            revision,
            trust: options.trust.clone(),
            terms: options.terms.clone(),
            fault,
            stop,
            retired: None,
            unsaved: Unsaved::default(),
            measures,
            refused: Memory::default(),
            assertions: Assertions::default(),
        }
    }

    /// Works until it is told to stop or all handles are gone, then closes the store.
    pub(super) async fn run(mut self) {
        let mut trimming = tokio::time::interval(TRIM_PERIOD);
        trimming.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut probing = tokio::time::interval(PROBE_PERIOD);
        probing.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut saving = tokio::time::interval(SAVE_PERIOD);
        saving.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                // What waits in the inbox is still taken out of it.
                () = self.stop.notified() => self.inbox.close(),
                _ = saving.tick() => {
                    self.save().await;
                    self.look_for_waves().await;
                }
                _ = probing.tick() => self.probe().await,
                Some(update) = self.alias.recv() => self.publish_alias(update),
                job = self.inbox.recv() => match job {
                    Some(job) => self.batch(job).await,
                    None => break,
                },
                _ = trimming.tick() => self.trim().await,
            }
        }
        self.save().await;
        if let Err(error) = self.save_assertions().await {
            tracing::warn!(%error, "the last assertions are not written");
        }
        if let Err(error) = self.writer.close().await {
            tracing::warn!(%error, "closing the store");
        }
    }

    fn publish_alias(&mut self, update: AliasUpdate) {
        let mut next = Snapshot::clone(&self.snapshots.published().load());
        self.unsaved.note(&next.alias, &update.batch);
        next.alias.apply(update.batch);
        self.publish(next);
        // A sender that no longer waits does not mind.
        let _ = update.done.send(());
    }

    /// Writes what the ALIAS engine learnt. What fails is tried again at the next turn; names are answered all the same.
    async fn save(&mut self) {
        let now = self.clock.now();
        if !self.unsaved.is_due(now) {
            return;
        }
        match self.try_save(now).await {
            Ok(None) => self.set_fault(None),
            Ok(Some(revision)) => {
                self.set_fault(None);
                let mut next = Snapshot::clone(&self.snapshots.published().load());
                next.revision = revision;
                self.publish(next);
                self.revision.send_if_modified(|known| std::mem::replace(known, revision) != revision);
            }
            Err(error) => {
                tracing::warn!(%error, "what is known of ALIAS targets is not written");
                self.set_fault(Some(error.to_string()));
                self.writer.rollback().await;
            }
        }
    }

    async fn try_save(&mut self, now: Moment) -> Result<Option<u64>, StoreError> {
        self.writer.begin().await?;
        let written = self.unsaved.write(&mut self.writer, &self.terms, now).await?;
        self.commit().await?;
        let revision = written.revision;
        self.unsaved.written(written, now);
        Ok(revision)
    }

    fn publish(&mut self, next: Snapshot) {
        let started = Instant::now();
        self.retired = Some(self.snapshots.published().get());
        self.snapshots.publish(next);
        observe(&self.measures.publish, started);
    }

    /// One transaction: the first command and those that wait behind it.
    async fn batch(&mut self, first: Job) {
        let started = Instant::now();
        if let Err(error) = self.writer.begin().await {
            let mut waiting = vec![first];
            while waiting.len() < MAX_BATCH
                && let Ok(job) = self.inbox.try_recv()
            {
                waiting.push(job);
            }
            tracing::error!(%error, commands = waiting.len(), "the store takes no writes");
            self.set_fault(Some(error.to_string()));
            for job in waiting {
                let _ = job.reply.send(Err(unavailable()));
            }
            return;
        }
        if let Err(error) = self.refused.load(&mut self.writer).await {
            tracing::warn!(%error, "refused claims are not remembered now");
        }
        let mut working = Snapshot::clone(&self.snapshots.published().load());
        let mut answers: Vec<(oneshot::Sender<Answer>, Answer)> = Vec::new();
        let mut wrote = false;
        let mut next = Some(first);
        while let Some(Job { request, conditions, reply }) = next.take() {
            // Whatever decides by what was last asked for finds it in the store.
            if !matches!(request.command, Command::Patch(_)) && self.assertions.is_pending() {
                match self.assertions.write(&mut self.writer).await {
                    Ok(()) => wrote = true,
                    Err(error) => {
                        answers.push((reply, Err(unavailable())));
                        self.fail(answers, &error).await;
                        return;
                    }
                }
            }
            match self.command(&mut working, &request, &conditions).await {
                Ok(done) => {
                    wrote |= done.wrote;
                    self.refused.note(&request, &done.answer, self.clock.now());
                    answers.push((reply, done.answer));
                }
                Err(error) => {
                    answers.push((reply, Err(unavailable())));
                    self.fail(answers, &error).await;
                    return;
                }
            }
            if answers.len() < MAX_BATCH && started.elapsed() < BATCH_TIME {
                next = self.inbox.try_recv().ok();
            }
        }
        // A step a commit keeps pace with what commands add, in the transaction that is written anyway.
        if wrote && let Err(error) = self.writer.trim(self.clock.now(), Keep::default()).await {
            self.fail(answers, &error).await;
            return;
        }
        if wrote && let Err(error) = self.refused.write(&mut self.writer).await {
            self.fail(answers, &error).await;
            return;
        }
        if !wrote {
            // Refusals alone are no reason to fail: who was refused is told so either way.
            if self.refused.has_changes() {
                self.remember().await;
            }
            self.writer.rollback().await;
        } else if let Err(error) = self.commit().await {
            self.fail(answers, &error).await;
            return;
        } else {
            let revision = working.revision;
            self.assertions.settle(true);
            self.publish(working);
            self.set_fault(None);
            self.revision.send_if_modified(|known| std::mem::replace(known, revision) != revision);
        }
        for (reply, answer) in answers {
            let _ = reply.send(answer);
        }
    }

    async fn commit(&mut self) -> Result<(), StoreError> {
        let started = Instant::now();
        let committed = self.writer.commit().await;
        observe(&self.measures.commit, started);
        committed
    }

    /// Finds out that the store is gone before somebody writes, and that it is back without anybody writing.
    async fn probe(&mut self) {
        let was_faulty = self.fault.borrow().is_some();
        let found = if was_faulty { self.writer.try_out().await } else { self.writer.check_place() };
        match found {
            Ok(()) => self.set_fault(None),
            Err(error) => {
                self.set_fault(Some(error.to_string()));
                self.writer.rollback().await;
            }
        }
    }

    /// A step of the history's limits when nobody writes. What fails is tried again at the next.
    async fn trim(&mut self) {
        if let Err(error) = self.try_trim().await {
            tracing::warn!(%error, "trimming the history");
            self.writer.rollback().await;
        }
    }

    async fn try_trim(&mut self) -> Result<(), StoreError> {
        self.writer.begin().await?;
        match self.writer.trim(self.clock.now(), Keep::default()).await? {
            0 => self.writer.rollback().await,
            _ => self.writer.commit().await?,
        }
        Ok(())
    }

    /// Commits refusals of commands that wrote nothing.
    async fn remember(&mut self) {
        let written = match self.refused.write(&mut self.writer).await {
            Ok(()) => self.writer.commit().await,
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            tracing::warn!(%error, "refused claims are not remembered");
            self.refused.reset();
        }
    }

    /// Tells whoever watches how it stands with the store.
    fn set_fault(&self, fault: Option<String>) {
        self.fault.send_if_modified(|known| std::mem::replace(known, fault.clone()) != fault);
    }

    /// Nothing of the batch is in effect; whoever was told otherwise within it is told so.
    async fn fail(&mut self, answers: Vec<(oneshot::Sender<Answer>, Answer)>, error: &StoreError) {
        tracing::error!(%error, commands = answers.len(), "a commit failed");
        self.set_fault(Some(error.to_string()));
        self.writer.rollback().await;
        self.refused.reset();
        self.assertions.settle(false);
        for (reply, answer) in answers {
            let _ = reply.send(answer.and(Err(unavailable())));
        }
    }

    /// Does a command; its records that would close an ALIAS loop are refused one by one.
    async fn command(
        &mut self,
        working: &mut Snapshot,
        request: &Request,
        conditions: &Conditions,
    ) -> Result<Done, StoreError> {
        if let Some(once) = conditions.once.as_ref().filter(|_| !request.dry_run) {
            let found = self.writer.once(&request.actor.token, &once.key, self.clock.now()).await?;
            if found.is_some() {
                return Ok(Done { answer: Err(once::mismatch()), wrote: false });
            }
        }
        let mut command = Cow::Borrowed(&request.command);
        let mut kept = Kept::new();
        let mut pointing = Found::default();
        for _ in 0..MAX_LOOPS {
            match self.attempt(working, (request, conditions), &command, &mut kept).await? {
                Attempt::Done(mut done) => {
                    if let Err(refusal) = &mut done.answer
                        && refusal.code() == Code::ReferencedBy
                        && refusal.dangling.is_empty()
                    {
                        refusal.dangling = pointing.rows;
                    }
                    return Ok(done);
                }
                Attempt::Leaves(found) => {
                    // What is refused item by item was put among what is kept.
                    pointing.rows.extend(found.rows);
                }
                Attempt::Closes(closing) => {
                    if !loops::refuse(command.to_mut(), &closing) {
                        return Ok(Done { answer: Err(closing.into_problem().into()), wrote: false });
                    }
                }
            }
        }
        let detail = format!("over {MAX_LOOPS} records would close ALIAS loops: nothing was written");
        Ok(Done { answer: Err(Refusal::new(Code::AliasLoop, detail)), wrote: false })
    }

    async fn attempt(
        &mut self,
        working: &mut Snapshot,
        (request, conditions): (&Request, &Conditions),
        command: &Command,
        kept: &mut Kept,
    ) -> Result<Attempt, StoreError> {
        let now = self.clock.now();
        let scope =
            Scope::of(command, &request.actor, &|name: &Name| working.zone_of(name).map(|zone| zone.apex().clone()));
        let mut ledger = self.writer.ledger(&scope).await?;
        ledger.zone_count = working.zone_count() as u64;
        ledger.kept.clone_from(kept);
        let before = ledger.revision;
        let mut plan = match plan(ledger, command, &request.actor, now) {
            Ok(plan) => plan,
            Err(refusal) => return Ok(Attempt::refused(refusal)),
        };
        if let Command::Patch(patch) = command
            && !request.dry_run
        {
            if patch.key.wave {
                self.assertions.follow(&plan, now);
            }
            // What is only asked for again costs no commit.
            if plan.is_assertion() {
                self.assertions.defer(&plan, now);
                return Ok(Attempt::Done(Done { answer: Ok(plan.report), wrote: false }));
            }
        }
        let once = conditions.once.as_ref().filter(|_| !request.dry_run);
        if !request.dry_run && plan.is_empty() && once.is_none() {
            return Ok(Attempt::Done(Done { answer: Ok(plan.report), wrote: false }));
        }
        let mut next = working.clone();
        let served = match assemble::assemble(&mut next, &mut plan, &self.terms, now) {
            Ok(served) => served,
            Err(problem) => return Ok(Attempt::refused(problem.into())),
        };
        let closing = self.terms.first(&next, &plan, command);
        if let Some(closing) = closing.or_else(|| loops::first(&next, &plan, &self.trust)) {
            return Ok(Attempt::Closes(closing));
        }
        let found = dangling::find(&mut self.writer, (working, &next), &plan).await?;
        if conditions.refs == Refs::Block && !found.rows.is_empty() {
            if dangling::keep(kept, command, &plan, &found) {
                return Ok(Attempt::Leaves(found));
            }
            let problem = dangling::problem(&found.rows.iter().collect::<Vec<_>>(), found.more);
            return Ok(Attempt::refused(Refusal { dangling: found.rows, ..problem.into() }));
        }
        plan.report.dangling = found.rows;
        plan.report.more_dangling = found.more;
        if request.dry_run {
            let answer = Ok(Report { revision: before, ..plan.report });
            return Ok(Attempt::Done(Done { answer, wrote: false }));
        }
        let origin = Origin { actor: &request.actor, request_id: &request.request_id, now };
        let kept = match once.map(|once| Ok((once, once.response(&plan.report)?))).transpose() {
            Ok(kept) => kept,
            Err(refusal) => return Ok(Attempt::refused(refusal)),
        };
        self.writer.write(&plan, &served, origin).await?;
        if let Some((once, kept)) = kept {
            self.writer.keep_once(&request.actor.token, &once.key, &kept, now).await?;
        }
        *working = next;
        Ok(Attempt::Done(Done { answer: Ok(plan.report), wrote: true }))
    }
}

/// What one try at a command came to.
enum Attempt {
    /// It is done, or refused.
    Done(Done),
    /// It would leave others pointing at nothing, which stays now; nothing was written.
    Leaves(Found),
    /// It would close an ALIAS loop; nothing was written.
    Closes(Closing),
}

impl Attempt {
    fn refused(refusal: Refusal) -> Attempt {
        Attempt::Done(Done { answer: Err(refusal), wrote: false })
    }
}

pub(super) fn unavailable() -> Refusal {
    // The cause names SQL and files: it stands in the log alone.
    let detail = "nothing was written: try again later; names are answered as before, and the server's log says why";
    Refusal::new(Code::StorageUnavailable, detail)
}
