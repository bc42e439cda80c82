#![allow(clippy::unwrap_used)]

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::super::limits::tests::machine;
use super::*;
use crate::desktop::tests::desktop;

/// A stand-in for the program, with realistic output.
fn program(script: &str) -> TempDir {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join(NVIDIA_PROGRAM);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

async fn found(root: &Path, programs: &TempDir) -> GpuSurvey {
    let path = format!("{}:/usr/bin:/bin", programs.path().display());
    let cx = ToolContext::bare(root);
    find_gpus(root, &desktop(&[("PATH", &path)]), &cx).await.unwrap()
}

#[tokio::test]
async fn cards_of_nvidia_come_from_their_program() {
    let script = "case \"$*\" in *temperature.gpu*noheader*) ;; *) exit 9;; esac\n\
        echo 'NVIDIA A100, 80GB, 535.1, 81920, 1024, 37, 41'\n\
        echo 'Tesla, [N/A], 100, [N/A], [Not Supported], 50'";
    let found = found(machine(&[]).path(), &program(script)).await;
    assert!(found.note.is_none());
    let first = GpuReport {
        name: "NVIDIA A100, 80GB".to_owned(),
        driver: Some("535.1".to_owned()),
        memory_total: Some(81_920 << 20),
        memory_used: Some(1_024 << 20),
        usage_percent: Some(37.0),
        celsius: Some(41.0),
    };
    let second = GpuReport {
        name: "Tesla".to_owned(),
        memory_total: Some(100 << 20),
        celsius: Some(50.0),
        ..GpuReport::default()
    };
    assert_eq!(found.gpus, [first, second]);
}

#[tokio::test]
async fn a_program_that_fails_is_told() {
    let root = machine(&[]);
    let failing = found(root.path(), &program("echo 'No devices were found'; exit 6")).await;
    assert_eq!(failing.note.as_deref(), Some("gpu: nvidia-smi failed: No devices were found"));
    let missing = found(root.path(), &TempDir::new().unwrap()).await;
    assert!(missing.note.is_some() && missing.gpus.is_empty());
}

#[tokio::test]
async fn a_program_that_hangs_does_not_hold_up_the_report() {
    let programs = program("exec sleep 600");
    let root = machine(&[]);
    let path = format!("{}:/usr/bin:/bin", programs.path().display());
    let mut cx = ToolContext::bare(root.path());
    cx.deadline = Some(Instant::now() + Duration::from_millis(200));
    let found = find_gpus(root.path(), &desktop(&[("PATH", &path)]), &cx).await.unwrap();
    assert!(found.note.unwrap().contains("did not exit"));
}

#[tokio::test]
async fn other_cards_come_from_their_driver() {
    let root = machine(&[
        ("sys/class/drm/card0/device/vendor", "0x10de\n"),
        ("sys/class/drm/card1/device/vendor", "0x1002\n"),
        ("sys/class/drm/card1/device/product_name", "Instinct MI300X\n"),
        ("sys/class/drm/card1/device/mem_info_vram_total", "1000\n"),
        ("sys/class/drm/card1/device/mem_info_vram_used", "10\n"),
        ("sys/class/drm/card1/device/gpu_busy_percent", "5\n"),
        ("sys/class/drm/card1-DP-1/device/vendor", "0x1002\n"),
    ]);
    symlink("../../drivers/amdgpu", root.path().join("sys/class/drm/card1/device/driver")).unwrap();
    let found = found(root.path(), &TempDir::new().unwrap()).await;
    let expected = GpuReport {
        name: "AMD Instinct MI300X".to_owned(),
        driver: Some("amdgpu".to_owned()),
        memory_total: Some(1_000),
        memory_used: Some(10),
        usage_percent: Some(5.0),
        celsius: None,
    };
    assert_eq!(found.gpus, [expected]);
    assert!(found.note.is_none());
}
