//! `$INCLUDE` for commands that read zone files: files below the folder of the first one, and nothing else.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::zone::file::{Include, Included};

/// Largest file that is read, in octets: what the API takes as a zone file.
pub(super) const MAX_FILE: u64 = 256 * 1024 * 1024;

/// Opens included files below a folder.
#[derive(Debug)]
pub(super) struct Below {
    /// The folder, without links.
    folder: PathBuf,
    /// Octets that may still be read.
    left: u64,
}

impl Below {
    /// Below the folder of `file`.
    pub(super) fn new(file: &Path) -> Result<Below, String> {
        let folder = match file.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            Some(_) | None => Path::new("."),
        };
        let folder = folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Below { folder, left: MAX_FILE })
    }
}

impl Include for Below {
    fn open(&mut self, path: &str, from: &str) -> Result<Included, String> {
        let beside = Path::new(from).parent().unwrap_or_else(|| Path::new(""));
        let asked = beside.join(path);
        let shown = asked.display().to_string();
        // Resolved first, so that neither `..` nor a link leads out of the folder.
        let real = asked.canonicalize().map_err(|error| format!("$INCLUDE {shown}: {error}"))?;
        if !real.starts_with(&self.folder) {
            return Err(format!(
                "$INCLUDE {shown} leads out of {}: only files below it are included",
                self.folder.display()
            ));
        }
        let text = read(&real, self.left).map_err(|error| format!("$INCLUDE {shown}: {error}"))?;
        self.left -= text.len() as u64;
        Ok(Included { file: shown, text })
    }
}

/// A file's text, of at most so many octets. Anything but a plain file is refused, since reading a pipe may never end.
pub(super) fn read(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("this is no file".to_owned());
    }
    let mut text = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(most + 1).read_to_end(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > most {
        return Err(format!("over {most} octets, the most that is read"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn included_files_are_below_the_folder_of_the_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let zones = folder.path().join("zones");
        std::fs::create_dir_all(zones.join("parts")).expect("folders");
        std::fs::write(zones.join("parts/mail.inc"), "mail A 192.0.2.1\n").expect("a file");
        std::fs::write(folder.path().join("secret"), "x").expect("a file");
        std::os::unix::fs::symlink(folder.path().join("secret"), zones.join("link")).expect("a link");
        let first = zones.join("example.com.zone");
        let from = first.display().to_string();
        let mut below = Below::new(&first).expect("a folder");
        let part = below.open("parts/mail.inc", &from).expect("it is below");
        assert_eq!(part.text, b"mail A 192.0.2.1\n");
        for outside in ["../secret", "link", "/etc/passwd", "parts/../../secret", "missing", "parts"] {
            let error = below.open(outside, &from).expect_err(outside);
            assert!(error.contains("$INCLUDE"), "{error}");
        }
    }
}
