use std::path::{Path, PathBuf};

use crate::{Effect, Grant, Grants, Resource, Scope};

fn path(path: &str) -> Resource {
    Resource::Path(path.into())
}

#[test]
fn only_what_was_declared_is_covered() {
    let grants = Grants::from_effects(&[
        Effect::path(Scope::FILE_READ, "/w/src"),
        Effect::name(Scope::PLAN_WRITE, "list"),
        Effect::any(Scope::SYSTEM_READ),
    ]);
    assert!(grants.check(&Scope::FILE_READ, &path("/w/src")).is_ok());
    assert!(grants.check(&Scope::FILE_READ, &path("/w/src/deep/x")).is_ok());
    assert!(grants.check(&Scope::SYSTEM_READ, &Resource::Name("cpu".into())).is_ok());
    for (scope, resource) in [
        (Scope::FILE_READ, path("/w")),
        (Scope::FILE_READ, path("/w/srcs")),
        (Scope::FILE_READ, path("/w/src/../../etc/passwd")),
        (Scope::FILE_READ, Resource::Any),
        (Scope::FILE_WRITE, path("/w/src/x")),
        (Scope::PLAN_WRITE, Resource::Name("other".into())),
        (Scope::PLAN_WRITE, Resource::Any),
    ] {
        let error = grants.check(&scope, &resource).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Denied, "{scope} {resource}");
    }
}

#[test]
fn a_path_is_looked_for_where_its_grant_really_is() {
    let effect = Effect::path(Scope::FILE_WRITE, "/w/link");
    let grants = Grants::new(vec![Grant { effect, real_path: Some("/real/place".into()) }]);
    let real = |p: &str| grants.real_path(&Scope::FILE_WRITE, Path::new(p));
    assert_eq!(real("/w/link").unwrap(), Some(PathBuf::from("/real/place")));
    assert_eq!(real("/w/link/a/b").unwrap(), Some(PathBuf::from("/real/place/a/b")));
    assert!(real("/w/other").is_err());
    assert!(grants.real_path(&Scope::FILE_READ, Path::new("/w/link")).is_err());
}

#[test]
fn without_bounds_everything_goes() {
    let grants = Grants::allow_all();
    assert!(grants.check(&Scope::FILE_DELETE, &Resource::Any).is_ok());
    assert_eq!(grants.real_path(&Scope::FILE_READ, Path::new("/x")).unwrap(), None);
}
