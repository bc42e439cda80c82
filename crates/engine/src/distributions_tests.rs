#![allow(clippy::unwrap_used)]

use super::{DistributionError, SplitMix64, ToolsetDistribution, all, find, sample};
use crate::toolsets::{ToolsetCatalog, ToolsetError};

fn any(_: &str) -> bool {
    true
}

fn shares(name: &str) -> Vec<(String, u8)> {
    find(name).unwrap().shares.into_iter().map(|share| (share.toolset, share.percent)).collect()
}

#[test]
fn the_generator_gives_its_published_numbers() {
    let mut draws = SplitMix64(1_234_567);
    let first: Vec<u64> = (0..5).map(|_| draws.next()).collect();
    assert_eq!(
        first,
        [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ]
    );
}

#[test]
fn draws_in_percent_cover_their_range_evenly() {
    let mut counts = [0_u32; 100];
    let mut draws = SplitMix64(1);
    for _ in 0..100_000 {
        counts[usize::from(draws.next_percent())] += 1;
    }
    assert!(counts.iter().all(|count| (800..1200).contains(count)), "{counts:?}");
}

#[test]
fn names_and_toolsets_of_the_table_are_valid() {
    let names: Vec<String> = all().map(|distribution| distribution.name).collect();
    assert_eq!(
        names,
        [
            "default",
            "image_gen",
            "image_gen_full",
            "research",
            "research_full",
            "science",
            "development",
            "safe",
            "balanced",
            "minimal",
            "terminal_only",
            "terminal_web",
            "creative",
            "reasoning",
            "browser_use",
            "browser_only",
            "browser_tasks",
            "terminal_tasks",
            "terminal_tasks_full",
            "mixed_tasks",
            "mixed_tasks_full",
        ]
    );
    for distribution in all() {
        distribution.check(&ToolsetCatalog::default(), &()).unwrap();
        let mut seen = std::collections::HashSet::new();
        for share in &distribution.shares {
            assert!((1..=100).contains(&share.percent), "{}", distribution.name);
            assert!(seen.insert(&share.toolset), "{}: {}", distribution.name, share.toolset);
        }
    }
}

#[test]
fn chances_are_those_that_are_documented() {
    let row = |pairs: &[(&str, u8)]| -> Vec<(String, u8)> {
        pairs.iter().map(|(toolset, percent)| ((*toolset).to_owned(), *percent)).collect()
    };
    assert_eq!(
        shares("science"),
        row(&[
            ("web", 94),
            ("terminal", 94),
            ("file", 94),
            ("vision", 65),
            ("browser", 50),
            ("image_gen", 15)
        ])
    );
    assert_eq!(
        shares("image_gen_full"),
        row(&[("image_gen", 90), ("vision", 90), ("web", 55), ("terminal", 45)])
    );
    assert_eq!(shares("image_gen"), row(&[("image_gen", 40), ("web", 30), ("terminal", 30)]));
    assert_eq!(shares("research"), row(&[("web", 50), ("browser", 30), ("file", 20)]));
    assert_eq!(shares("terminal_tasks"), row(&[("terminal", 60), ("file", 30), ("web", 10)]));
    assert_eq!(
        shares("mixed_tasks"),
        row(&[("terminal", 25), ("file", 25), ("web", 25), ("browser", 25)])
    );
    assert_eq!(shares("browser_tasks"), row(&[("browser", 97), ("vision", 12), ("terminal", 15)]));
}

#[test]
fn a_seed_means_the_same_for_ever() {
    let golden: [&[&str]; 4] = [
        &["vision", "image_gen", "file", "browser"],
        &["terminal", "file"],
        &["file", "browser"],
        &["web", "terminal", "file"],
    ];
    for (seed, expected) in (0..).zip(golden) {
        assert_eq!(sample("balanced", seed, any).unwrap(), expected, "{seed}");
    }
}

#[test]
fn the_same_seed_draws_the_same_and_another_may_not() {
    for distribution in all() {
        for seed in [0, 1, 42, u64::MAX] {
            assert_eq!(
                distribution.sample(seed, any).unwrap(),
                distribution.sample(seed, any).unwrap()
            );
        }
    }
    let different: std::collections::HashSet<_> =
        (0..50).map(|seed| sample("balanced", seed, any).unwrap()).collect();
    assert!(different.len() > 10);
}

