//! Everyday work inside the sandbox, done by real programs: each row runs with
//! the default profile and without an approver, as root and as an ordinary user,
//! and must succeed without an approval request. What must be blocked is in
//! `attacks`, `disguises` and `files`.
//!
//! Rows that are too slow for `make test` are ignored, and run by
//! `make test-slow`.

mod attacks;
mod direct;
mod disguises;
mod files;
mod git;
mod go;
mod java;
mod node;
mod postgres;
mod python;
mod rust;
mod server;
mod user;

/// One row per account: `everyone!(row)` defines the tests `row::as_root`
/// and `row::as_ordinary_user` of `fn row(user: &TestUser)`. With `slow`, they
/// are left to `make test-slow`.
macro_rules! everyone {
    ($row:ident $(, $slow:ident)?) => {
        mod $row {
            use crate::everyday::user::{Account, TestUser};

            #[test]
            $(#[ignore = stringify!($slow)])?
            fn as_root() {
                TestUser::with(Account::Root, super::$row);
            }

            #[test]
            $(#[ignore = stringify!($slow)])?
            fn as_ordinary_user() {
                TestUser::with(Account::Ordinary, super::$row);
            }
        }
    };
}
use everyone;
