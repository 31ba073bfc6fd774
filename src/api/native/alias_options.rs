//! Options of an ALIAS as JSON (alias.md section 1).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::ledger::alias_options::{
    ADDRESSES, AliasOptions, GroupName, MAX_SECONDS, MAX_STALE, MIN_SECONDS, QUARANTINE_AFTER, StaticMode, word,
};
use crate::ledger::code::Code;
use crate::ledger::report::Problem;
use crate::zone::policy::{Internal, OnFailure, OnNxdomain, TtlMode};

fn invalid(detail: impl Into<String>) -> Problem {
    Problem::new(Code::AliasOptionInvalid, detail.into())
}

/// Reads the options that are given; the others are as by default. A key that only a later version acts upon is refused
/// unless it asks for what this version does anyway.
pub(super) fn read(given: BTreeMap<String, Value>) -> Result<AliasOptions, Problem> {
    let mut options = AliasOptions::default();
    for (key, value) in given {
        match key.as_str() {
            "families" => families(&value, &mut options)?,
            "static" => options.static_mode = chosen("static", &StaticMode::ALL, StaticMode::text, &value)?,
            "ttlPolicy" => ttl_policy(&value, &mut options)?,
            "maxAddresses" => {
                options.policy.max_addresses = number("maxAddresses", &value, ADDRESSES)?;
            }
            "onNxdomain" => {
                options.policy.on_nxdomain = chosen("onNxdomain", &OnNxdomain::ALL, OnNxdomain::text, &value)?;
            }
            "onFailure" => {
                options.policy.on_failure = chosen("onFailure", &OnFailure::ALL, OnFailure::text, &value)?;
            }
            "maxStaleSeconds" => {
                options.policy.max_stale_seconds = number("maxStaleSeconds", &value, (0, MAX_STALE))?;
            }
            "quarantineAfterSeconds" => {
                options.quarantine_after = number("quarantineAfterSeconds", &value, QUARANTINE_AFTER)?;
            }
            // What GET shows may be given back: null there means the zone's group.
            "upstreamGroup" if value.is_null() => options.upstream_group = None,
            "upstreamGroup" => {
                let name = value.as_str().and_then(GroupName::new);
                let name = name.ok_or_else(|| invalid("alias.upstreamGroup is the name of an upstream group"))?;
                options.upstream_group = Some(name);
            }
            "allowPrivate" => {
                let allowed = value.as_bool().ok_or_else(|| invalid("alias.allowPrivate is true or false"))?;
                options.policy.internal = if allowed { Internal::Kept } else { Internal::Removed };
            }
            "mode" => only(&key, &value, "single")?,
            "https" | "ecs" | "validate" => only(&key, &value, "off")?,
            _ => {
                let key: String = key.chars().take(64).collect();
                return Err(invalid(format!("alias has no option `{}`", key.escape_debug())));
            }
        }
    }
    Ok(options)
}

fn only(key: &str, value: &Value, usual: &str) -> Result<(), Problem> {
    if value.as_str() == Some(usual) || (usual == "off" && value.as_bool() == Some(false)) {
        return Ok(());
    }
    let detail = format!("alias.{key} can only be {usual} in this version: leave it out");
    Err(Problem::new(Code::AliasOptionUnsupported, detail))
}

fn families(value: &Value, options: &mut AliasOptions) -> Result<(), Problem> {
    let families = value.as_array().filter(|families| !families.is_empty());
    let families = families.ok_or_else(|| invalid("alias.families is a list of A and AAAA"))?;
    (options.a, options.aaaa) = (false, false);
    for family in families {
        match family.as_str() {
            Some("A") => options.a = true,
            Some("AAAA") => options.aaaa = true,
            Some(_) | None => return Err(invalid("alias.families has A and AAAA alone")),
        }
    }
    Ok(())
}

