//! `/metrics`: counters and states in Prometheus text format 0.0.4, no token (operations.md section 3). All is read or
//! summed when it is asked for. Labels are words of the code, never names that somebody chose.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Method, header};
use axum::response::Response;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, NoLabelSet, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::alias_measures::Aliases;
use crate::api::ApiState;
use crate::api::auth::Access;
use crate::api::call::{Call, Route};
use crate::api::problem::Refused;
use crate::control::LastGood;
use crate::ledger::actor::Door;
use crate::ledger::owner::OwnerState;
use crate::net::{DurationTotals, Sampler, Totals};
use crate::wire::codes::Rcode;
use crate::zone::alias::Moment;

/// How long the store may take to count owners; they are left out when it takes longer.
const STORE_TIME: Duration = Duration::from_secs(1);
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(Method::GET, "/metrics", Access::Public, metrics)]
}

async fn metrics(call: Call) -> Result<Response, Refused> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Scrape::take(&call.state).await));
    let mut text = String::new();
    // A String takes whatever is written, and the collector has no error of its own.
    prometheus_text::encode(&mut text, &registry).map_err(|_| Refused::internal())?;
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    Ok(response)
}

/// All that is shown, at one moment.
#[derive(Debug)]
struct Scrape {
    totals: Totals,
    zones: u64,
    records: u64,
    aliases: Aliases,
    owners: Vec<(OwnerState, u64)>,
    revision: u64,
    served_revision: u64,
    commit: Histogram,
    publish: Histogram,
    alarms: Vec<String>,
    /// Calls of external-dns clients by owner, call and status.
    door_calls: Vec<(String, &'static str, String, u64)>,
    /// Records that their last changes refused, by owner and code.
    door_refused: Vec<(String, String, u64)>,
    door_conflicts: u64,
    query_log_lost: u64,
    last_good: LastGood,
    now: Moment,
}

impl Scrape {
    async fn take(state: &ApiState) -> Scrape {
        let owners = tokio::time::timeout(STORE_TIME, state.reader.owner_states()).await;
        // Read before the Snapshot: a commit in between must not look like a server that lags behind its store.
        let revision = *state.handle.revisions().borrow();
        let snapshot = state.handle.published().get();
        let aliases = Aliases::take(state, &snapshot).await;
        let measures = state.handle.measures();
        Scrape {
            totals: state.counters.totals(),
            zones: snapshot.zone_count() as u64,
            records: snapshot.record_count(),
            aliases,
            // A store that cannot be read leaves them out; the data plane's numbers are wanted then most of all.
            owners: owners.ok().and_then(Result::ok).unwrap_or_default(),
            revision,
            served_revision: snapshot.revision,
            commit: measures.commit.clone(),
            publish: measures.publish.clone(),
            door_calls: door_calls(state),
            door_refused: door_refused(state),
            door_conflicts: state.external_dns.conflicts(),
            alarms: state.readiness.alarms().into_iter().map(|(alarm, _)| alarm).collect(),
            last_good: state.handle.last_good().borrow().clone(),
            now: state.clock.now(),
            query_log_lost: state.server.sampler.as_ref().map_or(0, Sampler::lost),
        }
    }

    fn data_plane(&self, out: &mut Families<'_>) -> fmt::Result {
        let requests = self
            .totals
            .requests
            .iter()
            .map(|one| ([("transport", one.transport), ("family", one.family), ("qtype", one.qtype)], one.count));
        out.counters("tenured_dns_requests", "Queries that got a response, by type of the question", requests)?;
        let mut by_word: BTreeMap<_, u64> = BTreeMap::new();
        for one in &self.totals.responses {
            *by_word.entry((one.transport, rcode(one.rcode))).or_default() += one.count;
        }
        let responses =
            by_word.into_iter().map(|((transport, code), count)| ([("transport", transport), ("rcode", code)], count));
        out.counters("tenured_dns_responses", "Responses by their code", responses)?;
        let dropped = self.totals.dropped.iter().map(|(reason, count)| ([("reason", *reason)], *count));
        out.counters("tenured_dns_dropped", "Messages without a response", dropped)?;
        let durations = &self.totals.durations;
        let help = "Time from a query to its reply within the server; one batch in 64 is measured";
        out.buckets("tenured_dns_request_duration_seconds", help, durations)?;
        let lost = [([], self.query_log_lost)];
        out.counters("tenured_query_log_lost", "Lines of the sampled query log that were not written in time", lost)?;
        let limiting = self.totals.limiting.iter().map(|(action, count)| ([("action", *action)], *count));
        out.counters("tenured_rrl_actions", "Replies that response rate limiting did not let pass", limiting)
    }

