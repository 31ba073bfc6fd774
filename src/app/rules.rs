//! What the configuration says about answers, in the form that the query path reads.

use std::path::Path;
use std::sync::Arc;

use crate::answer::rate::RateLimiter;
use crate::answer::{AliasText, AliasType, AnyPolicy, Rules};
use crate::config::{self, AnyAnswer, Config, EdeText};
use crate::control::terms::{DEFAULT_GROUP, Targets, Terms};
use crate::ledger::owner::OwnerId;
use crate::wire::cookie::CookieSecrets;
use crate::wire::name::HashKey;
use crate::zone::policy::Internal;
use crate::zone::walk::Trust;

/// What the configuration says about ALIAS records. The error is a sentence.
pub(super) fn terms(config: &Config) -> Result<Terms, String> {
    let alias = &config.alias;
    let lists = |(owner, lists): (&String, &config::Targets)| {
        let id = OwnerId::new(owner).map_err(|error| format!("alias.owners: `{}`: {error}", owner.escape_debug()))?;
        Ok::<_, String>((id, Targets { allow: lists.allow.clone(), deny: lists.deny.clone() }))
    };
    Ok(Terms {
        groups: std::iter::once(DEFAULT_GROUP.to_owned()).chain(alias.groups.keys().cloned()).collect(),
        internal: if alias.allow_private_targets { Internal::Kept } else { Internal::Removed },
        max_targets: alias.max_targets,
        owners: alias.owners.iter().map(lists).collect::<Result<_, _>>()?,
    })
}

/// The rules of a configuration. The error is a sentence.
pub(super) fn rules(config: &Config) -> Result<Rules, String> {
    let cookies = match (&config.dns.cookies.secret_file, &config.dns.cookies.secret) {
        (Some(file), _) => read_secrets(file)?,
        (None, Some(secret)) => secrets("dns.cookies.secret", secret)?,
        (None, None) => {
            let mut secret = [0; 16];
            getrandom::fill(&mut secret).map_err(|error| format!("the system gives no random numbers: {error}"))?;
            CookieSecrets::new(secret, None)
        }
    };
    let mut rules = Rules::new(cookies);
    rules.edns_size = config.dns.edns_size;
    rules.any = match config.dns.any {
        AnyAnswer::Minimal => AnyPolicy::Minimal,
        AnyAnswer::Full => AnyPolicy::Full,
    };
    rules.nsid = config.dns.nsid.as_ref().map(|text| text.clone().into_bytes());
    rules.version = config.dns.version.as_ref().map(|text| text.clone().into_bytes());
    rules.enforce_cookies = config.dns.cookies.enforce;
    rules.keepalive = config.dns.tcp_idle * 10;
    rules.trust =
        Trust { all: config.alias.trust_all_zones, zones: config.alias.trusted_zones.iter().cloned().collect() };
    rules.alias_text = match config.alias.ede_text {
        EdeText::None => AliasText::None,
        EdeText::Status => AliasText::Status,
        EdeText::Target => AliasText::Target,
    };
    rules.alias_type = if config.alias.expose_type { AliasType::Shown } else { AliasType::Hidden };
    if config.dns.rrl.rate > 0 {
        let key = HashKey::new(super::random()?, super::random()?);
        rules.limiter = Some(Arc::new(RateLimiter::new(config.dns.rrl.rate, config.dns.rrl.exempt.clone(), key)));
    }
    Ok(rules)
}

/// The rules of a configuration that follows another: what nobody changed goes on, such as a secret that was made at
/// the start and what the rate limiter counted.
pub(super) fn renewed(config: &Config, former: &Config, rules: &Rules) -> Result<Rules, String> {
    let mut next = self::rules(config)?;
    let makes_one = |config: &Config| config.dns.cookies.secret_file.is_none() && config.dns.cookies.secret.is_none();
    if makes_one(config) && makes_one(former) {
        next.cookies = rules.cookies.clone();
    }
    if config.dns.rrl == former.dns.rrl {
        next.limiter = rules.limiter.clone();
    }
    // What only a restart changes.
    next.keepalive = rules.keepalive;
    next.trust = rules.trust.clone();
    Ok(next)
}

fn read_secrets(file: &Path) -> Result<CookieSecrets, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    secrets(&file.display().to_string(), &text)
}

/// One or two secrets of 16 octets in hexadecimal, a line each: the first signs, the second still verifies. The error
/// does not repeat the text.
fn secrets(place: &str, text: &str) -> Result<CookieSecrets, String> {
    let wrong = |what: &str| {
        format!("{place}: {what}; expected one or two lines of 32 hexadecimal digits, the current secret first")
    };
    let mut secrets = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| {
        let number = u128::from_str_radix(line, 16).ok().filter(|_| line.len() == 32);
        number.map(u128::to_be_bytes).ok_or_else(|| wrong("this is no secret"))
    });
    let current = secrets.next().unwrap_or_else(|| Err(wrong("there is no secret")))?;
    let former = secrets.next().transpose()?;
    match secrets.next() {
        None => Ok(CookieSecrets::new(current, former)),
        Some(_) => Err(wrong("there are over two secrets")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_read_or_the_file_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("secret");
        for (text, good) in [
            ("e5e973e5a6b2a43f48e7dc849e37bfcf\n", true),
            ("e5e973e5a6b2a43f48e7dc849e37bfcf\n445536bcd2513298075a5d379663c962\n", true),
            ("", false),
            ("e5e973e5a6b2a43f48e7dc849e37bf\n", false),
            ("not a secret of 32 hex digits at\n", false),
        ] {
            std::fs::write(&file, text).expect("a file");
            let read = read_secrets(&file);
            assert_eq!(read.is_ok(), good, "{text}");
            if let Err(error) = read {
                assert!(error.contains("secret"), "{error}");
            }
        }
    }
}
