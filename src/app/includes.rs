//! `$INCLUDE` from disk: only files below the folder of the first file, and no way out by a symbolic link (answers.md F4).

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::zone::file::{Include, Included};

/// Largest zone file that is read, with all it includes, in octets (reliability.md section 4).
pub const MAX_FILE: u64 = 256 * 1024 * 1024;

/// A file's octets, at most so many. Anything but a plain file is refused, since reading a pipe may never end.
pub fn read_file(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("this is no file".to_owned());
    }
    let mut octets = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(most + 1).read_to_end(&mut octets).map_err(|error| error.to_string())?;
    if octets.len() as u64 > most {
        return Err(format!("over {most} octets, the most that is read"));
    }
    Ok(octets)
}

/// Opens what a zone file includes.
#[derive(Clone, Debug)]
pub struct Includes {
    /// Octets that may still be read.
    left: u64,
    /// The folder as the first file was named, to show paths below it.
    folder: PathBuf,
}

impl Includes {
    /// For the includes of one file, named on the command line or found by `serve --zones`.
    pub fn below(file: &Path) -> Includes {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        Includes { left: MAX_FILE, folder: folder.unwrap_or(Path::new(".")).to_owned() }
    }
}

impl Include for Includes {
    /// Paths are relative to the file that includes them, as in the first file's folder they stand.
    fn open(&mut self, path: &str, from: &str) -> Result<Included, String> {
        let beside = Path::new(from).parent().unwrap_or(Path::new(""));
        let wanted = beside.join(path);
        let wrong = |error: std::io::Error| format!("{path} cannot be included: {error}");
        let refused = |what: String| format!("{path} cannot be included: {what}");
        let folder = self.folder.canonicalize().map_err(wrong)?;
        let real = wanted.canonicalize().map_err(wrong)?;
        if !real.starts_with(&folder) {
            return Err(format!("{path} is outside {}: only files below it can be included", self.folder.display()));
        }
        let text = read_file(&real, self.left).map_err(refused)?;
        self.left -= text.len() as u64;
        Ok(Included { file: wanted.display().to_string(), text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_below_the_folder_are_opened() {
        let outer = tempfile::tempdir().expect("a folder");
        let folder = outer.path().join("zones");
        std::fs::create_dir_all(folder.join("parts")).expect("a folder");
        std::fs::write(outer.path().join("secret"), "x").expect("a file");
        std::fs::write(folder.join("parts/hosts"), "y").expect("a file");
        std::os::unix::fs::symlink(outer.path().join("secret"), folder.join("parts/link")).expect("a link");
        let first = folder.join("example.com.zone");
        let mut includes = Includes::below(&first);
        let from = first.display().to_string();
        let hosts = includes.open("parts/hosts", &from).expect("a file below");
        assert_eq!(hosts.text, b"y");
        let secret = outer.path().join("secret").display().to_string();
        for path in ["../secret", "parts/link", "/etc/passwd", &secret, "parts/../../secret", "missing", "parts"] {
            assert!(includes.open(path, &from).is_err(), "{path}");
        }
        assert!(includes.open("../parts/hosts", &hosts.file).is_ok(), "beside the file that includes");
    }
}
