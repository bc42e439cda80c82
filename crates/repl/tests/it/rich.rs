//! Figures, pictures and data frames, where their packages are installed.

use std::fs;
use std::path::PathBuf;
use std::{env, process};

use hermes_repl::{ReplLanguage, ReplStatus};

use crate::bench::Bench;

const PYTHON: ReplLanguage = ReplLanguage::Python;

/// A bench whose Python has these packages; none, and the reason printed, if
/// they are not installed.
fn with(packages: &[&str]) -> Option<Bench> {
    let homes = ["HERMES_TEST_REPL_PYTHON", "HERMES_TEST_CODE_PYTHON"];
    let homes = homes.into_iter().filter_map(env::var_os).map(PathBuf::from);
    let imports = packages.iter().map(|name| format!("import {name}\n")).collect::<String>();
    let fits = |home: &PathBuf| {
        let mut check = process::Command::new(home.join("bin/python"));
        check.args(["-c", &imports]).env("MPLCONFIGDIR", home.join("matplotlib"));
        check.output().is_ok_and(|done| done.status.success())
    };
    let Some(home) = homes.into_iter().find(fits) else {
        eprintln!(
            "skipped: no virtualenv of the tests has {packages:?} (scripts/components/figures.sh)"
        );
        return None;
    };
    let bench = Bench::new();
    std::os::unix::fs::symlink(home, bench.path().join(".venv")).unwrap();
    Some(bench)
}

fn is_png(path: &PathBuf) -> bool {
    fs::read(path).unwrap().starts_with(b"\x89PNG\r\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_are_saved_when_they_are_shown_or_left_open() {
    let Some(bench) = with(&["matplotlib"]) else { return };
    let code = "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()\nplt.plot([2, 1]); plt.show()\n\
                fig, ax = plt.subplots()\nax.bar(['a'], [3])\nlen(ax.lines), plt.get_fignums()";
    let answer = bench.answer(PYTHON, code).await;
    assert_eq!(answer.status, ReplStatus::Ok, "{answer:?}");
    assert_eq!(answer.stderr.text, "");
    assert_eq!(answer.value.unwrap().text, "(0, [1])", "a figure that was shown is closed");
    let paths: Vec<_> = answer.images.iter().map(|picture| picture.path.clone()).collect();
    assert_eq!(paths.len(), 3, "{paths:?}");
    assert!(paths.iter().all(is_png));
    let answer = bench.answer(PYTHON, "fig").await;
    assert_eq!(answer.images.len(), 1);
    assert!(!paths.contains(&answer.images[0].path));
    assert!(bench.answer(PYTHON, "1").await.images.is_empty());
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_frame_is_a_table_with_its_shape() {
    let Some(bench) = with(&["pandas"]) else { return };
    let code = "import pandas as pd\ndf = pd.DataFrame({'n': range(1000), 'name': ['x' * 200] * 1000})\ndf";
    let value = bench.answer(PYTHON, code).await.value.unwrap();
    assert_eq!(value.shape, Some(vec![1000, 2]));
    assert!(value.kind.ends_with("DataFrame"), "{}", value.kind);
    let lines: Vec<&str> = value.text.lines().collect();
    assert!(lines.len() < 50 && lines[0].contains("name"), "{}", value.text);
    assert!(value.text.contains("999"), "{}", value.text);
    let value = bench.answer(PYTHON, "df.n").await.value.unwrap();
    assert_eq!(value.shape, Some(vec![1000]));
    let error = bench.answer(PYTHON, "df\ndf['nonesuch']").await.error.unwrap();
    assert_eq!((error.kind.as_str(), error.line), ("KeyError", Some(2)));
    assert!(!error.traceback.contains("site-packages"), "{}", error.traceback);
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn polars_frames_and_pictures_are_shown() {
    let Some(bench) = with(&["polars", "PIL"]) else { return };
    let code = "import polars as pl\npl.DataFrame({'a': [1, 2], 'b': ['x', 'y']})";
    let value = bench.answer(PYTHON, code).await.value.unwrap();
    assert_eq!(value.shape, Some(vec![2, 2]));
    assert!(value.text.contains("i64") && value.text.contains('y'), "{}", value.text);
    let answer = bench.answer(PYTHON, "from PIL import Image\nImage.new('RGB', (4, 4))").await;
    assert_eq!(answer.images.len(), 1, "{answer:?}");
    assert!(is_png(&answer.images[0].path));
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_paints_itself_is_saved() {
    let bench = Bench::new();
    let code = "class P:\n    def _repr_png_(self):\n        return b'\\x89PNG\\r\\n' + bytes(100_000)\nP()";
    let answer = bench.answer(PYTHON, code).await;
    assert_eq!(answer.status, ReplStatus::Ok, "{answer:?}");
    assert_eq!(answer.images.len(), 1, "{answer:?}");
    let path = &answer.images[0].path;
    assert!(is_png(path));
    assert_eq!(fs::metadata(path).unwrap().len(), 100_006);
    bench.close().await;
}
