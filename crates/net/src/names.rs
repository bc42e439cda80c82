//! Placeholder addresses for names. A child that looks up a name gets an
//! address of the benchmarking range, which no host has; when it connects to
//! that address, the name is found again and judged.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

/// 198.18.0.0/15, reserved for benchmarks of network devices.
const PLACEHOLDER_NETWORK: u32 = u32::from_be_bytes([198, 18, 0, 0]);
const PLACEHOLDER_HOST_BITS: u32 = 32 - 15;
/// The network and broadcast addresses are left out.
const PLACEHOLDER_HOSTS: u32 = (1 << PLACEHOLDER_HOST_BITS) - 2;

/// Half of the range, so that an address is not given to another name right
/// after its own was dropped.
const MAX_NAMES: usize = 65_536;

/// Whether this is an address that stands for a name.
pub(crate) fn is_placeholder(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            (u32::from(address) ^ PLACEHOLDER_NETWORK) >> PLACEHOLDER_HOST_BITS == 0
        }
        IpAddr::V6(_) => false,
    }
}

/// Names and the placeholder addresses that stand for them. When it is full,
/// the oldest name is dropped.
#[derive(Debug)]
pub struct NameTable {
    capacity: usize,
    entries: Mutex<NameEntries>,
}

#[derive(Debug, Default)]
struct NameEntries {
    addresses: HashMap<Arc<str>, Ipv4Addr>,
    names: HashMap<Ipv4Addr, Arc<str>>,
    oldest_first: VecDeque<Arc<str>>,
    next_host: u32,
}

impl Default for NameTable {
    fn default() -> Self {
        Self::with_capacity(MAX_NAMES)
    }
}

impl NameTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// A table that holds at most this many names; more than half the address
    /// range is not possible.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { capacity: capacity.clamp(1, MAX_NAMES), entries: Mutex::default() }
    }

    /// The address that stands for a name; the same as long as the table holds
    /// the name. Names are compared in lower case.
    pub fn address(&self, name: &str) -> Ipv4Addr {
        let name: Arc<str> = name.to_ascii_lowercase().into();
        let mut entries = self.entries();
        if let Some(address) = entries.addresses.get(&name) {
            return *address;
        }
        while entries.oldest_first.len() >= self.capacity {
            entries.drop_oldest();
        }
        entries.add(name)
    }

    /// The name that an address stands for.
    pub fn name(&self, address: IpAddr) -> Option<String> {
        let IpAddr::V4(address) = address else { return None };
        self.entries().names.get(&address).map(|name| name.as_ref().to_owned())
    }

    fn entries(&self) -> MutexGuard<'_, NameEntries> {
        self.entries.lock()
    }
}

impl NameEntries {
    /// Addresses are given out in turn. The range has more of them than the
    /// table has names, so the next one that is free is never far.
    fn add(&mut self, name: Arc<str>) -> Ipv4Addr {
        let address = loop {
            let address = Ipv4Addr::from(PLACEHOLDER_NETWORK + 1 + self.next_host);
            self.next_host = (self.next_host + 1) % PLACEHOLDER_HOSTS;
            if !self.names.contains_key(&address) {
                break address;
            }
        };
        self.addresses.insert(Arc::clone(&name), address);
        self.names.insert(address, Arc::clone(&name));
        self.oldest_first.push_back(name);
        address
    }

    fn drop_oldest(&mut self) {
        let Some(name) = self.oldest_first.pop_front() else { return };
        if let Some(address) = self.addresses.remove(&name) {
            self.names.remove(&address);
        }
    }
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
