//! SOA serials: comparison (RFC 1982), the next one, and where they stand in the RDATA.

use super::alias::Moment;

/// Whether `left` comes after `right` (RFC 1982 section 3.2). Two serials 2^31 apart have no order: then it does not.
pub fn is_newer(left: u32, right: u32) -> bool {
    left != right && left.wrapping_sub(right) < 1 << 31
}

/// The serial after `old`: the first of today (YYYYMMDD01 in UTC) if that is newer, else the next number.
pub fn next(old: u32, now: Moment) -> u32 {
    let today = first_of_day(now);
    if is_newer(today, old) { today } else { old.wrapping_add(1) }
}

/// How the serials of a zone rise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Steps {
    /// To the first of the day, or by one: [`next`].
    #[default]
    Day,
    /// By one.
    One,
    /// To the seconds since 1970, or by one.
    Epoch,
}

/// The serial after `old`, and not before `floor` if that is newer than `old`.
pub fn next_by(steps: Steps, old: u32, floor: Option<u32>, now: Moment) -> u32 {
    let plain = match steps {
        Steps::Day => next(old, now),
        Steps::One => old.wrapping_add(1),
        Steps::Epoch => {
            // Serials are numbers modulo 2^32 (RFC 1982 section 3).
            let seconds = (now.0 / 1_000) as u32;
            if is_newer(seconds, old) { seconds } else { old.wrapping_add(1) }
        }
    };
    match floor {
        Some(floor) if is_newer(floor, old) && is_newer(floor, plain) => floor,
        Some(_) | None => plain,
    }
}

/// YYYYMMDD01 of the day in UTC; from the year 4294 on, where that no longer fits into 32 bits, that of its last day.
pub fn first_of_day(now: Moment) -> u32 {
    let (year, month, day) = civil(now.0 / 86_400_000);
    u32::try_from(((year * 100 + month) * 100 + day) * 100 + 1).unwrap_or(4_294_123_101)
}

/// Year, month and day of a number of days since 1970-01-01, in the Gregorian calendar.
fn civil(days: u64) -> (u64, u64, u64) {
    // Counted from 1 March of year 0, so that a leap day ends its year; an era is 400 years of 146,097 days.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// Puts another serial into the RDATA of an SOA and gives back the one that was there; none if it is too short.
pub fn replace(soa: &mut [u8], serial: u32) -> Option<u32> {
    let at = soa.len().checked_sub(20)?;
    let place: &mut [u8; 4] = soa.get_mut(at..at + 4)?.try_into().ok()?;
    let old = u32::from_be_bytes(*place);
    *place = serial.to_be_bytes();
    Some(old)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000;

    #[test]
    fn days_are_counted_in_the_gregorian_calendar() {
        for (days, wanted) in
            [(0, 1970010101), (59, 1970030101), (11_016, 2000022901), (11_017, 2000030101), (20_787, 2026113001)]
        {
            assert_eq!(first_of_day(Moment(days * DAY + 5)), wanted);
        }
        assert_eq!(first_of_day(Moment(u64::MAX)), 4_294_123_101);
    }

    #[test]
    fn a_serial_rises_by_the_day_or_by_one_and_never_falls() {
        let today = Moment(20_787 * DAY);
        assert_eq!(next(0, today), 2026113001);
        assert_eq!(next(2026112907, today), 2026113001);
        assert_eq!(next(2026113001, today), 2026113002);
        assert_eq!(next(2026123101, today), 2026123102);
        assert_eq!(next(3_000_000_000, today), 3_000_000_001);
        for old in [0, 1, 1 << 31, (1 << 31) - 1, (1 << 31) + 1, u32::MAX - 1, u32::MAX] {
            assert!(is_newer(next(old, today), old), "{old}");
        }
        assert!(is_newer(0, u32::MAX));
    }

    #[test]
    fn a_floor_lifts_the_next_serial_and_never_lowers_it() {
        let today = Moment(20_787 * DAY);
        for (steps, old, floor, wanted) in [
            (Steps::Day, 2026113001, None, 2026113002),
            (Steps::Day, 2026113001, Some(2026120101), 2026120101),
            (Steps::Day, 2026113005, Some(2026113001), 2026113006),
            (Steps::Day, 7, Some(9), 2026113001),
            (Steps::One, 7, None, 8),
            (Steps::One, 7, Some(9), 9),
            (Steps::One, u32::MAX, Some(5), 5),
            (Steps::Epoch, 7, None, 1_795_996_800),
            (Steps::Epoch, 2_000_000_000, None, 2_000_000_001),
            // Without an order between them, there is no floor.
            (Steps::One, 0, Some(1 << 31), 1),
        ] {
            let given = next_by(steps, old, floor, today);
            assert_eq!(given, wanted, "{steps:?} {old} {floor:?}");
            assert!(is_newer(given, old));
        }
    }

    #[test]
    fn the_serial_is_found_behind_two_names() {
        let mut soa = b"\x02ns\0\x04host\0\0\0\0\x07\0\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\0\x05".to_vec();
        assert_eq!(replace(&mut soa, 9), Some(7));
        assert_eq!(replace(&mut soa, 0), Some(9));
        assert_eq!(replace(&mut [0; 3], 1), None);
    }
}