#[test]
fn frequencies_match_the_chances() {
    for name in ["science", "mixed_tasks_full", "terminal_tasks", "browser_tasks"] {
        let distribution = find(name).unwrap();
        // The fallback for an empty sample adds only to the likeliest toolset.
        let none: f64 =
            distribution.shares.iter().map(|s| 1.0 - f64::from(s.percent) / 100.0).product();
        let mut forced = none;
        let most = distribution.shares.iter().map(|s| s.percent).max().unwrap();
        for share in &distribution.shares {
            let drawn = (0..10_000)
                .filter(|seed| distribution.sample(*seed, any).unwrap().contains(&share.toolset))
                .count();
            let mut expected = f64::from(share.percent) / 100.0;
            if share.percent == most {
                expected += std::mem::take(&mut forced);
            }
            let found = f64::from(u32::try_from(drawn).unwrap()) / 10_000.0;
            assert!((found - expected).abs() < 0.03, "{name} {}: {found}", share.toolset);
        }
    }
}

#[test]
fn something_is_always_drawn_and_the_likeliest_when_nothing_comes_up() {
    let rare = ToolsetDistribution::parse("file=0, web=1, browser=2, vision=2").unwrap();
    let mut forced = 0;
    for seed in 0..2_000 {
        let drawn = rare.sample(seed, any).unwrap();
        assert!(!drawn.is_empty());
        assert!(!drawn.iter().any(|toolset| toolset == "file"));
        forced += usize::from(drawn == ["browser"]);
    }
    assert!(forced > 1_700, "{forced}");
}

#[test]
fn certain_is_always_and_never_is_never() {
    let certain = ToolsetDistribution::parse("web=100,file=0,todo=100").unwrap();
    for seed in 0..2_000 {
        assert_eq!(certain.sample(seed, any).unwrap(), ["web", "todo"]);
    }
}

#[test]
fn what_is_not_valid_is_passed_over_without_shifting_the_rest() {
    let distribution = find("balanced").unwrap();
    for seed in 0..500 {
        let mut full = distribution.sample(seed, any).unwrap();
        full.retain(|toolset| toolset != "web");
        let without = distribution.sample(seed, |toolset| toolset != "web").unwrap();
        if full.is_empty() {
            assert_eq!(without, ["vision"]);
        } else {
            assert_eq!(without, full);
        }
    }
    let error = distribution.sample(0, |_| false).unwrap_err();
    assert_eq!(error.to_string(), "distribution `balanced`: no toolset can be drawn");
}

#[test]
fn an_unknown_distribution_is_an_error_that_suggests() {
    let error = sample("reserch", 1, any).unwrap_err();
    assert_eq!(error.to_string(), "unknown distribution `reserch`; did you mean `research`?");
}

#[test]
fn chances_are_read_from_text() {
    let read = ToolsetDistribution::parse(" web=50 , file = 20% ,mcp-x=0").unwrap();
    let pairs: Vec<(&str, u8)> =
        read.shares.iter().map(|share| (share.toolset.as_str(), share.percent)).collect();
    assert_eq!(pairs, [("web", 50), ("file", 20), ("mcp-x", 0)]);
    assert_eq!(read.name, "custom");
}

#[test]
fn wrong_text_is_told_by_its_column() {
    for (text, wrong_at, said) in [
        ("", 1, "expected TOOLSET=PERCENT"),
        ("web", 1, "expected TOOLSET=PERCENT"),
        ("web=50,", 8, "expected TOOLSET=PERCENT"),
        ("web=50, =3", 9, "the toolset is missing"),
        ("web=101", 1, "the percentage must be a whole number from 0 to 100"),
        ("é=1, web=0.5", 6, "the percentage must be a whole number from 0 to 100"),
        ("web=-1", 1, "the percentage must be a whole number from 0 to 100"),
        ("web=", 1, "the percentage must be a whole number from 0 to 100"),
        ("web=1=2", 1, "the percentage must be a whole number from 0 to 100"),
        ("web=99999999999999999999", 1, "the percentage must be a whole number from 0 to 100"),
        ("web=1,file=2,web=3", 14, "this toolset is given twice"),
    ] {
        match ToolsetDistribution::parse(text) {
            Err(DistributionError::Syntax { column, problem, .. }) => {
                assert_eq!((column, problem), (wrong_at, said), "{text}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    let error = ToolsetDistribution::parse("web=0,file=0").unwrap_err();
    assert!(matches!(error, DistributionError::Empty { .. }));
}

#[test]
fn a_share_of_an_unknown_toolset_fails_the_check() {
    let error = ToolsetDistribution::parse("wbe=50")
        .unwrap()
        .check(&ToolsetCatalog::default(), &())
        .unwrap_err();
    assert!(matches!(error, ToolsetError::Unknown { .. }));
    assert_eq!(error.suggestions(), ["web"]);
}
