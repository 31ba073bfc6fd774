//! The alerts and the dashboard use metrics that the server has.

use std::collections::BTreeSet;

use serde_json::Value;

use super::server::Server;
use super::text;

/// Names that begin with `tenured_` and are metrics in a text.
fn names(text: &str) -> BTreeSet<String> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    text.split(|character: char| !is_part(character))
        .filter(|word| word.starts_with("tenured_"))
        .map(str::to_owned)
        .collect()
}

/// All metrics of a server by the names that queries use, those that have no sample yet included.
fn known() -> BTreeSet<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    let metrics = server.metrics();
    let mut known = BTreeSet::new();
    for line in metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let mut words = line.split(' ');
        let (Some(name), Some(kind)) = (words.next(), words.next()) else { panic!("{line}") };
        match kind {
            "histogram" => known.extend(["_bucket", "_sum", "_count"].map(|suffix| format!("{name}{suffix}"))),
            _ => {
                known.insert(name.to_owned());
            }
        }
    }
    known
}

#[test]
fn every_metric_of_the_alerts_and_of_the_dashboard_is_one_of_the_servers() {
    let known = known();
    assert!(known.len() > 20, "{known:?}");
    for file in ["deploy/prometheus/alerts.yaml", "deploy/grafana/dashboard.json"] {
        let used = names(&text(file));
        assert!(used.len() >= 8, "{file}: {used:?}");
        let unknown: Vec<&String> = used.difference(&known).collect();
        assert!(unknown.is_empty(), "{file}: the server has no {unknown:?}; it has {known:?}");
    }
}

#[test]
fn every_metric_of_the_server_is_in_the_documentation() {
    let documented = names(&text("docs/operations.md"));
    let missing: Vec<String> = known()
        .into_iter()
        .filter(|name| {
            let bare = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
            !documented.contains(name) && bare.is_none_or(|bare| !documented.contains(bare))
        })
        .collect();
    assert!(missing.is_empty(), "docs/operations.md does not name {missing:?}");
}

#[test]
fn each_alert_says_what_it_means_and_the_dashboard_is_whole() {
    let alerts: Value = serde_yaml_ng::from_str(&text("deploy/prometheus/alerts.yaml")).expect("YAML");
    let rules = alerts["groups"][0]["rules"].as_array().expect("rules");
    for rule in rules {
        for part in [&rule["alert"], &rule["expr"], &rule["for"], &rule["labels"]["severity"]] {
            assert!(part.is_string(), "{rule}");
        }
        assert!(
            rule["annotations"]["summary"].as_str().is_some_and(|text| text.contains("$labels.instance")),
            "{rule}"
        );
    }
    let dashboard: Value = serde_json::from_str(&text("deploy/grafana/dashboard.json")).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let ids: BTreeSet<u64> = panels.iter().filter_map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len());
    for panel in panels {
        let targets = panel["targets"].as_array().expect("targets");
        assert!(targets.iter().all(|target| target["expr"].as_str().is_some_and(|expr| expr.contains("tenured_"))));
    }
}
