//! Sections of a report, each read independently.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

use hermes_exec::DiskSpace;
use serde::Serialize;
use sysinfo::{
    CpuRefreshKind, DiskRefreshKind, Disks, Networks, Process, ProcessRefreshKind,
    ProcessesToUpdate, System, UpdateKind,
};

use super::ProcessSort;
use super::command;
use super::limits::CgroupLimits;
use super::machine::Virtualization;

/// Maximum number of disks or interfaces in a report.
const MAX_ROWS: usize = 32;

#[derive(Debug, Serialize)]
pub(super) struct OsReport {
    name: Option<String>,
    version: Option<String>,
    kernel: Option<String>,
    arch: String,
    hostname: Option<String>,
    uptime_seconds: Option<u64>,
    /// None on bare metal.
    #[serde(skip_serializing_if = "Option::is_none")]
    virtualization: Option<Virtualization>,
}

impl OsReport {
    pub(super) fn read(root: &Path) -> Self {
        Self {
            name: System::name().ok(),
            version: System::os_version().ok(),
            kernel: System::kernel_version().ok(),
            arch: System::cpu_arch(),
            hostname: System::host_name().ok(),
            uptime_seconds: System::uptime().ok(),
            virtualization: Virtualization::read(root),
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct CpuReport {
    model: Option<String>,
    logical_cores: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    physical_cores: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_mhz: Option<u64>,
    /// CPU quota of the container in processors, if it is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<f64>,
    usage_percent: f64,
    /// Over one, five and fifteen minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    load_average: Option<[f64; 3]>,
}

pub(super) fn sample_cpu(system: &mut System) {
    system.refresh_cpu_specifics(CpuRefreshKind::everything());
}

impl CpuReport {
    pub(super) fn read(system: &System, limits: &CgroupLimits) -> Self {
        let first = system.cpus().first();
        Self {
            model: first.map(|cpu| cpu.brand().trim().to_owned()).filter(|brand| !brand.is_empty()),
            logical_cores: system.cpus().len(),
            physical_cores: System::physical_core_count().ok(),
            frequency_mhz: first.map(sysinfo::Cpu::frequency).filter(|&mhz| mhz > 0),
            limit: limits.cpus,
            usage_percent: round_to_tenth(f64::from(system.global_cpu_usage())),
            load_average: System::load_average()
                .ok()
                .map(|load| [load.one, load.five, load.fifteen]),
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct MemoryReport {
    total: u64,
    used: u64,
    available: u64,
    used_percent: f64,
    swap_total: u64,
    swap_used: u64,
    /// Memory limit of the container, if it is below the machine's memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    cgroup: Option<CgroupMemory>,
}

#[derive(Debug, Serialize)]
struct CgroupMemory {
    limit: u64,
    used: u64,
    used_percent: f64,
}

impl MemoryReport {
    pub(super) fn read(system: &System, limits: &CgroupLimits) -> Self {
        let (total, used) = (system.total_memory(), system.used_memory());
        let limited = limits.memory.filter(|bound| (1..total).contains(&bound.limit));
        let cgroup = limited.map(|bound| CgroupMemory {
            limit: bound.limit,
            used: bound.used,
            used_percent: percent(bound.used, bound.limit),
        });
        Self {
            total,
            used,
            available: system.available_memory(),
            used_percent: percent(used, total),
            swap_total: system.total_swap(),
            swap_used: system.used_swap(),
            cgroup,
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct DiskReport {
    mount: String,
    file_system: String,
    total: u64,
    available: u64,
    used_percent: f64,
}

/// Returns the disks by mount point. A disk with several mounts, as in a
/// container, is listed at the shortest one.
pub(super) fn disks() -> Result<Vec<DiskReport>, sysinfo::Error> {
    let kind = DiskRefreshKind::nothing().with_storage();
    let mounted = Disks::new_with_refreshed_list_specifics(kind)?;
    let mut by_device: HashMap<(OsString, u64), DiskReport> = HashMap::new();
    for disk in mounted.iter().filter(|disk| disk.total_space() > 0) {
        let (total, available) = (disk.total_space(), disk.available_space());
        let mount = disk.mount_point().to_string_lossy().into_owned();
        // The root of a container on this machine is not a separate disk.
        if disk.file_system() == "overlay" && mount != "/" {
            continue;
        }
        let place = (disk.name().to_owned(), total);
        if by_device.get(&place).is_some_and(|known| known.mount.len() <= mount.len()) {
            continue;
        }
        let file_system = disk.file_system().to_string_lossy().into_owned();
        // As in `df`, blocks reserved for root do not count as used.
        let used_percent = match DiskSpace::for_path(disk.mount_point()) {
            Ok(room) => percent(room.total.saturating_sub(room.free), room.total),
            Err(_) => percent(total.saturating_sub(available), total),
        };
        by_device.insert(place, DiskReport { mount, file_system, total, available, used_percent });
    }
    let mut disks: Vec<DiskReport> = by_device.into_values().collect();
    disks.sort_by(|a, b| a.mount.cmp(&b.mount));
    disks.truncate(MAX_ROWS);
    Ok(disks)
}

#[derive(Debug, Serialize)]
pub(super) struct InterfaceReport {
    name: String,
    addresses: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mac: Option<String>,
    /// Bytes since the interface came up.
    received: u64,
    transmitted: u64,
}

pub(super) fn interfaces() -> Result<Vec<InterfaceReport>, sysinfo::Error> {
    let networks = Networks::new_with_refreshed_list()?;
    let mut interfaces: Vec<InterfaceReport> = networks
        .iter()
        .map(|(name, data)| {
            let mac = data.mac_address();
            let mut addresses: Vec<String> =
                data.ip_networks().iter().map(ToString::to_string).collect();
            addresses.sort();
            InterfaceReport {
                name: name.to_string_lossy().into_owned(),
                addresses,
                mac: (!mac.is_unspecified()).then(|| mac.to_string()),
                received: data.total_received(),
                transmitted: data.total_transmitted(),
            }
        })
        .collect();
    interfaces.sort_by(|a, b| a.name.cmp(&b.name));
    interfaces.truncate(MAX_ROWS);
    Ok(interfaces)
}

#[derive(Debug, Serialize)]
pub(super) struct ProcessesReport {
    total: usize,
    sorted_by: ProcessSort,
    top: Vec<ProcessUsage>,
}

#[derive(Debug, Serialize)]
struct ProcessUsage {
    pid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<u32>,
    name: String,
    /// Apparent secrets are redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    status: String,
    cpu_percent: f64,
    memory: u64,
    memory_percent: f64,
    run_seconds: u64,
}

pub(super) fn sample_processes(system: &mut System) {
    let kind = ProcessRefreshKind::nothing()
        .with_cpu()
        .with_memory()
        .with_cmd(UpdateKind::OnlyIfNotSet)
        .with_user(UpdateKind::OnlyIfNotSet)
        .without_tasks();
    system.refresh_processes_specifics(ProcessesToUpdate::All, true, kind);
}

impl ProcessesReport {
    pub(super) fn read(system: &System, limit: usize, sorted_by: ProcessSort) -> Self {
        let mut processes: Vec<&Process> =
            system.processes().values().filter(|process| process.thread_kind().is_none()).collect();
        processes.sort_by(|a, b| {
            let by_cpu = b.cpu_usage().total_cmp(&a.cpu_usage());
            let by_memory = b.memory().cmp(&a.memory());
            let order = match sorted_by {
                ProcessSort::Cpu => by_cpu.then(by_memory),
                ProcessSort::Memory => by_memory.then(by_cpu),
            };
            order.then_with(|| a.pid().cmp(&b.pid()))
        });
        let whole = system.total_memory();
        let top =
            processes.iter().take(limit).map(|process| ProcessUsage::new(process, whole)).collect();
        Self { total: processes.len(), sorted_by, top }
    }
}

impl ProcessUsage {
    fn new(process: &Process, whole: u64) -> Self {
        Self {
            pid: process.pid().as_u32(),
            parent: process.parent().map(sysinfo::Pid::as_u32),
            name: process.name().to_string_lossy().into_owned(),
            command: command::redacted_command(process.cmd()),
            user_id: process.user_id().map(|id| id.to_string()),
            status: process.status().to_string().to_lowercase(),
            cpu_percent: round_to_tenth(f64::from(process.cpu_usage())),
            memory: process.memory(),
            memory_percent: percent(process.memory(), whole),
            run_seconds: process.run_time(),
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "a tenth of a percent is precise enough")]
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { round_to_tenth(part as f64 * 100.0 / whole as f64) }
}

fn round_to_tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
