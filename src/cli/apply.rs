//! `tenured apply`: documents of YAML or JSON as the full set of an owner.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use reqwest::Method;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::client::{Body, Client, path};
use super::failure::{Failure, Waiting};
use super::output::Format;
use super::report;
use crate::api::documents::ReportDocument;
use crate::app::includes::read_file;
use crate::telemetry::note;

/// Largest input, in octets: what the API takes.
const MAX_INPUT: u64 = 64 * 1024 * 1024;

/// An owner and the body of its apply.
pub(super) type OwnerSet = (String, Map<String, Value>);

#[derive(Args, Debug)]
pub(super) struct Flags {
    /// File of YAML or JSON with one document or many, or - for stdin: a record, a list of records, or an object with
    /// `records` and if wanted `owner`, `parent`, `kind`, `generation`
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    file: PathBuf,
    /// The owner of documents that name none
    #[arg(long, value_name = "ID")]
    owner: Option<String>,
    /// Keep records of the owner that the file does not have
    #[arg(long)]
    no_prune: bool,
    /// Show what would come of it, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Let so many records be deleted
    #[arg(long, value_name = "N")]
    max_deletes: Option<u64>,
    /// All or nothing
    #[arg(long)]
    atomic: bool,
    /// Refuse records that others hold, or queue for them
    #[arg(long, value_name = "WHAT", value_parser = ["reject", "queue"])]
    on_conflict: Option<String>,
    /// Refuse what would leave records of this server pointing at nothing
    #[arg(long)]
    keep_targets: bool,
}

pub(super) async fn run(flags: Flags, client: &Client, format: Format) -> Result<(), Failure> {
    let sets = read(&flags.file, flags.owner.as_deref())?;
    let deletes = flags.max_deletes.map(|count| count.to_string());
    let mut query: Vec<(&str, &str)> = Vec::new();
    for (given, key, value) in [
        (flags.no_prune, "prune", "false"),
        (flags.dry_run, "dryRun", "true"),
        (flags.atomic, "atomic", "true"),
        (flags.keep_targets, "refs", "block"),
    ] {
        if given {
            query.push((key, value));
        }
    }
    if let Some(count) = &deletes {
        query.push(("maxDeletes", count));
    }
    if let Some(what) = &flags.on_conflict {
        query.push(("onConflict", what));
    }
    let can_wait = Waiting::of(flags.on_conflict.as_deref());
    let mut partly = false;
    for (owner, body) in sets {
        let path = path(&["v1", "owners", &owner, "records"]);
        let written = client.write(Method::PUT, &path, &query, Body::Json(Value::Object(body))).await;
        let (status, report): (_, ReportDocument) = written.map_err(|failure| failure.or_wait(can_wait))?;
        note!("owner {owner}");
        let printed = report::print(status, &report, format);
        report::print_waiting(&report, can_wait);
        match printed {
            Ok(()) => {}
            Err(Failure::Partly) => partly = true,
            Err(failure) => return Err(failure),
        }
    }
    if partly { Err(Failure::Partly) } else { Ok(()) }
}

/// The sets of a file, or of stdin if its name is `-`.
pub(super) fn read(file: &Path, owner: Option<&str>) -> Result<Vec<OwnerSet>, Failure> {
    let text = input(file)?;
    sets(&text, owner).map_err(|what| Failure::Usage(format!("{}: {what}", file.display())))
}

pub(super) fn input(file: &Path) -> Result<String, Failure> {
    let shown = file.display();
    let octets = if file == Path::new("-") {
        let mut octets = Vec::new();
        let read = std::io::stdin().lock().take(MAX_INPUT + 1).read_to_end(&mut octets);
        read.map_err(|error| Failure::failed(format!("stdin: {error}")))?;
        if octets.len() as u64 > MAX_INPUT {
            return Err(Failure::failed(format!("stdin has over {MAX_INPUT} octets, the most of one apply")));
        }
        octets
    } else {
        read_file(file, MAX_INPUT).map_err(|error| Failure::failed(format!("{shown}: {error}")))?
    };
    String::from_utf8(octets).map_err(|_| Failure::failed(format!("{shown} is no UTF-8")))
}

