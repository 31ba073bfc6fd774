//! `/v1/zones` (ownership.md section 3.5).

use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::auth::Access;
use crate::api::call::{Call, Route, blocking, document, name_of, owner_id};
use crate::api::documents::ZoneDocument;
use crate::api::json::{self, BodyLimit};
use crate::api::paging;
use crate::api::problem::Refused;
use crate::api::show;
use crate::ledger::command::{Command, CreateZone, UpdateZone};
use crate::ledger::report::{ItemOutcome, Report};
use crate::store::paging::Paged;
use crate::store::rows::ZoneSummary;
use crate::wire::name::Name;
use crate::zone::snapshot::Snapshot;

pub(super) fn routes() -> Vec<Route> {
    const WRITE: &[&str] = &["dryRun", "targetCheck", "wait", "refs"];
    vec![
        Route::new(Method::GET, "/v1/zones", Access::Read, list).with(&["match", "owner", "limit", "continue"]),
        Route::new(Method::GET, "/v1/zones/{zone}", Access::Read, show_one),
        Route::new(Method::PUT, "/v1/zones/{zone}", Access::Write, create).with(WRITE).taking(BodyLimit::Small),
        Route::new(Method::PATCH, "/v1/zones/{zone}", Access::Write, update).with(WRITE).taking(BodyLimit::Small),
        Route::new(Method::DELETE, "/v1/zones/{zone}", Access::Write, delete).with(WRITE),
    ]
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = ZoneCreate)]
pub(super) struct CreateFields {
    nameservers: Option<Vec<String>>,
    contact: Option<String>,
    default_ttl: Option<u32>,
    owner: Option<String>,
    upstream_group: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = ZoneUpdate)]
pub(super) struct UpdateFields {
    default_ttl: Option<u32>,
    owner: Option<String>,
    // An absent key stays, null takes the group away.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    upstream_group: Option<Option<String>>,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

fn shown(snapshot: &Snapshot, summary: &ZoneSummary) -> ZoneDocument {
    let records = snapshot.zone(&summary.zone.name).map_or(0, |zone| zone.record_count());
    show::zone(&summary.zone, records)
}

async fn list(call: Call) -> Result<Response, Refused> {
    let of = call.parameters.text("match").map(|text| name_of("match", text)).transpose()?;
    let owner = call.parameters.text("owner").map(|text| owner_id("owner", text)).transpose()?;
    let page = paging::page(&call)?;
    let listing = match of {
        // The longest match is the nearest of the name and those above it that is a zone.
        Some(name) => {
            let apex = call.state.handle.published().get().zone_of(&name).map(|zone| zone.apex().clone());
            let row = match apex {
                Some(apex) => call.state.reader.zone(&apex).await?,
                None => None,
            };
            let meant = row.filter(|row| owner.as_ref().is_none_or(|owner| row.zone.owner == *owner));
            let revision = call.state.reader.revision().await?;
            Paged { revision, items: meant.into_iter().collect(), next: None }
        }
        None => call.state.reader.zone_page(owner.as_ref(), &page).await?,
    };
    let snapshot = call.state.handle.published().get();
    blocking(move || {
        let items: Vec<ZoneDocument> = listing.items.iter().map(|row| shown(&snapshot, row)).collect();
        paging::shown(listing.revision, items, listing.next)
    })
    .await?
}

pub(super) fn no_zone(name: &Name) -> Refused {
    Refused::not_found(format!("there is no zone {name}: make it first, or look whether it has another name"))
}

async fn show_one(call: Call) -> Result<Response, Refused> {
    let name = call.zone()?;
    let row = call.state.reader.zone(&name).await?.ok_or_else(|| no_zone(&name))?;
    document(StatusCode::OK, &shown(&call.state.handle.published().get(), &row))
}

async fn create(call: Call) -> Result<Response, Refused> {
    call.check_write_parameters()?;
    let name = call.zone()?;
    let fields: CreateFields = json::read(&call.body())?;
    let named = |texts: Vec<String>| {
        texts.iter().map(|text| name_of("a name server", text)).collect::<Result<Vec<Name>, Refused>>()
    };
    let ours = &call.state.defaults.nameservers;
    let nameservers = match fields.nameservers {
        Some(texts) => Some(named(texts)?),
        None => (!ours.is_empty()).then(|| ours.clone()),
    };
    let command = CreateZone {
        nameservers,
        contact: fields.contact,
        default_ttl: fields.default_ttl,
        owner: fields.owner.as_deref().map(|owner| owner_id("owner", owner)).transpose()?,
        upstream_group: fields.upstream_group,
        name: name.clone(),
    };
    let owner = command.owner.as_ref().map_or_else(String::new, |owner| owner.as_str().to_owned());
    let report = call.submit(Command::CreateZone(command), &owner, &name.to_string()).await?;
    let status = if report.subject == Some(ItemOutcome::Created) { StatusCode::CREATED } else { StatusCode::OK };
    written(&call, &name, &report, status).await
}

async fn update(call: Call) -> Result<Response, Refused> {
    call.check_write_parameters()?;
    let name = call.zone()?;
    let fields: UpdateFields = json::read(&call.body())?;
    let command = UpdateZone {
        name: name.clone(),
        default_ttl: fields.default_ttl,
        owner: fields.owner.as_deref().map(|owner| owner_id("owner", owner)).transpose()?,
        upstream_group: fields.upstream_group,
    };
    let report = call.submit(Command::UpdateZone(command), "", &name.to_string()).await?;
    written(&call, &name, &report, StatusCode::OK).await
}

/// The zone as it is after a write; of a dry run the report, since the zone may not be there.
async fn written(call: &Call, name: &Name, report: &Report, status: StatusCode) -> Result<Response, Refused> {
    if call.dry_run()? {
        return document(status, &show::report(report, None, true));
    }
    let row = call.state.reader.zone(name).await?.ok_or_else(|| no_zone(name))?;
    let mut zone = shown(&call.state.handle.published().get(), &row);
    zone.outcome = report.subject.map(|outcome| outcome.text().to_owned());
    document(status, &zone)
}

async fn delete(call: Call) -> Result<Response, Refused> {
    call.check_write_parameters()?;
    let name = call.zone()?;
    let report = call.submit(Command::DeleteZone(name.clone()), "", &name.to_string()).await?;
    document(StatusCode::OK, &show::deleted(&report, call.dry_run()?))
}
