//! Keys: what a token of the PowerDNS door may do there, and how it is answered. A profile is a set of defaults for one
//! kind of controller; each field can be set by itself.

use serde::{Deserialize, Serialize};

use crate::wire::codes::Rtype;
use crate::wire::name::Name;

/// Longest list of `only`.
pub const MAX_ONLY: usize = 64;
/// Grace of `onUnconfirmed`, in seconds, if none is given.
pub const DEFAULT_GRACE_SECONDS: u32 = 86_400;

macro_rules! words {
    ($(#[$attribute:meta])+ $name:ident { $($(#[$variant_attribute:meta])+ $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$attribute])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name { $($(#[$variant_attribute])+ $variant),* }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The word in JSON.
            pub fn text(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }

            /// Reads [`Self::text`].
            pub fn from_text(text: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|one| one.text() == text)
            }
        }
    };
}

words! {
    /// The kind of controller that a key is for.
    Profile {
        /// Any client that reads what it writes.
        #[default]
        Generic = "generic",
        /// A controller of record sets that asserts all of them at its start.
        DnsOperator = "dns-operator",
        /// external-dns with its `pdns` provider.
        ExternalDns = "external-dns",
        /// ACME clients that solve DNS-01.
        Acme = "acme",
    }
}

words! {
    /// What reads show.
    View {
        /// Every served RRset.
        #[default]
        All = "all",
        /// What the key's owner holds, with SOA and NS of the apex.
        Own = "own",
    }
}

words! {
    /// What a refused RRset does to the rest of its request.
    Conflicts {
        /// Nothing of the request is in effect.
        #[default]
        Reject = "reject",
        /// The rest is; the answer lists what was refused.
        Partial = "partial",
        /// The rest is, and the answer is that of success.
        Quiet = "quiet",
    }
}

words! {
    /// What becomes of claims that a re-assertion wave passed by.
    OnUnconfirmed {
        /// They are listed.
        #[default]
        Report = "report",
        /// After the grace they are put aside.
        Quarantine = "quarantine",
    }
}

/// What a key does. The flags are answers to yes-or-no questions of the operator, and each stands for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySettings {
    /// Where the defaults came from.
    pub profile: Profile,
    /// What reads show.
    pub view: View,
    /// What a refused RRset does to the rest.
    pub conflicts: Conflicts,
    /// Whether a refused wish waits for the holder to let go.
    pub queue: bool,
    /// Whether the owner's CNAME and its A, AAAA or ALIAS replace each other.
    pub supersede: bool,
    /// Whether re-assertion waves are looked for.
    pub wave: bool,
    /// Whether many deletes at once go on hold.
    pub brake: bool,
    /// Whether a value reads back as it was written.
    pub echo_written: bool,
    /// Whether claims may stand beside other owners' claims.
    pub share: bool,
    /// Whether what stands in the way is taken over.
    pub takeover: bool,
    /// Whether every write is refused.
    pub read_only: bool,
    /// Whether a conflict leaves out who holds.
    pub hide_holder: bool,
    /// Types that may be written; empty for all.
    pub only_types: Vec<Rtype>,
    /// Globs over names that may be written, without the final dot; empty for all.
    pub only_names: Vec<String>,
    /// What becomes of unconfirmed claims.
    pub on_unconfirmed: OnUnconfirmed,
    /// After so many seconds.
    pub grace_seconds: u32,
}

