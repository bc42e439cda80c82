//! A project that is only told of.

use std::path::Path;

use crate::survey::{Folder, Survey};

/// The same with folders in it, each with these files and their texts.
pub(crate) fn with_parts(mut survey: Survey, parts: &[(&str, &[(&str, &str)])]) -> Survey {
    for (name, files) in parts {
        let path = survey.path.join(name);
        let mut folder = Folder { path: path.clone(), real: path, ..Folder::default() };
        for (name, text) in *files {
            folder.names.insert((*name).to_owned());
            folder.texts.insert((*name).to_owned(), (*text).to_owned());
        }
        survey.inner.push(folder);
    }
    survey
}

/// One in `/w`, with these files and their texts, with others below it, and
/// with programs that are installed.
pub(crate) fn project(files: &[(&str, &str)], below: &[&str], programs: &[&str]) -> Survey {
    let mut folder = Folder { path: "/w".into(), ..Folder::default() };
    for (name, text) in files {
        folder.names.insert((*name).to_owned());
        folder.texts.insert((*name).to_owned(), (*text).to_owned());
    }
    Survey {
        path: "/w".into(),
        folders: vec![folder],
        files: below.iter().map(|name| Path::new("/w").join(name)).collect(),
        programs: programs
            .iter()
            .map(|name| ((*name).to_owned(), Path::new("/bin").join(name)))
            .collect(),
        ..Survey::default()
    }
}
