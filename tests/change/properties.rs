//! Properties: whatever is asked in whatever order, what is served is what a naive model says, the rules hold at every
//! step, and the store gives each plan all that it has to see (ownership.md sections 1 and 2).

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tenured::ledger::report::ItemOutcome;
use tenured::store::rows::ClaimFilter;
use tenured::wire::codes::Rtype;

use crate::model::Model;
use crate::steps::{NAMES, Served, Step, World, command, name, owner_id, step};
use crate::support::Server;

/// The rules over what is served, whoever planned it.
fn check_rules(served: &Served) {
    let mut at: BTreeMap<usize, BTreeSet<Rtype>> = BTreeMap::new();
    for (name, rtype, ..) in served {
        at.entry(*name).or_default().insert(*rtype);
    }
    for (top, types) in &at {
        assert!(!types.contains(&Rtype::CNAME) || (types.len() == 1 && *top != 0), "a CNAME beside {types:?}");
        assert!(!(types.contains(&Rtype::ALIAS) && types.contains(&Rtype::A)), "an ALIAS beside addresses");
        for (other, below) in at.iter().filter(|(other, _)| *other != top && name(**other).is_at_or_below(&name(*top)))
        {
            assert!(!types.contains(&Rtype::DNAME), "{other} below the DNAME at {top}");
            assert!(!types.contains(&Rtype::NS) || below.iter().all(|rtype| *rtype == Rtype::A), "hidden: {below:?}");
        }
    }
}

/// How many orders of requests are tried: 2,000, or as many as `TENURED_MODEL_CASES` says.
fn cases() -> u32 {
    std::env::var("TENURED_MODEL_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn plans_serve_what_the_model_says_and_keep_every_rule(steps in proptest::collection::vec(step(), 1..25)) {
        let mut world = World::new();
        let mut model = Model::default();
        for step in &steps {
            let command = command(step, &world.sweeps());
            if model.leaves_out(step) {
                continue;
            }
            if model.refuses(step) {
                prop_assert!(world.try_plan(&command).is_err());
                continue;
            }
            let planned = world.plan(&command);
            let entitled = match step {
                Step::DeleteOwner { owner } => model.tree(*owner),
                Step::Apply { owner, .. } | Step::Put { owner, .. } | Step::Delete { owner, .. } => vec![*owner],
                Step::Quarantine { owner, .. } => vec![*owner],
                Step::Sweep { top, .. } => model.tree(*top),
                Step::RunPolicy { owner } => model.tree(*owner),
                Step::Transfer { from, to, .. } => vec![*from, *to],
                Step::Move { .. } | Step::Lease { .. } | Step::Expire { .. } | Step::Undo { .. } => Vec::new(),
            };
            for change in &planned.claims {
                let before = change.before.as_ref().filter(|before| before.is_held());
                let is_own = before.is_none_or(|before| entitled.iter().any(|one| before.owner_id == owner_id(*one)));
                prop_assert!(is_own, "another's claim: {change:?}");
            }
            prop_assert_eq!(planned.report.changed, planned.ledger.revision > world.0.revision);
            world.go_on(planned);
            model.step(step);
            prop_assert_eq!(world.served(), model.served(), "after {:?}", step);
            check_rules(&world.served());

            if matches!(step, Step::Sweep { .. }) {
                // Every sweep is kept.
                continue;
            }
            let again = world.plan(&command);
            prop_assert!(again.claims.is_empty() && !again.report.changed, "again: {:?}", again.claims);
            if let Step::Apply { owner, asked, .. } = step {
                // Plan and apply give the wished set: nothing but what is listed, and all of it that was not refused.
                let own: BTreeSet<(usize, Rtype)> = world
                    .served()
                    .into_iter()
                    .filter(|(.., who, _)| *who == owner_id(*owner).to_string())
                    .map(|(name, rtype, ..)| (name, rtype))
                    .collect();
                let listed: BTreeSet<(usize, Rtype)> = asked.iter().map(|one| (one.name, one.rtype)).collect();
                prop_assert!(own.is_subset(&listed));
                let refused = again.report.results.iter().filter(|item| item.outcome.is_refused()).count();
                prop_assert_eq!(again.report.summary.count(ItemOutcome::Unchanged) as usize + refused, listed.len());
            }
        }
    }
}

/// Claims of a world as the Reader's texts: `NAME TYPE OWNER STATE`, sorted.
fn texts(world: &World) -> Vec<String> {
    let text = |one: &tenured::ledger::claim::Claim| {
        format!("{} {} {} {}", one.name, one.rtype, one.owner_id, one.state.text())
    };
    let mut texts: Vec<String> = world.0.claims.values().flatten().map(text).collect();
    texts.sort();
    texts
}

/// The holder of the ALIAS at a name and the owners above it.
fn alias_owners(world: &World, at: &str) -> Vec<String> {
    let mut held = world.0.claims.values().flatten().filter(|one| one.is_held() && one.rtype == Rtype::ALIAS);
    let Some(alias) = held.find(|one| one.name.to_string() == at) else { return Vec::new() };
    let above = world.0.above(alias.owner);
    std::iter::once(alias.owner_id.to_string()).chain(above.iter().map(|one| one.id.to_string())).collect()
}

/// A plan sees of the store only what its command can touch; it has to come to the same as one that sees everything.
#[test]
fn a_plan_over_the_store_is_the_plan_over_everything() {
    let config = ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().expect("a runtime");
    let steps = proptest::collection::vec(step(), 8..20);
    let result = TestRunner::new(config).run(&steps, |steps| runtime.block_on(agree(&steps)));
    result.unwrap_or_else(|error| panic!("{error}"));
}

async fn agree(steps: &[Step]) -> Result<(), TestCaseError> {
    let server = Server::with_zone().await;
    let mut world = World::new();
    let mut sweeps: Vec<u64> = Vec::new();
    for step in steps {
        let asked = command(step, &sweeps);
        let Ok(planned) = world.try_plan(&command(step, &world.sweeps())) else {
            prop_assert!(server.run(asked).await.is_err(), "{:?}", step);
            continue;
        };
        let (outcomes, promoted) = (planned.report.results.clone(), planned.report.promoted.clone());
        world.go_on(planned);
        let report = server.run(asked).await.expect("nothing here is refused as a whole");
        sweeps.extend(report.sweep);
        prop_assert_eq!(report.promoted, promoted, "{:?}", step);
        let shape = |items: &[tenured::ledger::report::Item]| -> Vec<String> {
            items.iter().map(crate::support::item_text).collect()
        };
        prop_assert_eq!(shape(&report.results), shape(&outcomes), "{:?}", step);
        let mut stored = server.claims(ClaimFilter::default()).await;
        stored.sort();
        prop_assert_eq!(stored, texts(&world), "{:?}", step);
        for at in NAMES {
            prop_assert_eq!(server.alias_owners(at).await, alias_owners(&world, at), "{} after {:?}", at, step);
            let mut types: Vec<String> = world
                .0
                .claims
                .values()
                .flatten()
                .filter(|one| one.is_held() && one.name.to_string() == at)
                .map(|one| one.rtype.to_string())
                .collect();
            types.sort();
            types.dedup();
            let mut served: Vec<String> =
                server.served(at).iter().filter_map(|text| text.split(' ').next()).map(str::to_owned).collect();
            served.sort();
            served.dedup();
            prop_assert_eq!(served, types, "{} after {:?}", at, step);
        }
    }
    server.stop().await;
    Ok(())
}