impl KeySettings {
    /// The defaults of a profile.
    pub fn of(profile: Profile) -> KeySettings {
        let generic = KeySettings {
            profile,
            view: View::All,
            conflicts: Conflicts::Reject,
            queue: false,
            supersede: true,
            wave: false,
            brake: false,
            echo_written: false,
            share: false,
            takeover: false,
            read_only: false,
            hide_holder: false,
            only_types: Vec::new(),
            only_names: Vec::new(),
            on_unconfirmed: OnUnconfirmed::Report,
            grace_seconds: DEFAULT_GRACE_SECONDS,
        };
        match profile {
            Profile::Generic => generic,
            Profile::DnsOperator => {
                KeySettings { view: View::Own, queue: true, supersede: false, wave: true, ..generic }
            }
            Profile::ExternalDns => KeySettings {
                view: View::Own,
                conflicts: Conflicts::Quiet,
                queue: true,
                brake: true,
                echo_written: true,
                ..generic
            },
            Profile::Acme => KeySettings {
                only_types: vec![Rtype::TXT],
                only_names: vec!["_acme-challenge.*".to_owned()],
                ..generic
            },
        }
    }

    /// Whether the key may write an RRset of this name and type.
    pub fn admits(&self, name: &Name, rtype: Rtype) -> bool {
        let text = name.to_string();
        (self.only_types.is_empty() || self.only_types.contains(&rtype))
            && (self.only_names.is_empty()
                || self.only_names.iter().any(|glob| super::entitlement::matches_glob(glob, &text)))
    }

    /// Whether claims of the key at this name and type are shared: those that answer an ACME challenge always are, since
    /// two clients may validate one name at once (RFC 8555 section 8.4).
    pub fn shares(&self, name: &Name, rtype: Rtype) -> bool {
        let is_challenge = || name.labels().next().is_some_and(|label| label == b"_acme-challenge");
        !rtype.is_singleton() && (self.share || rtype == Rtype::TXT && is_challenge())
    }
}

/// The settings as they are kept and as a request gives them: what is absent is as the profile has it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct KeyFields {
    /// See [`KeySettings::profile`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// See [`KeySettings::view`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
    /// See [`KeySettings::conflicts`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflicts: Option<String>,
    /// See [`KeySettings::queue`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<bool>,
    /// See [`KeySettings::supersede`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersede: Option<bool>,
    /// See [`KeySettings::wave`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wave: Option<bool>,
    /// See [`KeySettings::brake`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brake: Option<bool>,
    /// See [`KeySettings::echo_written`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub echo_written: Option<bool>,
    /// See [`KeySettings::share`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<bool>,
    /// See [`KeySettings::takeover`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub takeover: Option<bool>,
    /// See [`KeySettings::read_only`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// See [`KeySettings::hide_holder`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hide_holder: Option<bool>,
    /// See [`KeySettings::only_types`] and [`KeySettings::only_names`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<OnlyFields>,
    /// See [`KeySettings::on_unconfirmed`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_unconfirmed: Option<String>,
    /// See [`KeySettings::grace_seconds`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_seconds: Option<u32>,
}

/// What a key may write.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct OnlyFields {
    /// Types; empty for all.
    pub types: Vec<String>,
    /// Globs over names; empty for all.
    pub names: Vec<String>,
}

fn word<T: Copy + Default>(
    what: &str,
    given: Option<&String>,
    usual: T,
    (all, text): (&[T], fn(T) -> &'static str),
) -> Result<T, String> {
    let Some(given) = given else { return Ok(usual) };
    all.iter().copied().find(|one| text(*one) == given).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|one| text(*one)).collect();
        format!("{what} is one of {}, not `{}`", known.join(", "), given.escape_debug())
    })
}

impl TryFrom<&KeyFields> for KeySettings {
    type Error = String;

