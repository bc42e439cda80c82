//! Placeholder addresses for names. A child that looks up a name gets an
//! address from the benchmarking range, which no host uses; when it connects to
//! that address, the proxy maps it back to the name and judges that.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

/// 198.18.0.0/15, reserved for benchmarks of network devices.
const PLACEHOLDER_NETWORK: u32 = u32::from_be_bytes([198, 18, 0, 0]);
const PLACEHOLDER_HOST_BITS: u32 = 32 - 15;
/// Excludes the network and broadcast addresses.
const PLACEHOLDER_HOSTS: u32 = (1 << PLACEHOLDER_HOST_BITS) - 2;

/// Half of the range, so an address is not reused right after its name was
/// evicted.
const MAX_NAMES: usize = 65_536;

/// Whether an address is in the placeholder range.
pub(crate) fn is_placeholder(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            (u32::from(address) ^ PLACEHOLDER_NETWORK) >> PLACEHOLDER_HOST_BITS == 0
        }
        IpAddr::V6(_) => false,
    }
}

/// Maps names to placeholder addresses and back. When full, it evicts the
/// oldest name.
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
    /// Creates an empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a table for at most this many names, up to half the address
    /// range.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { capacity: capacity.clamp(1, MAX_NAMES), entries: Mutex::default() }
    }

    /// Returns the placeholder for a name, which stays the same while the name
    /// is in the table. Names are case-insensitive.
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

    /// Returns the name that an address stands for.
    pub fn name(&self, address: IpAddr) -> Option<String> {
        let IpAddr::V4(address) = address else { return None };
        self.entries().names.get(&address).map(|name| name.as_ref().to_owned())
    }

    fn entries(&self) -> MutexGuard<'_, NameEntries> {
        self.entries.lock()
    }
}

impl NameEntries {
    /// Assigns the next free address in turn. The range is larger than the
    /// table, so a free one is always near.
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