/// The body for each owner, in the order in which owners first come. Documents of one owner are one set: its full set
/// is all that they list.
fn sets(text: &str, default_owner: Option<&str>) -> Result<Vec<OwnerSet>, String> {
    let mut sets: Vec<OwnerSet> = Vec::new();
    for (number, document) in documents(text)?.into_iter().enumerate() {
        let at = |what: String| format!("document {}: {what}", number + 1);
        let mut keys = match document {
            Value::Null => continue,
            Value::Array(records) => Map::from_iter([("records".to_owned(), Value::Array(records))]),
            Value::Object(object) if object.contains_key("records") => object,
            Value::Object(mut object) if object.contains_key("type") && object.contains_key("name") => {
                let owner = object.remove("owner");
                let mut keys = Map::from_iter([("records".to_owned(), Value::Array(vec![Value::Object(object)]))]);
                keys.extend(owner.map(|owner| ("owner".to_owned(), owner)));
                keys
            }
            _ => return Err(at("expected a record, a list of records, or an object with `records`".to_owned())),
        };
        let owner = match keys.remove("owner") {
            Some(Value::String(owner)) => owner,
            Some(_) => return Err(at("`owner` is a text".to_owned())),
            None => {
                default_owner.map(str::to_owned).ok_or_else(|| at("it names no owner: give --owner ID".to_owned()))?
            }
        };
        let Some(Value::Array(mut records)) = keys.remove("records") else {
            return Err(at("`records` is a list".to_owned()));
        };
        for record in &records {
            check_values(record).map_err(at)?;
        }
        let set = match sets.iter_mut().find(|(other, _)| *other == owner) {
            Some((_, set)) => set,
            None => {
                sets.push((owner.clone(), Map::from_iter([("records".to_owned(), Value::Array(Vec::new()))])));
                &mut sets.last_mut().expect("one was just put in").1
            }
        };
        for (key, value) in keys {
            if set.insert(key.clone(), value.clone()).is_some_and(|before| before != value) {
                return Err(at(format!("`{key}` of {owner} is another than in an earlier document")));
            }
        }
        if let Some(Value::Array(all)) = set.get_mut("records") {
            all.append(&mut records);
        }
    }
    if sets.is_empty() {
        return match default_owner {
            // An empty file is an empty set; the brake of the server keeps it from taking much.
            Some(owner) => {
                Ok(vec![(owner.to_owned(), Map::from_iter([("records".to_owned(), Value::Array(Vec::new()))]))])
            }
            None => Err("there is no document in it: give --owner ID to make that owner's set empty".to_owned()),
        };
    }
    Ok(sets)
}

/// YAML turns `10` into a number and `no` or `1e3` into something else: values must be texts.
fn check_values(record: &Value) -> Result<(), String> {
    let name = record.get("name").and_then(Value::as_str).unwrap_or("a record without a name");
    match record.get("values") {
        Some(Value::Array(values)) if values.iter().all(Value::is_string) => Ok(()),
        Some(Value::Array(_)) => Err(format!("{name}: a value is not a text: put it in quotes")),
        Some(_) => Err(format!("{name}: `values` is a list")),
        None => Err(format!("{name}: it has no `values`")),
    }
}

/// All documents of YAML or JSON. JSON goes through its own reader, since YAML is not quite its superset.
fn documents(text: &str) -> Result<Vec<Value>, String> {
    if text.trim_start().starts_with(['{', '[']) {
        let documents: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(text).into_iter().collect();
        match documents {
            Ok(documents) => return Ok(documents),
            // A flow mapping of YAML begins alike.
            Err(error) if !text.contains("---") && text.trim_start().starts_with("{\"") => {
                return Err(error.to_string());
            }
            Err(_) => {}
        }
    }
    serde_yaml_ng::Deserializer::from_str(text)
        .map(|document| Value::deserialize(document).map_err(|error| error.to_string()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn documents_of_one_owner_are_one_set() {
        let text = "name: www.example.com.\ntype: A\nvalues: [192.0.2.1]\n---\n- {name: a.example.com., type: TXT, \
                    values: [\"x\"]}\n---\nowner: team-b\nkind: Gateway\nrecords:\n- {name: b.example.com., type: A, \
                    values: [192.0.2.2]}\n---\n";
        let sets = sets(text, Some("team-a")).expect("documents");
        assert_eq!(sets.len(), 2);
        assert_eq!(sets[0].0, "team-a");
        assert_eq!(sets[0].1["records"].as_array().map(Vec::len), Some(2));
        assert_eq!((sets[1].0.as_str(), &sets[1].1["kind"]), ("team-b", &json!("Gateway")));
        assert!(!sets[1].1.contains_key("owner"));
    }

    #[test]
    fn json_is_read_one_document_or_many() {
        let text = r#"{"records":[{"name":"a.example.","type":"A","values":["192.0.2.1"]}]}
                      {"records":[{"name":"b.example.","type":"A","values":["192.0.2.1"]}]}"#;
        assert_eq!(sets(text, Some("x")).expect("documents")[0].1["records"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn what_is_no_set_is_refused_with_its_document() {
        for (text, part) in [
            ("records: 5", "`records` is a list"),
            ("just text", "document 1: expected a record"),
            ("- {name: a.example., type: TXT, values: [10]}", "put it in quotes"),
            ("- {name: a.example., type: TXT}", "no `values`"),
            ("kind: A\nrecords: []\n---\nkind: B\nrecords: []\n", "document 2: `kind`"),
            ("{\"records\": [}", "expected value"),
        ] {
            let error = sets(text, Some("x")).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
        assert!(sets("records: []", None).expect_err("no owner").contains("--owner"));
        assert_eq!(sets("", Some("x")).expect("the empty set")[0].1["records"], json!([]));
    }
}
