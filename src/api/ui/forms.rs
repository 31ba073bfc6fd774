//! What buttons of a record need to know.

use super::ask::with_parameters;
use crate::api::documents::RecordDocument;

/// Where a record is edited.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The path of the form.
    pub(super) edit: String,
}

/// The places of records.
pub(super) fn places(records: Vec<RecordDocument>) -> Vec<(RecordDocument, Place)> {
    records
        .into_iter()
        .map(|record| {
            let set_id = record.set_id.as_deref().unwrap_or_default();
            let parameters = [
                ("owner", record.owner.as_str()),
                ("zone", &record.zone),
                ("name", &record.name),
                ("type", &record.rtype),
                ("setId", set_id),
            ];
            let edit = with_parameters("/ui/records/edit", &parameters);
            (record, Place { edit })
        })
        .collect()
}
