//! The stable codes of refusals (ownership.md section 6, alias.md section 2) and the status each has over HTTP.

use std::fmt;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $text:literal $status:literal),* $(,)?) => {
        /// Why something was refused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($(#[doc = $doc])+ $variant),* }

        impl Code {
            /// All codes.
            pub const ALL: &[Code] = &[$(Code::$variant),*];

            /// The word in API, command line and history.
            pub fn text(self) -> &'static str {
                match self { $(Code::$variant => $text),* }
            }

            /// The status of an HTTP response that says this and nothing else.
            pub fn http_status(self) -> u16 {
                match self { $(Code::$variant => $status),* }
            }
        }
    };
}

codes! {
    /// Not JSON, an unknown key or parameter, or a value of the wrong form.
    BadRequest = "bad_request" 400,
    /// No valid token.
    Unauthorized = "unauthorized" 401,
    /// The token may not do this.
    Forbidden = "forbidden" 403,
    /// There is no such thing.
    NotFound = "not_found" 404,
    /// Another owner holds the RRset.
    OwnedByOther = "owned_by_other" 409,
    /// A CNAME and another type at one name (RFC 2181 section 10.1), or CNAME and DNAME.
    CnameExclusive = "cname_exclusive" 409,
    /// An ALIAS beside a CNAME, or beside addresses that its `static` option does not admit.
    AliasExclusive = "alias_exclusive" 409,
    /// The old record stays, since the one that was to take its place is in another owner's way.
    SwapRefused = "swap_refused" 409,
    /// A newer generation was applied.
    StaleGeneration = "stale_generation" 409,
    /// A higher epoch was seen.
    Fenced = "fenced" 409,
    /// The owner has children, and `cascade` was not asked for.
    HasChildren = "has_children" 409,
    /// Another uid than the owner's in a change of some records.
    OwnerIncarnation = "owner_incarnation" 409,
    /// More deletes than the brake lets through without `maxDeletes`.
    DeleteGuard = "delete_guard" 409,
    /// The zone exists with other keys.
    ZoneExists = "zone_exists" 409,
    /// Others point at what would go.
    ReferencedBy = "referenced_by" 409,
    /// An external-dns client with another owner id than the one that the records here belong to.
    OwnerLabelMismatch = "owner_label_mismatch" 409,
    /// This incarnation of the owner was deleted.
    OwnerGone = "owner_gone" 410,
    /// The history no longer goes back that far.
    Compacted = "compacted" 410,
    /// The owner changed since the revision named.
    StaleRevision = "stale_revision" 412,
    /// The body is too large.
    PayloadTooLarge = "payload_too_large" 413,
    /// The data of a record is not of its type.
    InvalidRecord = "invalid_record" 422,
    /// The name is in no zone, or not in the one given.
    NameOutOfZone = "name_out_of_zone" 422,
    /// No values.
    EmptyRrset = "empty_rrset" 422,
    /// TTL over 2,147,483,647.
    TtlOutOfRange = "ttl_out_of_range" 422,
    /// The target of an ALIAS is no name that could have addresses.
    AliasTargetInvalid = "alias_target_invalid" 422,
    /// The target of an ALIAS is a special-use name.
    AliasTargetSpecial = "alias_target_special" 422,
    /// An ALIAS with several targets.
    AliasMultipleTargets = "alias_multiple_targets" 422,
    /// An ALIAS to itself.
    AliasSelf = "alias_self" 422,
    /// An ALIAS whose walk through hosted zones comes back to a name that it had.
    AliasLoop = "alias_loop" 422,
    /// An ALIAS whose walk through hosted zones has over 16 steps.
    AliasChainTooLong = "alias_chain_too_long" 422,
    /// An option of an ALIAS that is unknown or out of its bounds.
    AliasOptionInvalid = "alias_option_invalid" 422,
    /// An option of an ALIAS that this version does not act upon.
    AliasOptionUnsupported = "alias_option_unsupported" 422,
    /// A policy of an ALIAS says `fallback`, its `static` does not.
    AliasFallbackDisabled = "alias_fallback_disabled" 422,
    /// A zone would have more external ALIAS targets than are admitted.
    AliasQuotaExceeded = "alias_quota_exceeded" 422,
    /// The owner of an ALIAS may not point to this target.
    AliasTargetDenied = "alias_target_denied" 422,
    /// No enabled family of the target has an address, and the request requires one.
    AliasTargetUnresolvable = "alias_target_unresolvable" 422,
    /// An A or AAAA endpoint with a host name as its target.
    AliasFamilyUnsupported = "alias_family_unsupported" 422,
    /// An ALIAS at a name that is a name server of its zone.
    AliasNameServer = "alias_name_server" 422,
    /// The owner would be above itself.
    OwnerCycle = "owner_cycle" 422,
    /// The name is below a zone cut or a DNAME.
    Occluded = "occluded" 422,
    /// A limit of reliability.md section 4.
    LimitExceeded = "limit_exceeded" 422,
    /// The same idempotency key with another body.
    IdempotencyMismatch = "idempotency_mismatch" 422,
    /// Too many requests.
    RateLimited = "rate_limited" 429,
    /// The store cannot take writes now; DNS goes on answering.
    StorageUnavailable = "storage_unavailable" 503,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