    fn doors(&self, out: &mut Families<'_>) -> fmt::Result {
        let calls = self.door_calls.iter().map(|(owner, call, status, count)| {
            ([("owner", owner.as_str()), ("call", *call), ("status", status.as_str())], *count)
        });
        out.counters("tenured_externaldns_requests", "Calls of external-dns clients", calls)?;
        let conflicts = [([("door", Door::ExternalDns.text())], self.door_conflicts)];
        out.counters("tenured_conflicts", "Records that another claim stood against, by door", conflicts)?;
        let refused = self
            .door_refused
            .iter()
            .map(|(owner, code, count)| ([("owner", owner.as_str()), ("code", code.as_str())], *count));
        let about = "Records of external-dns clients that their last change refused";
        out.gauges("tenured_externaldns_records_refused", about, refused)
    }

    fn content(&self, out: &mut Families<'_>) -> fmt::Result {
        out.gauge("tenured_zones", "Zones that are served", self.zones)?;
        out.gauge("tenured_records", "Records that are served", self.records)?;
        out.gauge("tenured_revision", "Revision of the last commit", self.revision)?;
        out.gauge("tenured_served_revision", "Revision that queries are answered from", self.served_revision)?;
        let owners = self.owners.iter().map(|(state, count)| ([("state", state.text())], *count));
        out.gauges("tenured_owners", "Owners by their state", owners)
    }
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut out = Families(encoder);
        let build = [([("version", env!("CARGO_PKG_VERSION"))], 1)];
        out.gauges("tenured_build_info", "The program that runs", build)?;
        self.data_plane(&mut out)?;
        self.content(&mut out)?;
        self.doors(&mut out)?;
        self.aliases.encode(&self.totals, &mut out)?;
        out.histogram("tenured_store_commit_duration_seconds", "Commits of the store", &self.commit)?;
        out.histogram("tenured_publish_duration_seconds", "Publications of a Snapshot", &self.publish)?;
        out.gauge(
            "tenured_last_good_bytes",
            "Octets of the last-good file; 0 before the first one",
            self.last_good.octets,
        )?;
        let age = self.last_good.behind.map_or(0, |behind| self.now.seconds_since(behind));
        let help = "Seconds since the first change that the last-good file does not have; 0 if it has all";
        out.gauge("tenured_last_good_age_seconds", help, age)?;
        let alarms = self.alarms.iter().map(|alarm| ([("alarm", alarm.as_str())], 1));
        out.gauges("tenured_alarm", "Alarms that are on; /readyz?verbose says what to do", alarms)
    }
}

/// Owners are names that somebody chose: the door remembers a bounded number of them, and only of those with a token.
fn door_calls(state: &ApiState) -> Vec<(String, &'static str, String, u64)> {
    let counts = state.external_dns.counts().into_iter();
    counts.map(|(owner, call, status, count)| (owner.to_string(), call.text(), status.to_string(), count)).collect()
}

fn door_refused(state: &ApiState) -> Vec<(String, String, u64)> {
    state.external_dns.refused().into_iter().map(|(owner, code, count)| (owner.to_string(), code, count)).collect()
}

/// Writes families of metrics.
pub(super) struct Families<'a>(DescriptorEncoder<'a>);

impl Families<'_> {
    /// Counters; `name` is without `_total`, which the format adds.
    pub(super) fn counters<'l, const LABELS: usize>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = ([(&'static str, &'l str); LABELS], u64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, count) in samples {
            ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    /// One gauge without labels.
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let encoder = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        ConstGauge::new(value).encode(encoder)
    }

    /// Gauges.
    pub(super) fn gauges<'l, const LABELS: usize>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = ([(&'static str, &'l str); LABELS], u64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, value) in samples {
            ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    /// A histogram that is kept elsewhere, in nanoseconds.
    fn buckets(&mut self, name: &str, help: &str, totals: &DurationTotals) -> fmt::Result {
        let seconds = |nanoseconds: u64| if nanoseconds == u64::MAX { f64::MAX } else { nanoseconds as f64 / 1e9 };
        let buckets: Vec<(f64, u64)> = totals.buckets.iter().map(|(bound, count)| (seconds(*bound), *count)).collect();
        let mut encoder = self.0.encode_descriptor(name, help, None, MetricType::Histogram)?;
        encoder.encode_histogram::<NoLabelSet>(totals.sum as f64 / 1e9, totals.count, &buckets, None)
    }

    pub(super) fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) -> fmt::Result {
        histogram.encode(self.0.encode_descriptor(name, help, None, MetricType::Histogram)?)
    }
}

/// The word of a response code; those without one here are one.
fn rcode(rcode: Rcode) -> &'static str {
    match rcode {
        Rcode::NOERROR => "NOERROR",
        Rcode::FORMERR => "FORMERR",
        Rcode::SERVFAIL => "SERVFAIL",
        Rcode::NXDOMAIN => "NXDOMAIN",
        Rcode::NOTIMP => "NOTIMP",
        Rcode::REFUSED => "REFUSED",
        Rcode::YXDOMAIN => "YXDOMAIN",
        Rcode::NOTAUTH => "NOTAUTH",
        Rcode::BADVERS => "BADVERS",
        Rcode::BADCOOKIE => "BADCOOKIE",
        _ => "other",
    }
}