fn ttl_policy(value: &Value, options: &mut AliasOptions) -> Result<(), Problem> {
    let map = value.as_object().ok_or_else(|| invalid("alias.ttlPolicy is an object"))?;
    let hold = &mut options.policy.hold;
    for (key, value) in map {
        match key.as_str() {
            "mode" => options.policy.ttl = chosen("ttlPolicy.mode", &TtlMode::ALL, TtlMode::text, value)?,
            "minSeconds" => hold.min = number("ttlPolicy.minSeconds", value, MIN_SECONDS)?,
            "maxSeconds" => hold.max = number("ttlPolicy.maxSeconds", value, (MIN_SECONDS.0, MAX_SECONDS))?,
            _ => return Err(invalid("alias.ttlPolicy has mode, minSeconds and maxSeconds")),
        }
    }
    if u32::from(hold.min) > hold.max {
        let (min, max) = (hold.min, hold.max);
        return Err(invalid(format!("alias.ttlPolicy.minSeconds, {min}, is over maxSeconds, {max}")));
    }
    Ok(())
}

fn chosen<T: Copy>(key: &str, all: &[T], text: fn(T) -> &'static str, value: &Value) -> Result<T, Problem> {
    let given = value.as_str().ok_or_else(|| invalid(format!("alias.{key} is a word")))?;
    word(all, text, given).map_err(|error| invalid(format!("alias.{key} is {error}")))
}

fn number<T: TryFrom<u64>>(key: &str, value: &Value, (least, most): (u64, u64)) -> Result<T, Problem> {
    let number = value.as_u64().filter(|number| (least..=most).contains(number));
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| invalid(format!("alias.{key} is a whole number from {least} to {most}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zone::policy::{Hold, Policy};
    use serde_json::json;

    fn options(value: Value) -> Result<AliasOptions, Code> {
        let map = value.as_object().expect("an object").clone().into_iter().collect();
        read(map).map_err(|problem| problem.code)
    }

    #[test]
    fn every_option_is_read() {
        let all = json!({
            "families": ["A"], "static": "fallback",
            "ttlPolicy": {"mode": "fixed", "minSeconds": 10, "maxSeconds": 600},
            "maxAddresses": 3, "onNxdomain": "fallback", "onFailure": "nodata", "maxStaleSeconds": 60,
            "quarantineAfterSeconds": 86400, "upstreamGroup": "inside", "allowPrivate": true,
            "mode": "single", "https": "off", "ecs": false, "validate": "off"
        });
        let policy = Policy {
            ttl: TtlMode::Fixed,
            hold: Hold { min: 10, max: 600 },
            on_nxdomain: OnNxdomain::Fallback,
            on_failure: OnFailure::NoData,
            max_stale_seconds: 60,
            max_addresses: 3,
            internal: Internal::Kept,
        };
        let wanted = AliasOptions {
            a: true,
            aaaa: false,
            static_mode: StaticMode::Fallback,
            policy,
            quarantine_after: 86_400,
            upstream_group: GroupName::new("inside"),
        };
        assert_eq!(options(all), Ok(wanted));
        assert_eq!(options(json!({})), Ok(AliasOptions::default()));
    }

    #[test]
    fn what_is_out_of_bounds_or_unknown_is_refused() {
        for bad in [
            json!({"families": []}),
            json!({"families": ["MX"]}),
            json!({"static": "maybe"}),
            json!({"ttlPolicy": {"minSeconds": 1}}),
            json!({"ttlPolicy": {"minSeconds": 3601}}),
            json!({"ttlPolicy": {"minSeconds": 60, "maxSeconds": 59}}),
            json!({"ttlPolicy": {"maxSeconds": 86401}}),
            json!({"ttlPolicy": {"mode": "other"}}),
            json!({"ttlPolicy": 5}),
            json!({"maxAddresses": 0}),
            json!({"maxAddresses": 65}),
            json!({"onNxdomain": "delete"}),
            json!({"onFailure": "stale"}),
            json!({"maxStaleSeconds": 604_801}),
            json!({"maxStaleSeconds": -1}),
            json!({"quarantineAfterSeconds": 86_399}),
            json!({"upstreamGroup": "a b"}),
            json!({"allowPrivate": "yes"}),
            json!({"other": 3}),
        ] {
            assert_eq!(options(bad.clone()), Err(Code::AliasOptionInvalid), "{bad}");
        }
        for later in [json!({"mode": "merge"}), json!({"https": "follow"}), json!({"ecs": true})] {
            assert_eq!(options(later.clone()), Err(Code::AliasOptionUnsupported), "{later}");
        }
    }
}
