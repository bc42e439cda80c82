#![allow(clippy::unwrap_used)]

use super::super::limits::tests::machine;
use super::*;

fn read(files: &[(&str, &str)]) -> Option<Virtualization> {
    Virtualization::read(machine(files).path())
}

#[test]
fn virtual_machines_are_known_by_what_they_show() {
    let vm = |files: &[(&str, &str)]| read(files).and_then(|found| found.vm);
    let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    let flags = ("proc/cpuinfo", "processor : 0\nflags\t\t: fpu hypervisor sse\n");
    for (files, expected) in [
        (&[("sys/class/dmi/id/product_name", "VirtualBox\n")][..], Some("virtualbox")),
        (&[("sys/class/dmi/id/product_name", "Google Compute Engine\n")], Some("google")),
        (&[("sys/class/dmi/id/sys_vendor", "QEMU\n")], Some("qemu")),
        (&[("sys/class/dmi/id/product_name", "Virtual Machine\n")], Some("hyper-v")),
        (&[("sys/class/dmi/id/sys_vendor", "Google\n")], None),
        (&[("sys/class/dmi/id/sys_vendor", "Google\n"), flags], Some("google")),
        (&[("sys/class/dmi/id/product_name", "ThinkPad\n")], None),
        (&[("sys/hypervisor/type", "xen\n")], Some("xen")),
        (&[(clocks, "kvm-clock tsc acpi_pm\n")], Some("kvm")),
        (&[flags], Some("unknown")),
        (&[("proc/cpuinfo", "flags : fpu sse\n")], None),
        (&[], None),
    ] {
        assert_eq!(vm(files).as_deref(), expected, "{files:?}");
    }
}

#[test]
fn containers_are_known_by_what_they_show() {
    let container = |files: &[(&str, &str)]| read(files).and_then(|found| found.container);
    for (files, expected) in [
        (&[(".dockerenv", "")][..], Some("docker")),
        (&[("run/.containerenv", "")], Some("podman")),
        (&[("proc/1/environ", "PATH=/bin\0container=lxc\0A=1")], Some("lxc")),
        (&[("run/systemd/container", "systemd-nspawn\n")], Some("systemd-nspawn")),
        (
            &[("proc/1/cgroup", "0::/kubepods/burstable/pod1\n"), (".dockerenv", "")],
            Some("kubernetes"),
        ),
        (&[("proc/1/cgroup", "0::/init.scope\n")], None),
    ] {
        assert_eq!(container(files).as_deref(), expected, "{files:?}");
    }
}

#[test]
fn windows_below_is_told_apart() {
    let wsl = |release: &str| read(&[("proc/sys/kernel/osrelease", release)]).and_then(|it| it.wsl);
    assert_eq!(wsl("5.15.153.1-microsoft-standard-WSL2\n"), Some(2));
    assert_eq!(wsl("4.4.0-19041-Microsoft\n"), Some(1));
    assert_eq!(wsl("6.1.0-18-amd64\n"), None);
}

#[test]
fn sensors_are_read_the_warmest_first() {
    let root = machine(&[
        ("sys/class/hwmon/hwmon0/name", "nvme\n"),
        ("sys/class/hwmon/hwmon0/temp1_input", "38850\n"),
        ("sys/class/hwmon/hwmon0/temp1_crit", "84850\n"),
        ("sys/class/hwmon/hwmon1/name", "coretemp\n"),
        ("sys/class/hwmon/hwmon1/temp1_input", "61000\n"),
        ("sys/class/hwmon/hwmon1/temp1_label", "Package id 0\n"),
        ("sys/class/hwmon/hwmon1/temp2_input", "-274000\n"),
        ("sys/class/hwmon/hwmon1/fan1_input", "1200\n"),
        ("sys/class/thermal/thermal_zone0/temp", "20000\n"),
        ("sys/class/thermal/thermal_zone0/type", "acpitz\n"),
    ]);
    let sensor = |name: &str, celsius, critical| TemperatureSensor {
        name: name.to_owned(),
        celsius,
        critical,
    };
    let expected =
        [sensor("coretemp Package id 0", 61.0, None), sensor("nvme 1", 38.9, Some(84.9))];
    assert_eq!(temperatures(root.path()), expected);
    let zones = machine(&[
        ("sys/class/thermal/thermal_zone0/temp", "20000\n"),
        ("sys/class/thermal/thermal_zone0/type", "acpitz\n"),
        ("sys/class/thermal/cooling_device0/type", "Processor\n"),
    ]);
    assert_eq!(temperatures(zones.path()), [sensor("acpitz", 20.0, None)]);
    assert_eq!(temperatures(machine(&[]).path()), []);
}
