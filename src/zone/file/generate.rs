//! `$GENERATE`: one line that stands for a row of records (answers.md F4), with the syntax that BIND introduced.

use super::fields::shown;

/// Most records of one `$GENERATE` (answers.md F4).
pub(super) const MAX_GENERATED: u64 = 65_536;
/// Most records of all `$GENERATE` lines of a reading, so that a short text cannot fill the memory.
pub(super) const MAX_GENERATED_IN_ALL: u64 = 1_048_576;
/// Most octets of text that all `$GENERATE` lines of a reading make: as many as an uploaded file may have.
pub(super) const MAX_GENERATED_OCTETS: u64 = 256 * 1024 * 1024;
/// Most characters to which a number is filled up.
const MAX_WIDTH: usize = 255;

/// The numbers of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    first: u32,
    step: u32,
    /// How many numbers.
    pub(super) count: u64,
}

impl Range {
    /// Reads `first-last` or `first-last/step`.
    pub(super) fn parse(field: &[u8]) -> Result<Range, String> {
        let wrong =
            || format!("`{}` is not a range of $GENERATE; expected `first-last` or `first-last/step`", shown(field));
        let text = std::str::from_utf8(field).map_err(|_| wrong())?;
        let (ends, step) = text.split_once('/').unwrap_or((text, "1"));
        let (first, last) = ends.split_once('-').ok_or_else(wrong)?;
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
            text.parse::<u32>().ok().filter(|value| digits && i32::try_from(*value).is_ok()).ok_or_else(wrong)
        };
        let (first, last, step) = (number(first)?, number(last)?, number(step)?);
        if last < first || step == 0 {
            return Err(wrong());
        }
        let count = u64::from((last - first) / step) + 1;
        if count > MAX_GENERATED {
            return Err(format!("$GENERATE makes {count} records here; expected at most {MAX_GENERATED} for one line"));
        }
        Ok(Range { first, step, count })
    }

    /// The last number.
    pub(super) fn last(self) -> u32 {
        self.first + (self.count as u32 - 1) * self.step
    }

    /// The numbers from first to last.
    pub(super) fn numbers(self) -> impl Iterator<Item = u32> {
        (0..self.count as u32).map(move |at| self.first + at * self.step)
    }
}

/// Appends `template` with each `$` and `${offset,width,base}` replaced by `number`; `$$` and `\$` stand for `$`.
pub(super) fn substitute(template: &[u8], number: u32, out: &mut Vec<u8>) -> Result<(), String> {
    let mut at = 0;
    while let Some(&octet) = template.get(at) {
        at += 1;
        match (octet, template.get(at)) {
            (b'\\', Some(next)) => {
                out.extend_from_slice(&[b'\\', *next]);
                at += 1;
            }
            (b'$', Some(b'$')) => {
                out.extend_from_slice(b"\\$");
                at += 1;
            }
            (b'$', Some(b'{')) => {
                let close = template[at..].iter().position(|octet| *octet == b'}');
                let Some(close) = close else {
                    return Err(format!("`{}` has `${{` without `}}`", shown(template)));
                };
                push_number(&template[at + 1..at + close], number, out)?;
                at += close + 1;
            }
            (b'$', _) => out.extend_from_slice(number.to_string().as_bytes()),
            (other, _) => out.push(other),
        }
    }
    Ok(())
}

fn push_number(modifier: &[u8], number: u32, out: &mut Vec<u8>) -> Result<(), String> {
    let wrong = || {
        let wanted = "expected ${offset}, ${offset,width} or ${offset,width,base} with base d, o, x, X, n or N";
        format!("`${{{}}}` is wrong; {wanted}", shown(modifier))
    };
    let text = std::str::from_utf8(modifier).map_err(|_| wrong())?;
    let mut parts = text.split(',');
    let offset: i64 = parts.next().and_then(|part| part.parse::<i32>().ok()).ok_or_else(wrong)?.into();
    let width = parts.next().map_or(Ok(0), |part| part.parse::<usize>().map_err(|_| wrong()))?;
    let base = parts.next().unwrap_or("d");
    if parts.next().is_some() || width > MAX_WIDTH {
        return Err(wrong());
    }
    let value = i64::from(number) + offset;
    if value < 0 {
        return Err(format!("`${{{}}}` gives a number below 0 for {number}", shown(modifier)));
    }
    let digits = match base {
        "d" => format!("{value:0width$}"),
        "o" => format!("{value:0width$o}"),
        "x" => format!("{value:0width$x}"),
        "X" => format!("{value:0width$X}"),
        "n" => nibbles(&format!("{value:x}"), width),
        "N" => nibbles(&format!("{value:X}"), width),
        _ => return Err(wrong()),
    };
    out.extend_from_slice(digits.as_bytes());
    Ok(())
}

/// Hexadecimal digits as labels from the last to the first, as ip6.arpa wants them; `width` counts digits and dots.
fn nibbles(digits: &str, width: usize) -> String {
    let count = digits.len().max(width.div_ceil(2));
    let filled = format!("{digits:0>count$}");
    let labels: Vec<String> = filled.chars().rev().map(String::from).collect();
    labels.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_count_their_numbers() {
        let numbers = |text: &str| Range::parse(text.as_bytes()).map(|range| range.numbers().collect::<Vec<_>>());
        assert_eq!(numbers("1-3"), Ok(vec![1, 2, 3]));
        assert_eq!(numbers("0-10/5"), Ok(vec![0, 5, 10]));
        assert_eq!(numbers("7-7"), Ok(vec![7]));
        assert_eq!(numbers("0-65535").map(|all| all.len()), Ok(65_536));
        for wrong in ["0-65536", "3-1", "1-2/0", "1", "-1-2", "1-2-3", "1-+2", "a-b", "1-4294967295"] {
            assert!(numbers(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_put_in_with_offset_width_and_base() {
        let put = |template: &str, number| {
            let mut out = Vec::new();
            substitute(template.as_bytes(), number, &mut out).map(|()| String::from_utf8(out).expect("text"))
        };
        for (template, wanted) in [
            ("host-$", "host-26"),
            ("$.a.$", "26.a.26"),
            ("a\\$b$$", "a\\$b\\$"),
            ("${4}", "30"),
            ("${-6,4}", "0020"),
            ("${0,4,x}", "001a"),
            ("${0,2,X}", "1A"),
            ("${0,0,o}", "32"),
            ("${0,7,n}", "a.1.0.0"),
            ("${0,3,N}", "A.1"),
        ] {
            assert_eq!(put(template, 26).as_deref(), Ok(wanted), "{template}");
        }
        for wrong in ["${", "${x}", "${0,x}", "${0,1,q}", "${0,1,d,e}", "${0,999}", "${-27}"] {
            assert!(put(wrong, 26).is_err(), "{wrong}");
        }
    }
}
