//! Zone-file text cut into logical lines of fields (RFC 1035 section 5.1): parentheses, quotes, comments, escapes.
//!
//! Fields stay ranges of the text, escapes and quotes included, so that cutting copies nothing.

/// Most octets of a line's fields after joining (reliability.md section 4).
pub(super) const MAX_LINE: usize = 65_535;

/// Most octets from the first to the last of a line, comments and white space included, so that an open parenthesis
/// does not make every error a walk through the whole file.
const MAX_SPREAD: usize = 1024 * 1024;

/// A field of a logical line: a range of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    start: usize,
    end: usize,
}

impl Field {
    /// The field as it is written, quotes and escapes included.
    #[inline]
    pub(super) fn of(self, text: &[u8]) -> &[u8] {
        &text[self.start..self.end]
    }
}

/// Whether a line begins with white space, and so leaves its owner out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// With its first field.
    Field,
    /// With white space.
    Blank,
}

/// A logical line's place and beginning; its fields stand in the buffer given to [`Lines::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Line in the file, from 1, on which it begins.
    pub(super) number: usize,
    /// Whether its owner is left out.
    pub(super) beginning: Beginning,
}

/// What keeps a line from being cut, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Line in the file, from 1.
    pub(super) number: usize,
    /// What is wrong and what was expected.
    pub(super) text: String,
}

/// How far a text is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    at: usize,
    number: usize,
}

impl Lines {
    /// The beginning of a text; a byte order mark, which some editors write, is passed over.
    pub(super) fn of(text: &[u8]) -> Lines {
        Lines { at: if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 }, number: 1 }
    }

    /// Cuts the next logical line that has fields and puts them into `fields`; none at the end of the text.
    ///
    /// Of a faulty line the first fault is given, and reading goes on behind it. Where its end is not known (an open
    /// parenthesis, an overlong line) that is the next line which begins like a record.
    pub(super) fn next(&mut self, text: &[u8], fields: &mut Vec<Field>) -> Option<Result<Line, Fault>> {
        while self.at < text.len() {
            fields.clear();
            let beginning = if is_blank(text[self.at]) { Beginning::Blank } else { Beginning::Field };
            let line = Line { number: self.number, beginning };
            let cut = self.cut(text, fields);
            if cut.is_err() || !fields.is_empty() {
                return Some(cut.map(|()| line));
            }
        }
        None
    }

    fn cut(&mut self, text: &[u8], fields: &mut Vec<Field>) -> Result<(), Fault> {
        let begin = *self;
        let mut open: Vec<usize> = Vec::new();
        let mut length = 0;
        let mut fault = None;
        while let Some(&octet) = text.get(self.at) {
            match octet {
                b'\n' => {
                    self.at += 1;
                    self.number += 1;
                    if open.is_empty() {
                        return fault.map_or(Ok(()), Err);
                    }
                }
                b' ' | b'\t' | b'\r' => self.at += 1,
                b';' => self.at = line_end(text, self.at),
                b'(' => {
                    open.push(self.number);
                    self.at += 1;
                }
                b')' => {
                    if open.pop().is_none() {
                        let text = "this closing parenthesis has no opening one; expected an opening one before it";
                        fault.get_or_insert(Fault { number: self.number, text: text.to_owned() });
                    }
                    self.at += 1;
                }
                _ => {
                    let start = self.at;
                    if let Err(text) = self.pass_field(text) {
                        fault.get_or_insert(Fault { number: self.number, text: text.to_owned() });
                    }
                    fields.push(Field { start, end: self.at });
                    length += 1 + self.at - start;
                }
            }
            let spread = if open.is_empty() { 0 } else { self.at - begin.at };
            if length > MAX_LINE + 1 || open.len() > MAX_LINE || spread > MAX_SPREAD {
                let why = match open.first() {
                    Some(number) => format!("; is the parenthesis opened in line {number} closed?"),
                    None => String::new(),
                };
                let text_of_fault = format!("a record cannot be longer than {MAX_LINE} octets{why}");
                self.resume(text, begin);
                return Err(fault.unwrap_or(Fault { number: begin.number, text: text_of_fault }));
            }
        }
        let Some(&number) = open.first() else { return fault.map_or(Ok(()), Err) };
        self.resume(text, begin);
        let text = "this opening parenthesis is not closed; expected `)` before the end of the file".to_owned();
        Err(fault.unwrap_or(Fault { number, text }))
    }

    /// Passes over one field; at an error up to the end of the line or of what is wrong.
    #[inline]
    fn pass_field(&mut self, text: &[u8]) -> Result<(), &'static str> {
        let start = self.at;
        let mut result = Ok(());
        while let Some(&octet) = text.get(self.at) {
            match octet {
                b' ' | b'\t' | b'\n' | b'\r' | b';' | b'(' | b')' => break,
                b'"' => {
                    self.pass_quoted(text)?;
                    if text[start] == b'"' {
                        break;
                    }
                }
                b'\\' => match text.get(self.at + 1) {
                    None | Some(b'\n' | b'\r') => {
                        self.at += 1;
                        return Err("a backslash stands at the end of the line; expected a character or three digits");
                    }
                    Some(_) => self.at += 2,
                },
                0..0x20 | 0x7f => {
                    result = Err("a control character stands outside quotes; expected its form \\DDD");
                    self.at += 1;
                }
                _ => self.at += 1,
            }
        }
        result
    }

    fn pass_quoted(&mut self, text: &[u8]) -> Result<(), &'static str> {
        self.at += 1;
        loop {
            match text.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') if text.get(self.at + 1).is_some_and(|next| *next != b'\n') => self.at += 2,
                None | Some(b'\n') => {
                    return Err("a quoted text is not closed; expected `\"` before the end of the line");
                }
                Some(_) => self.at += 1,
            }
        }
    }

    /// Goes to the next line behind `begin` whose first octet may begin a record.
    fn resume(&mut self, text: &[u8], begin: Lines) {
        *self = begin;
        loop {
            self.at = line_end(text, self.at);
            if self.at >= text.len() {
                return;
            }
            self.at += 1;
            self.number += 1;
            if text.get(self.at).is_none_or(|octet| !is_blank(*octet) && !matches!(octet, b')' | b'\n')) {
                return;
            }
        }
    }
}

