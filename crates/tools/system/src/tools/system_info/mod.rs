//! `system_info`: describes this machine and its load.

mod command;
mod gpu;
mod limits;
mod machine;
mod sections;

use std::path::Path;

use hermes_core::{
    Effect, JsonSchema, Resource, Scope, Tool, ToolContext, ToolError, ToolExample, ToolSpec,
    WorkingDir,
};
use hermes_exec::JobRegistry;
use serde::{Deserialize, Serialize};
use sysinfo::System;

use crate::blocking::blocking;
use crate::desktop::DesktopEnv;
use gpu::GpuReport;
use limits::CgroupLimits;
use machine::TemperatureSensor;
use sections::{CpuReport, DiskReport, InterfaceReport, MemoryReport, OsReport, ProcessesReport};

#[derive(Debug, Default)]
pub(crate) struct SystemInfo {
    /// Finds programs such as `nvidia-smi`.
    desktop: DesktopEnv,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Default: os, cpu, memory, disk. limits are those of the container.
    sections: Option<Vec<InfoSection>>,
    /// How many processes to list.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
    /// Which processes come first.
    #[serde(default)]
    sort_by: ProcessSort,
}

fn default_limit() -> usize {
    10
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum InfoSection {
    Os,
    Cpu,
    Memory,
    Disk,
    Network,
    Processes,
    Limits,
    Temperature,
    Gpu,
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProcessSort {
    #[default]
    Cpu,
    Memory,
}

/// The requested sections.
#[derive(Debug, Clone, Copy)]
struct InfoRequest {
    os: bool,
    cpu: bool,
    memory: bool,
    disk: bool,
    network: bool,
    processes: bool,
    limits: bool,
    temperature: bool,
    gpu: bool,
    limit: usize,
    sort_by: ProcessSort,
}

impl InfoRequest {
    fn from_args(args: &Args) -> Self {
        let usual = [InfoSection::Os, InfoSection::Cpu, InfoSection::Memory, InfoSection::Disk];
        let named = args.sections.as_deref().filter(|named| !named.is_empty());
        let named = named.unwrap_or(&usual);
        let has = |section| named.contains(&section) || named.contains(&InfoSection::All);
        Self {
            os: has(InfoSection::Os),
            cpu: has(InfoSection::Cpu),
            memory: has(InfoSection::Memory),
            disk: has(InfoSection::Disk),
            network: has(InfoSection::Network),
            processes: has(InfoSection::Processes),
            limits: has(InfoSection::Limits),
            temperature: has(InfoSection::Temperature),
            gpu: has(InfoSection::Gpu),
            limit: args.limit.clamp(1, 100),
            sort_by: args.sort_by,
        }
    }

    /// Whether usage is requested, which is the difference between two samples.
    fn needs_two_samples(self) -> bool {
        self.cpu || self.processes
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct SystemReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    os: Option<OsReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<CpuReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<MemoryReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disk: Option<Vec<DiskReport>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<Vec<InterfaceReport>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<ProcessesReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<CgroupLimits>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<Vec<TemperatureSensor>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<Vec<GpuReport>>,
    /// Why a section is empty, and other remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Tool for SystemInfo {
    type Args = Args;
    type Output = SystemReport;

    fn spec() -> ToolSpec {
        ToolSpec::new("system_info", "system")
            .emoji("💻")
            .description(
                "This machine: OS and virtualization, CPU and load, memory, disks, network, top \
                 processes, container limits, temperature, GPU. Sizes are bytes; a process's CPU \
                 is percent of one core.",
            )
            .alias("sysinfo")
            .alias("system_metrics")
            .parameter_alias("section", "sections")
            .parameter_alias("metrics", "sections")
            .parameter_alias("top", "limit")
            .parameter_alias("sort", "sort_by")
            .read_only()
            .keyword("cpu usage")
            .keyword("free memory")
            .keyword("disk space")
            .keyword("uptime")
            .keyword("load average")
            .keyword("hostname")
            .keyword("top processes")
            .keyword("container limits")
            .keyword("temperature")
            .keyword("gpu")
            .keyword("nvidia")
            .keyword("virtual machine")
            .example(
                ToolExample::new("How much memory is free", r#"{"sections":["memory"]}"#)
                    .expects(r#"{"memory":{}}"#),
            )
            .example(
                ToolExample::new(
                    "The process that uses most memory",
                    r#"{"sections":["processes"],"sort_by":"memory","limit":1}"#,
                )
                .expects(r#"{"processes":{"sorted_by":"memory"}}"#),
            )
    }

    fn effects(&self, _args: &Args, _at: &WorkingDir) -> Vec<Effect> {
        vec![Effect::any(Scope::SYSTEM_READ)]
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<SystemReport, ToolError> {
        cx.check_grant(&Scope::SYSTEM_READ, &Resource::Any)?;
        let wanted = InfoRequest::from_args(&args);
        let gpus = if wanted.gpu {
            gpu::find_gpus(root(), &self.desktop, cx).await?
        } else {
            gpu::GpuSurvey::default()
        };
        let mut system = blocking(cx, move || {
            let mut system = System::new().map_err(unsupported_system)?;
            sample_usage(&mut system, wanted);
            Ok::<System, ToolError>(system)
        })
        .await??;
        if wanted.needs_two_samples() {
            cx.run_until_cancelled(tokio::time::sleep(sysinfo::MINIMUM_CPU_UPDATE_INTERVAL))
                .await?;
        }
        let mut report = blocking(cx, move || {
            if wanted.needs_two_samples() {
                sample_usage(&mut system, wanted);
            }
            report(&mut system, wanted)
        })
        .await??;
        report.gpu = wanted.gpu.then_some(gpus.gpus);
        report.notes.extend(gpus.note);
        if let Some(jobs) = cx.ports.get::<JobRegistry>().filter(|jobs| !jobs.backend().is_local())
        {
            report.notes.push(format!(
                "This is the machine that runs hermes; commands run elsewhere ({}).",
                jobs.backend().location()
            ));
        }
        Ok(report)
    }
}

/// Root of the kernel's `proc` and `sys` files.
fn root() -> &'static Path {
    Path::new("/")
}

fn unsupported_system(why: sysinfo::Error) -> ToolError {
    ToolError::unavailable(format!("Cannot read system information: {why}"))
}

/// Takes a sample of the values that are measured as a difference.
fn sample_usage(system: &mut System, wanted: InfoRequest) {
    if wanted.cpu {
        sections::sample_cpu(system);
    }
    if wanted.processes {
        sections::sample_processes(system);
    }
}

fn report(system: &mut System, wanted: InfoRequest) -> Result<SystemReport, ToolError> {
    if wanted.memory || wanted.processes {
        system.refresh_memory();
    }
    let limits = CgroupLimits::read(root());
    let temperature = wanted.temperature.then(|| machine::temperatures(root()));
    let mut notes = Vec::new();
    if temperature.as_ref().is_some_and(Vec::is_empty) {
        notes.push(if cfg!(target_os = "linux") {
            "temperature: no sensor found, as is usual for virtual machines".to_owned()
        } else {
            "temperature: sensors are supported on Linux only".to_owned()
        });
    }
    if wanted.limits && limits.cgroup.is_none() {
        notes.push("limits: this system has no cgroups".to_owned());
    } else if wanted.limits && !limits.is_limited() {
        notes.push("limits: none on memory, CPU time or processes".to_owned());
    }
    Ok(SystemReport {
        os: wanted.os.then(|| OsReport::read(root())),
        cpu: wanted.cpu.then(|| CpuReport::read(system, &limits)),
        memory: wanted.memory.then(|| MemoryReport::read(system, &limits)),
        disk: wanted.disk.then(sections::disks).transpose().map_err(unsupported_system)?,
        network: wanted
            .network
            .then(sections::interfaces)
            .transpose()
            .map_err(unsupported_system)?,
        processes: wanted
            .processes
            .then(|| ProcessesReport::read(system, wanted.limit, wanted.sort_by)),
        limits: wanted.limits.then_some(limits),
        temperature,
        gpu: None,
        notes,
    })
}

#[cfg(test)]
#[path = "system_info_tests.rs"]
mod tests;
