use std::collections::HashSet;
use std::net::IpAddr;

use proptest::prelude::*;

use super::{NameTable, is_placeholder};

#[test]
fn a_name_keeps_its_address() {
    let names = NameTable::new();
    let first = names.address("example.com");
    assert_ne!(names.address("example.org"), first);
    assert_eq!(names.address("EXAMPLE.com"), first);
    assert_eq!(names.name(first.into()).as_deref(), Some("example.com"));
}

#[test]
fn the_oldest_name_is_dropped() {
    let names = NameTable::with_capacity(2);
    let [a, b, c] = ["a", "b", "c"].map(|name| IpAddr::from(names.address(name)));
    assert_eq!(names.name(a), None);
    assert_eq!(names.name(b).as_deref(), Some("b"));
    assert_eq!(names.name(c).as_deref(), Some("c"));
    // Its address is not given to the next name.
    assert_ne!(IpAddr::from(names.address("d")), a);
}

#[test]
fn a_full_table_gives_out_the_whole_range_and_begins_again() {
    let names = NameTable::new();
    let mut seen = HashSet::new();
    for index in 0..200_000_u32 {
        let address = names.address(&index.to_string());
        assert!(is_placeholder(address.into()), "{address}");
        seen.insert(address);
    }
    assert_eq!(seen.len(), (1 << 17) - 2);
    let last = names.address("199999");
    assert_eq!(names.name(last.into()).as_deref(), Some("199999"));
    assert_eq!(names.entries().oldest_first.len(), 65_536);
    assert_eq!(names.entries().names.len(), 65_536);
}

#[test]
fn only_the_range_is_a_placeholder() {
    for (address, is_in) in [
        ("198.17.255.255", false),
        ("198.18.0.0", true),
        ("198.19.255.255", true),
        ("198.20.0.0", false),
        ("::1", false),
    ] {
        assert_eq!(is_placeholder(address.parse().unwrap()), is_in, "{address}");
    }
}

proptest! {
    #[test]
    fn every_name_in_the_table_is_found_by_its_address(
        asked in prop::collection::vec("[a-d]{1,2}", 1..60),
        capacity in 1_usize..8,
    ) {
        let names = NameTable::with_capacity(capacity);
        for name in asked {
            let address = names.address(&name);
            prop_assert_eq!(names.address(&name), address);
            prop_assert_eq!(names.name(address.into()), Some(name));
            let entries = names.entries();
            prop_assert!(entries.names.len() <= capacity);
            prop_assert_eq!(entries.names.len(), entries.addresses.len());
            prop_assert_eq!(entries.names.len(), entries.oldest_first.len());
        }
    }
}