fn is_blank(octet: u8) -> bool {
    matches!(octet, b' ' | b'\t' | b'\r')
}

fn line_end(text: &[u8], from: usize) -> usize {
    text[from..].iter().position(|octet| *octet == b'\n').map_or(text.len(), |at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Found = Result<(usize, Beginning, Vec<String>), (usize, String)>;

    fn cut(text: &str) -> Vec<Found> {
        let mut lines = Lines::of(text.as_bytes());
        let mut fields = Vec::new();
        let mut out = Vec::new();
        while let Some(line) = lines.next(text.as_bytes(), &mut fields) {
            let texts =
                fields.iter().map(|field| String::from_utf8_lossy(field.of(text.as_bytes())).into_owned()).collect();
            out.push(line.map(|line| (line.number, line.beginning, texts)).map_err(|fault| (fault.number, fault.text)));
        }
        out
    }

    #[test]
    fn parentheses_quotes_and_comments_make_one_line() {
        let text = "\u{feff}; nothing\n\n@ SOA a b ( ; open\r\n 1 \"a ;( b\" \"c\"d ; one\n) x\\;y k=\"v w\"\r\n\tA z";
        let wanted = ["@", "SOA", "a", "b", "1", "\"a ;( b\"", "\"c\"", "d", "x\\;y", "k=\"v w\""].map(str::to_owned);
        assert_eq!(
            cut(text),
            [
                Ok((3, Beginning::Field, wanted.to_vec())),
                Ok((6, Beginning::Blank, vec!["A".to_owned(), "z".to_owned()])),
            ]
        );
    }

    #[test]
    fn reading_goes_on_behind_a_faulty_line() {
        let text = "a (\n b\n c\nd \"e\n) f\ng h\\\ni \x07 j\nk l";
        let found: Vec<_> = cut(text)
            .into_iter()
            .map(|line| match line {
                Ok((number, _, texts)) => format!("{number} {}", texts.join(" ")),
                Err((number, text)) => format!("{number} {text}"),
            })
            .collect();
        let wanted = [
            "4 a quoted text is not closed; expected `\"` before the end of the line",
            "6 a backslash stands at the end of the line; expected a character or three digits",
            "7 a control character stands outside quotes; expected its form \\DDD",
            "8 k l",
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn behind_an_open_parenthesis_the_next_record_is_found() {
        let found = cut("a (\n b\n\nc d\n");
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].as_ref().map_err(|fault| fault.0), Err(1));
        assert_eq!(found[1], Ok((4, Beginning::Field, vec!["c".to_owned(), "d".to_owned()])));
    }

    #[test]
    fn a_line_is_as_long_as_its_limit_and_no_longer() {
        let fits = "a".repeat(MAX_LINE);
        assert!(cut(&fits)[0].is_ok());
        assert!(cut(&format!("{fits}a"))[0].is_err());
        assert!(cut(&"(".repeat(MAX_LINE + 1))[0].is_err());
        assert!(cut(&format!("a ({}b )", "\n".repeat(MAX_SPREAD / 2)))[0].is_ok());
        let wanted = "a record cannot be longer than 65535 octets; is the parenthesis opened in line 1 closed?";
        assert_eq!(cut(&format!("a ({}b )", "\n".repeat(MAX_SPREAD)))[0], Err((1, wanted.to_owned())));
    }
}
