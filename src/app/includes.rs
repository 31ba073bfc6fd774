//! `$INCLUDE` from disk: only files below the folder of the first file, and no way out by a symbolic link (answers.md F4).

use std::path::{Path, PathBuf};

use crate::zone::file::{Include, Included};

/// Opens what a zone file includes.
#[derive(Clone, Debug)]
pub struct Includes {
    /// The folder as the first file was named, to show paths below it.
    folder: PathBuf,
}

impl Includes {
    /// For the includes of one file, named on the command line or found by `serve --zones`.
    pub fn below(file: &Path) -> Includes {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        Includes { folder: folder.unwrap_or(Path::new(".")).to_owned() }
    }
}

impl Include for Includes {
    /// Paths are relative to the file that includes them, as in the first file's folder they stand.
    fn open(&mut self, path: &str, from: &str) -> Result<Included, String> {
        let beside = Path::new(from).parent().unwrap_or(Path::new(""));
        let wanted = beside.join(path);
        let wrong = |error: std::io::Error| format!("{path} cannot be included: {error}");
        let folder = self.folder.canonicalize().map_err(wrong)?;
        let real = wanted.canonicalize().map_err(wrong)?;
        if !real.starts_with(&folder) {
            return Err(format!("{path} is outside {}: only files below it can be included", self.folder.display()));
        }
        let text = std::fs::read(&real).map_err(wrong)?;
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
        for path in ["../secret", "parts/link", "/etc/passwd", &secret, "parts/../../secret", "missing"] {
            assert!(includes.open(path, &from).is_err(), "{path}");
        }
        assert!(includes.open("../parts/hosts", &hosts.file).is_ok(), "beside the file that includes");
    }
}
