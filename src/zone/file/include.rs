//! What `$INCLUDE` names is asked of the caller, who knows where files are and which of them may be read.

/// Deepest `$INCLUDE` (reliability.md section 4).
pub const MAX_INCLUDE_DEPTH: usize = 8;
/// Most files that one reading includes, so that files which include each other come to an end.
pub const MAX_INCLUDED_FILES: usize = 1_000;

/// An included file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Included {
    /// The file as findings name it; it is also what the next [`Include::open`] gets as `from`.
    pub file: String,
    /// Its text.
    pub text: Vec<u8>,
}

/// Supplies the text of included files.
pub trait Include {
    /// Opens `path`, written in an `$INCLUDE` of the file that findings name `from`. An error is one sentence that says
    /// what is wrong and what was expected; it becomes an error of the line.
    fn open(&mut self, path: &str, from: &str) -> Result<Included, String>;
}

/// Refuses every `$INCLUDE`: for uploads, which have no folder (answers.md F4).
#[derive(Clone, Copy, Debug, Default)]
pub struct NoInclude;

impl Include for NoInclude {
    fn open(&mut self, path: &str, _from: &str) -> Result<Included, String> {
        let path: String = path.chars().take(80).flat_map(char::escape_debug).collect();
        Err(format!("$INCLUDE of `{path}` is not possible in an upload; expected all records in one text"))
    }
}
