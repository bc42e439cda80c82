//! Detects GPUs: NVIDIA cards through `nvidia-smi`, others through their
//! driver's files in sysfs.

use std::fs;
use std::path::Path;

use hermes_core::{ErrorKind, ToolContext, ToolError};
use serde::Serialize;

use crate::desktop::{DesktopEnv, DesktopProgram};

const NVIDIA_PROGRAM: &str = "nvidia-smi";
const QUERIED_FIELDS: &str =
    "name,driver_version,memory.total,memory.used,utilization.gpu,temperature.gpu";
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct GpuReport {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_total: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_used: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    celsius: Option<f64>,
}

/// The GPUs found, and why some may be missing.
#[derive(Debug, Default)]
pub(super) struct GpuSurvey {
    pub(super) gpus: Vec<GpuReport>,
    pub(super) note: Option<String>,
}

/// Finds all GPUs. `root` is `/` except in tests.
pub(super) async fn find_gpus(
    root: &Path,
    desktop: &DesktopEnv,
    cx: &ToolContext,
) -> Result<GpuSurvey, ToolError> {
    let mut found = GpuSurvey { gpus: driver_gpus(root), note: None };
    match nvidia_gpus(desktop, cx).await {
        Ok(gpus) => found.gpus.splice(0..0, gpus).for_each(drop),
        Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
        Err(error) => found.note = Some(format!("gpu: {}", error.message())),
    }
    if found.gpus.is_empty() && found.note.is_none() {
        found.note = Some(if cfg!(target_os = "linux") {
            "gpu: none found (no nvidia-smi, no card with a driver in /sys/class/drm)".to_owned()
        } else {
            "gpu: only nvidia-smi is supported on this system, and it is not installed".to_owned()
        });
    }
    Ok(found)
}

/// Returns no GPUs if `nvidia-smi` is not installed.
async fn nvidia_gpus(desktop: &DesktopEnv, cx: &ToolContext) -> Result<Vec<GpuReport>, ToolError> {
    if desktop.find_program(NVIDIA_PROGRAM).is_none() {
        return Ok(Vec::new());
    }
    let ended = DesktopProgram::new(desktop, NVIDIA_PROGRAM)?
        .args([format!("--query-gpu={QUERIED_FIELDS}")])
        .args(["--format=csv,noheader,nounits"])
        .output(MAX_OUTPUT_BYTES)
        .run(cx)
        .await?;
    // nvidia-smi prints errors to stdout.
    if !ended.success && ended.stderr_line.is_empty() {
        let said = String::from_utf8_lossy(&ended.output);
        let said: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let said: String = said.chars().take(300).collect();
        return Err(ToolError::unavailable(format!("{NVIDIA_PROGRAM} failed: {said}")));
    }
    let ended = ended.require_success()?;
    Ok(String::from_utf8_lossy(&ended.output).lines().filter_map(parse_row).collect())
}

/// Parses a row of nvidia-smi's table; a value that the card does not report is
/// in brackets.
fn parse_row(line: &str) -> Option<GpuReport> {
    // The name may contain a comma, the other fields do not.
    let mut fields: Vec<&str> = line.rsplitn(6, ',').map(str::trim).collect();
    fields.reverse();
    let [name, driver, total, used, usage, celsius] = fields.try_into().ok()?;
    let bytes = |text: &str| text.parse::<u64>().ok().map(|mib| mib.saturating_mul(1 << 20));
    Some(GpuReport {
        name: name.to_owned(),
        driver: Some(driver).filter(|text| !text.starts_with('[')).map(str::to_owned),
        memory_total: bytes(total),
        memory_used: bytes(used),
        usage_percent: usage.parse().ok(),
        celsius: celsius.parse().ok(),
    })
}

/// Returns the non-NVIDIA cards. Values that a driver does not report are
/// omitted.
fn driver_gpus(root: &Path) -> Vec<GpuReport> {
    let dir = root.join("sys/class/drm");
    let mut cards: Vec<String> = fs::read_dir(&dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        // `card0-HDMI-A-1` is a connector of a card.
        .filter(|name| name.strip_prefix("card").is_some_and(|n| n.parse::<u32>().is_ok()))
        .collect();
    cards.sort();
    let card = |name: &String| {
        let device = dir.join(name).join("device");
        let text = |file: &str| {
            let text = fs::read_to_string(device.join(file)).ok()?;
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let number = |file: &str| text(file)?.parse::<u64>().ok();
        let vendor = match text("vendor")?.as_str() {
            "0x1002" => "AMD",
            "0x8086" => "Intel",
            "0x10de" => return None,
            _ => "GPU",
        };
        let model = text("product_name").or_else(|| text("device")).unwrap_or_default();
        let driver = fs::read_link(device.join("driver")).ok();
        let driver = driver.and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
        Some(GpuReport {
            name: format!("{vendor} {model}").trim().to_owned(),
            driver,
            memory_total: number("mem_info_vram_total"),
            memory_used: number("mem_info_vram_used"),
            #[allow(clippy::cast_precision_loss, reason = "a percentage")]
            usage_percent: number("gpu_busy_percent").map(|percent| percent as f64),
            celsius: None,
        })
    };
    cards.iter().filter_map(card).collect()
}

#[cfg(test)]
#[path = "gpu_tests.rs"]
mod tests;
