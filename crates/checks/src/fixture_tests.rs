//! A project that is only told of.

use std::path::Path;

use crate::survey::{ProjectDir, ProjectSurvey};

/// The same with folders in it, each with these files and their texts.
pub(crate) fn with_parts(
    mut survey: ProjectSurvey,
    parts: &[(&str, &[(&str, &str)])],
) -> ProjectSurvey {
    for (name, files) in parts {
        let path = survey.path.join(name);
        let mut dir = ProjectDir { path: path.clone(), real_path: path, ..ProjectDir::default() };
        for (name, text) in *files {
            dir.names.insert((*name).to_owned());
            dir.texts.insert((*name).to_owned(), (*text).to_owned());
        }
        survey.subdirs.push(dir);
    }
    survey
}

/// One in `/w`, with these files and their texts, with others below it, and
/// with programs that are installed.
pub(crate) fn project(files: &[(&str, &str)], below: &[&str], programs: &[&str]) -> ProjectSurvey {
    let mut dir = ProjectDir { path: "/w".into(), ..ProjectDir::default() };
    for (name, text) in files {
        dir.names.insert((*name).to_owned());
        dir.texts.insert((*name).to_owned(), (*text).to_owned());
    }
    ProjectSurvey {
        path: "/w".into(),
        dirs: vec![dir],
        files: below.iter().map(|name| Path::new("/w").join(name)).collect(),
        programs: programs
            .iter()
            .map(|name| ((*name).to_owned(), Path::new("/bin").join(name)))
            .collect(),
        ..ProjectSurvey::default()
    }
}
