//! Options of an ALIAS record that decide how it is served (alias.md section 1), and the octets in which a published
//! record carries them. Pure data.

/// Octets of a packed policy.
pub const PACKED: usize = 13;

/// How the TTL served follows from that of the ALIAS and of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TtlMode {
    /// Counts down, but not below a quarter of the target's TTL or 60 s, so that caches never all come back at once.
    #[default]
    Smooth,
    /// Counts down to 1.
    Strict,
    /// The target's highest TTL of late.
    Fixed,
    /// The ALIAS's own.
    Override,
}

impl TtlMode {
    /// All modes.
    pub const ALL: [TtlMode; 4] = [TtlMode::Smooth, TtlMode::Strict, TtlMode::Fixed, TtlMode::Override];

    /// The word in JSON.
    pub fn text(self) -> &'static str {
        match self {
            TtlMode::Smooth => "smooth",
            TtlMode::Strict => "strict",
            TtlMode::Fixed => "fixed",
            TtlMode::Override => "override",
        }
    }
}

/// What a target that does not exist is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnNxdomain {
    /// The name exists without addresses.
    #[default]
    NoData,
    /// SERVFAIL.
    ServFail,
    /// The last addresses to their bound, then NODATA.
    Stale,
    /// The static RRset beside the ALIAS, else NODATA.
    Fallback,
    /// NODATA, and after a time the claim is put into quarantine.
    Quarantine,
}

impl OnNxdomain {
    /// All policies.
    pub const ALL: [OnNxdomain; 5] =
        [OnNxdomain::NoData, OnNxdomain::ServFail, OnNxdomain::Stale, OnNxdomain::Fallback, OnNxdomain::Quarantine];

    /// The word in JSON.
    pub fn text(self) -> &'static str {
        match self {
            OnNxdomain::NoData => "nodata",
            OnNxdomain::ServFail => "servfail",
            OnNxdomain::Stale => "stale",
            OnNxdomain::Fallback => "fallback",
            OnNxdomain::Quarantine => "quarantine",
        }
    }
}

/// What a target that nothing is known of, because upstreams fail, is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// SERVFAIL.
    #[default]
    ServFail,
    /// The name exists without addresses.
    NoData,
    /// The static RRset beside the ALIAS, else NODATA.
    Fallback,
}

impl OnFailure {
    /// All policies.
    pub const ALL: [OnFailure; 3] = [OnFailure::ServFail, OnFailure::NoData, OnFailure::Fallback];

    /// The word in JSON.
    pub fn text(self) -> &'static str {
        match self {
            OnFailure::ServFail => "servfail",
            OnFailure::NoData => "nodata",
            OnFailure::Fallback => "fallback",
        }
    }
}

/// Whether internal addresses of targets are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Internal {
    /// They are removed.
    #[default]
    Removed,
    /// They are kept.
    Kept,
}

/// Bounds of the time for which addresses of a target are held, in seconds (`ttlPolicy.minSeconds`, `maxSeconds`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hold {
    /// Shortest, 2 to 3,600.
    pub min: u16,
    /// Longest, `min` to 86,400.
    pub max: u32,
}

impl Default for Hold {
    fn default() -> Hold {
        Hold { min: 5, max: 3_600 }
    }
}

impl Hold {
    /// A TTL of an upstream, in seconds, within the bounds.
    #[inline]
    pub fn clamp(self, ttl: u32) -> u32 {
        ttl.max(u32::from(self.min)).min(self.max.max(u32::from(self.min)))
    }
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// `ttlPolicy.mode`.
    pub ttl: TtlMode,
    /// `ttlPolicy.minSeconds` and `maxSeconds`.
    pub hold: Hold,
    /// `onNxdomain`.
    pub on_nxdomain: OnNxdomain,
    /// `onFailure`.
    pub on_failure: OnFailure,
    /// `maxStaleSeconds`: how long after its expiry the last good answer may be served.
    pub max_stale_seconds: u32,
    /// `maxAddresses`, 1 to 64, of a family.
    pub max_addresses: u8,
    /// `allowPrivate`.
    pub internal: Internal,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            ttl: TtlMode::default(),
            hold: Hold::default(),
            on_nxdomain: OnNxdomain::default(),
            on_failure: OnFailure::default(),
            max_stale_seconds: 86_400,
            max_addresses: 16,
            internal: Internal::default(),
        }
    }
}

impl Policy {
    /// Packs it.
    pub fn pack(&self) -> [u8; PACKED] {
        let internal = match self.internal {
            Internal::Removed => 0,
            Internal::Kept => 0x80,
        };
        let mut out = [0; PACKED];
        out[0] = self.ttl as u8 | (self.on_failure as u8) << 3 | internal;
        out[1] = self.on_nxdomain as u8;
        out[2] = self.max_addresses;
        out[3..5].copy_from_slice(&self.hold.min.to_le_bytes());
        out[5..9].copy_from_slice(&self.hold.max.to_le_bytes());
        out[9..13].copy_from_slice(&self.max_stale_seconds.to_le_bytes());
        out
    }

    /// Reads what [`Policy::pack`] wrote.
    #[inline]
    pub fn unpack(octets: &[u8; PACKED]) -> Policy {
        let [modes, on_nxdomain, most, min0, min1, max0, max1, max2, max3, stale0, stale1, stale2, stale3] = *octets;
        Policy {
            ttl: match modes & 7 {
                1 => TtlMode::Strict,
                2 => TtlMode::Fixed,
                3 => TtlMode::Override,
                _ => TtlMode::Smooth,
            },
            on_failure: match modes >> 3 & 3 {
                1 => OnFailure::NoData,
                2 => OnFailure::Fallback,
                _ => OnFailure::ServFail,
            },
            internal: if modes & 0x80 == 0 { Internal::Removed } else { Internal::Kept },
            on_nxdomain: match on_nxdomain {
                1 => OnNxdomain::ServFail,
                2 => OnNxdomain::Stale,
                3 => OnNxdomain::Fallback,
                4 => OnNxdomain::Quarantine,
                _ => OnNxdomain::NoData,
            },
            max_addresses: most,
            hold: Hold { min: u16::from_le_bytes([min0, min1]), max: u32::from_le_bytes([max0, max1, max2, max3]) },
            max_stale_seconds: u32::from_le_bytes([stale0, stale1, stale2, stale3]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_policy_is_read_as_it_was() {
        for ttl in TtlMode::ALL {
            for on_nxdomain in OnNxdomain::ALL {
                for on_failure in OnFailure::ALL {
                    for internal in [Internal::Removed, Internal::Kept] {
                        let hold = Hold { min: 3_600, max: 86_400 };
                        let (max_stale_seconds, max_addresses) = (604_800, 64);
                        let policy =
                            Policy { ttl, hold, on_nxdomain, on_failure, max_stale_seconds, max_addresses, internal };
                        assert_eq!(Policy::unpack(&policy.pack()), policy);
                    }
                }
            }
        }
        assert_eq!(Policy::unpack(&Policy::default().pack()), Policy::default());
    }
}