    /// The error is a sentence that says what the field can be.
    fn try_from(fields: &KeyFields) -> Result<KeySettings, String> {
        let profile = word("profile", fields.profile.as_ref(), Profile::Generic, (Profile::ALL, |one| one.text()))?;
        let usual = KeySettings::of(profile);
        let (only_types, only_names) = match &fields.only {
            None => (usual.only_types, usual.only_names),
            Some(only) => {
                if only.types.len() > MAX_ONLY || only.names.len() > MAX_ONLY {
                    return Err(format!("only has at most {MAX_ONLY} types and {MAX_ONLY} names"));
                }
                let types: Result<Vec<Rtype>, _> = only.types.iter().map(|text| text.parse::<Rtype>()).collect();
                (types.map_err(|error| format!("only: {error}"))?, only.names.clone())
            }
        };
        Ok(KeySettings {
            profile,
            view: word("view", fields.view.as_ref(), usual.view, (View::ALL, |one| one.text()))?,
            conflicts: word(
                "conflicts",
                fields.conflicts.as_ref(),
                usual.conflicts,
                (Conflicts::ALL, |one| one.text()),
            )?,
            queue: fields.queue.unwrap_or(usual.queue),
            supersede: fields.supersede.unwrap_or(usual.supersede),
            wave: fields.wave.unwrap_or(usual.wave),
            brake: fields.brake.unwrap_or(usual.brake),
            echo_written: fields.echo_written.unwrap_or(usual.echo_written),
            share: fields.share.unwrap_or(usual.share),
            takeover: fields.takeover.unwrap_or(usual.takeover),
            read_only: fields.read_only.unwrap_or(usual.read_only),
            hide_holder: fields.hide_holder.unwrap_or(usual.hide_holder),
            only_types,
            only_names,
            on_unconfirmed: word(
                "onUnconfirmed",
                fields.on_unconfirmed.as_ref(),
                usual.on_unconfirmed,
                (OnUnconfirmed::ALL, |one| one.text()),
            )?,
            grace_seconds: fields.grace_seconds.unwrap_or(usual.grace_seconds),
        })
    }
}

impl From<&KeySettings> for KeyFields {
    fn from(key: &KeySettings) -> KeyFields {
        KeyFields {
            profile: Some(key.profile.text().to_owned()),
            view: Some(key.view.text().to_owned()),
            conflicts: Some(key.conflicts.text().to_owned()),
            queue: Some(key.queue),
            supersede: Some(key.supersede),
            wave: Some(key.wave),
            brake: Some(key.brake),
            echo_written: Some(key.echo_written),
            share: Some(key.share),
            takeover: Some(key.takeover),
            read_only: Some(key.read_only),
            hide_holder: Some(key.hide_holder),
            only: Some(OnlyFields {
                types: key.only_types.iter().map(Rtype::to_string).collect(),
                names: key.only_names.clone(),
            }),
            on_unconfirmed: Some(key.on_unconfirmed.text().to_owned()),
            grace_seconds: Some(key.grace_seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_kept_as_they_are_whatever_the_profile() {
        for profile in Profile::ALL {
            let key = KeySettings { takeover: true, view: View::All, ..KeySettings::of(*profile) };
            let text = serde_json::to_string(&KeyFields::from(&key)).expect("JSON");
            let fields: KeyFields = serde_json::from_str(&text).expect("fields");
            assert_eq!(KeySettings::try_from(&fields), Ok(key), "{text}");
        }
    }

    #[test]
    fn a_key_for_acme_writes_challenges_alone_and_shares_them() {
        let key = KeySettings::of(Profile::Acme);
        let name = |text: &str| Name::parse(text).expect("a name");
        assert!(key.admits(&name("_acme-challenge.www.example.com"), Rtype::TXT));
        assert!(!key.admits(&name("www.example.com"), Rtype::TXT));
        assert!(!key.admits(&name("_acme-challenge.www.example.com"), Rtype::CNAME));
        assert!(key.shares(&name("_acme-challenge.example.com"), Rtype::TXT));
        assert!(!key.shares(&name("_acme-challenge.example.com"), Rtype::CNAME));
        assert!(!KeySettings::of(Profile::Generic).shares(&name("www.example.com"), Rtype::TXT));
    }

    #[test]
    fn a_word_that_is_none_says_which_there_are() {
        let fields = KeyFields { view: Some("mine".to_owned()), ..KeyFields::default() };
        let error = KeySettings::try_from(&fields).expect_err("no word");
        assert!(error.contains("all, own"), "{error}");
    }
}
