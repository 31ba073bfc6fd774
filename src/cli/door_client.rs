//! `tenured owner client`: what the external-dns door knows of the client of an owner.

use super::failure::Failure;
use super::output::{self, Format};
use crate::api::door_documents::StatusDocument;

pub(super) fn print(status: &StatusDocument, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => output::print_json(status),
        Format::Name => output::print_names(std::iter::once(status.owner.as_str())),
        Format::Table => output::print(&text(status)),
    }
}

fn text(status: &StatusDocument) -> String {
    let mut lines = vec![format!("owner         {}", status.owner)];
    let mut add = |key: &str, value: Option<&str>| lines.extend(value.map(|value| format!("{key:<13} {value}")));
    add("txt-owner-id", status.txt_owner_id.as_deref());
    add("client", status.client.as_deref());
    add("instance", status.instance.as_deref());
    add("negotiate", status.calls.negotiate.as_deref());
    add("records", status.calls.records.as_deref());
    add("adjust", status.calls.adjust.as_deref());
    add("change", status.calls.change.as_deref());
    for hold in &status.holds {
        add("on hold", Some(&format!("{hold}: tenured hold approve {hold}, or discard")));
    }
    for one in &status.queued {
        add("waits", Some(&format!("{} {} since {}", one.name, one.rtype, one.since)));
    }
    for one in status.last_change.iter().flat_map(|change| &change.refused) {
        let holder = one.holder.as_ref().map(|holder| format!(", held by {}", holder.owner)).unwrap_or_default();
        let code = one.code.as_deref().unwrap_or_default();
        add("refused", Some(&format!("{} {} {} ({code}{holder})", one.name, one.rtype, one.outcome)));
    }
    lines.push(String::new());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::documents::ItemDocument;
    use crate::api::door_documents::PostDocument;

    #[test]
    fn what_is_refused_and_on_hold_stands_in_words() {
        let refused = ItemDocument {
            name: "www.example.com.".to_owned(),
            rtype: "A".to_owned(),
            outcome: "invalid".to_owned(),
            code: Some("invalid_record".to_owned()),
            ..ItemDocument::default()
        };
        let status = StatusDocument {
            owner: "externaldns:prod".to_owned(),
            holds: vec!["h7".to_owned()],
            last_change: Some(PostDocument { refused: vec![refused], ..PostDocument::default() }),
            ..StatusDocument::default()
        };
        let wanted = "owner         externaldns:prod\non hold       h7: tenured hold approve h7, or discard\n\
            refused       www.example.com. A invalid (invalid_record)\n";
        assert_eq!(text(&status), wanted);
    }
}
