//! Detects virtual machines and containers, and reads temperatures, from kernel
//! files.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Maximum number of sensors in a report.
const MAX_SENSORS: usize = 64;

/// Strings that hypervisors put into their firmware tables, and their names.
const FIRMWARE_VENDORS: &[(&str, &str)] = &[
    ("kvm", "kvm"),
    ("openstack", "kvm"),
    ("amazon ec2", "amazon"),
    ("google compute", "google"),
    ("google", "google"),
    ("qemu", "qemu"),
    ("vmware", "vmware"),
    ("virtualbox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("xen", "xen"),
    ("bochs", "bochs"),
    ("parallels", "parallels"),
    ("bhyve", "bhyve"),
    ("apple virtualization", "apple"),
    ("hyper-v", "hyper-v"),
    ("virtual machine", "hyper-v"),
    ("digitalocean", "kvm"),
    ("hetzner", "kvm"),
];

/// Container runtimes, by a word in the cgroup path of PID 1.
const CGROUP_RUNTIMES: &[(&str, &str)] = &[
    ("kubepods", "kubernetes"),
    ("libpod", "podman"),
    ("docker", "docker"),
    ("containerd", "containerd"),
    ("crio", "cri-o"),
    ("lxc", "lxc"),
    ("garden", "garden"),
];

/// Virtualization that this machine runs in; empty on bare metal.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Virtualization {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) vm: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) container: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wsl: Option<u8>,
}

impl Virtualization {
    /// Detects the virtualization; none on bare metal. `root` is `/` except in
    /// tests.
    pub(super) fn read(root: &Path) -> Option<Self> {
        let wsl = detect_wsl(root);
        let vm = if wsl.is_some() { None } else { detect_vm(root) };
        let found = Self { vm, container: detect_container(root), wsl };
        (found != Self::default()).then_some(found)
    }
}

fn read_trimmed(path: PathBuf) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn detect_wsl(root: &Path) -> Option<u8> {
    let release = read_trimmed(root.join("proc/sys/kernel/osrelease"))?.to_lowercase();
    match (release.contains("microsoft"), release.contains("wsl2")) {
        (true, true) => Some(2),
        (true, false) => Some(if release.starts_with("4.4.") { 1 } else { 2 }),
        _ => None,
    }
}

fn detect_vm(root: &Path) -> Option<String> {
    let firmware = root.join("sys/class/dmi/id");
    let parts = ["product_name", "sys_vendor", "board_vendor", "bios_vendor"];
    for part in parts.iter().filter_map(|part| read_trimmed(firmware.join(part))) {
        let part = part.to_lowercase();
        // Laptops of this vendor are not virtual machines.
        let is_laptop = part == "google";
        if let Some((_, name)) = FIRMWARE_VENDORS.iter().find(|(word, _)| part.contains(word))
            && (!is_laptop || has_hypervisor_flag(root))
        {
            return Some((*name).to_owned());
        }
    }
    if let Some(kind) =
        read_trimmed(root.join("sys/hypervisor/type")).filter(|kind| !kind.is_empty())
    {
        return Some(kind);
    }
    let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    let clocks = read_trimmed(root.join(clocks)).unwrap_or_default();
    for (clock, name) in [("kvm", "kvm"), ("hyperv", "hyper-v"), ("xen", "xen")] {
        if clocks.contains(clock) {
            return Some(name.to_owned());
        }
    }
    has_hypervisor_flag(root).then(|| "unknown".to_owned())
}

/// Whether the processor reports a hypervisor.
fn has_hypervisor_flag(root: &Path) -> bool {
    let processors = read_trimmed(root.join("proc/cpuinfo")).unwrap_or_default();
    let mut flags = processors.lines().filter(|line| line.starts_with("flags"));
    flags.next().is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
}

fn detect_container(root: &Path) -> Option<String> {
    let named = |name: &str| Some(name.to_owned());
    if root.join("var/run/secrets/kubernetes.io").is_dir() {
        return named("kubernetes");
    }
    // The container runtime sets this variable for PID 1.
    if let Ok(variables) = fs::read(root.join("proc/1/environ")) {
        let mut variables = variables.split(|byte| *byte == 0);
        let kind = variables.find_map(|variable| variable.strip_prefix(b"container="));
        if let Some(kind) = kind.filter(|kind| !kind.is_empty()) {
            return named(&String::from_utf8_lossy(kind).chars().take(40).collect::<String>());
        }
    }
    if let Some(kind) =
        read_trimmed(root.join("run/systemd/container")).filter(|kind| !kind.is_empty())
    {
        return named(&kind);
    }
    if root.join("run/.containerenv").is_file() {
        return named("podman");
    }
    let groups = read_trimmed(root.join("proc/1/cgroup")).unwrap_or_default();
    if let Some((_, name)) = CGROUP_RUNTIMES.iter().find(|(word, _)| groups.contains(word)) {
        return named(name);
    }
    root.join(".dockerenv").is_file().then(|| "docker".to_owned())
}

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct TemperatureSensor {
    name: String,
    celsius: f64,
    /// Temperature at which the hardware protects itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    critical: Option<f64>,
}

/// Reads the sensors, warmest first.
pub(super) fn temperatures(root: &Path) -> Vec<TemperatureSensor> {
    let mut sensors: Vec<TemperatureSensor> = sorted_entries(&root.join("sys/class/hwmon"))
        .iter()
        .flat_map(|chip| chip_sensors(chip))
        .collect();
    if sensors.is_empty() {
        // Fallback: the firmware's thermal zones, which often show one of many
        // sensors.
        sensors = sorted_entries(&root.join("sys/class/thermal"))
            .iter()
            .filter_map(|it| thermal_zone(it))
            .collect();
    }
    sensors.sort_by(|a, b| b.celsius.total_cmp(&a.celsius).then_with(|| a.name.cmp(&b.name)));
    sensors.truncate(MAX_SENSORS);
    sensors
}

fn sorted_entries(path: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

fn chip_sensors(chip: &Path) -> Vec<TemperatureSensor> {
    let name = read_trimmed(chip.join("name")).unwrap_or_default();
    let sensor = |file: PathBuf| {
        let input = file.file_name()?.to_str()?.strip_suffix("_input")?.to_owned();
        let number = input.strip_prefix("temp")?;
        let label =
            read_trimmed(chip.join(format!("{input}_label"))).unwrap_or_else(|| number.to_owned());
        let critical = read_celsius(chip.join(format!("{input}_crit"))).filter(|crit| *crit > 0.0);
        Some(TemperatureSensor {
            name: format!("{name} {label}"),
            celsius: read_celsius(file)?,
            critical,
        })
    };
    sorted_entries(chip).into_iter().filter_map(sensor).collect()
}

fn thermal_zone(dir: &Path) -> Option<TemperatureSensor> {
    let celsius = read_celsius(dir.join("temp"))?;
    Some(TemperatureSensor { name: read_trimmed(dir.join("type"))?, celsius, critical: None })
}

/// Reads a temperature in millidegrees. An implausible value means that the
/// sensor is off.
fn read_celsius(path: PathBuf) -> Option<f64> {
    let thousandths: f64 = read_trimmed(path)?.parse().ok()?;
    let celsius = (thousandths / 100.0).round() / 10.0;
    (-100.0..=250.0).contains(&celsius).then_some(celsius)
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
