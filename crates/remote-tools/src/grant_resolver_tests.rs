use std::fs;
use std::os::unix::fs::symlink;

use super::*;

struct Rules;

impl ClosedPathQuery for Rules {
    fn query_closed(&self, _: &Scope, paths: &[PathBuf]) -> Option<Vec<bool>> {
        Some(paths.iter().map(|path| path.to_string_lossy().contains("shut")).collect())
    }
}

fn find(cwd: &Path, effects: Vec<Effect>) -> Result<Grants, ToolError> {
    let guarded = Arc::new(HostProtectedPaths::new(None, None));
    let workplace = WorkingDir::new(cwd, None);
    GrantResolver { effects, workplace, protected: guarded, query: Some(Arc::new(Rules)) }
        .resolve_grants()
}

fn real(cwd: &Path, scope: Scope, path: &Path) -> Result<PathBuf, ToolError> {
    let grants = find(cwd, vec![Effect::path(scope.clone(), path)])?;
    Ok(grants.real_path(&scope, path)?.expect("a place"))
}

#[test]
fn links_may_stay_in_the_working_folder_and_nowhere_else() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path().canonicalize().unwrap();
    let (work, out) = (world.join("work"), world.join("out"));
    for dir in [&work, &out, &work.join("shut")] {
        fs::create_dir_all(dir).unwrap();
        fs::write(dir.join("file"), "x").unwrap();
    }
    symlink("file", work.join("inside")).unwrap();
    symlink(out.join("file"), work.join("outside")).unwrap();
    symlink("shut/file", work.join("hidden")).unwrap();
    symlink(&work, world.join("other")).unwrap();

    let read = |path: &Path| real(&work, Scope::FILE_READ, path);
    assert_eq!(read(&work.join("inside")).unwrap(), work.join("file"));
    assert_eq!(read(&out.join("file")).unwrap(), out.join("file"));
    let error = read(&work.join("outside")).unwrap_err();
    assert!(error.message().contains(&*out.join("file").to_string_lossy()), "{error}");
    assert_eq!(error.details()["leads_to"], *out.join("file").to_string_lossy());
    // What the rules would not allow by its own name.
    assert!(read(&work.join("hidden")).is_err());
    // A new file, through a symlink to a directory.
    symlink(&out, work.join("folder")).unwrap();
    assert!(real(&work, Scope::FILE_WRITE, &work.join("folder/new")).is_err());
    // A working directory that is itself behind a symlink.
    let named = world.join("other");
    assert_eq!(real(&named, Scope::FILE_READ, &named.join("file")).unwrap(), work.join("file"));
    // The link itself is removed.
    let removed = real(&work, Scope::FILE_DELETE, &work.join("outside")).unwrap();
    assert_eq!(removed, work.join("outside"));
}

#[test]
fn a_link_to_what_is_protected_is_refused_even_in_the_working_folder() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path().canonicalize().unwrap();
    fs::write(world.join(".env"), "x").unwrap();
    symlink(".env", world.join("harmless")).unwrap();
    let error = real(&world, Scope::FILE_READ, &world.join("harmless")).unwrap_err();
    assert!(error.message().contains("protected"), "{error}");
}

#[test]
fn what_is_no_path_passes() {
    let effects = vec![Effect::any(Scope::FILE_READ), Effect::name(Scope::SECRET_USE, "KEY")];
    let grants = find(Path::new("/"), effects.clone()).unwrap();
    let found: Vec<Effect> = grants.list().unwrap().iter().map(|g| g.effect.clone()).collect();
    assert_eq!(found, effects);
}

#[test]
fn what_the_host_protects_is_closed_even_if_the_rules_close_nothing() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    fs::write(home.join(".netrc"), "x").unwrap();
    fs::write(home.join("notes"), "x").unwrap();
    let grants = GrantResolver {
        effects: vec![Effect::path(Scope::FILE_READ, &home)],
        workplace: WorkingDir::new(&home, None),
        protected: Arc::new(HostProtectedPaths::new(Some(home.clone()), None)),
        query: None,
    };
    let grants = grants.resolve_grants().unwrap();
    assert!(grants.denies(&Scope::FILE_READ, &home.join(".netrc")));
    assert!(!grants.denies(&Scope::FILE_READ, &home.join("notes")));
}
