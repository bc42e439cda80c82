use hermes_core::ErrorKind;

use super::*;

#[test]
fn the_ratio_counts_only_beyond_the_free_bytes() {
    let limits = ArchiveLimits { bytes: 1_000_000, entries: 2, ratio: 10, free_bytes: 1000 };
    let budget = UnpackBudget::new(limits, 50);
    budget.spend(1000).expect("free");
    let refused = budget.spend(1).expect_err("a bomb");
    assert_eq!(refused.kind(), ErrorKind::Limit);
    assert!(
        refused.message().contains("ratio limit: it unpacks to more than 10 times"),
        "{refused}"
    );
    assert!(refused.hint().contains("larger max_ratio (now 10)"), "{}", refused.hint());
    let honest = UnpackBudget::new(limits, 100_000);
    honest.spend(999_999).expect("within the ratio");
    let refused = honest.spend(2).expect_err("too much");
    assert!(
        refused.message().contains("size limit: it unpacks to more than 1000000 bytes"),
        "{refused}"
    );
    assert!(refused.hint().contains("larger max_bytes (now 1000000)"), "{}", refused.hint());
}

#[test]
fn sums_cannot_overflow() {
    let budget = UnpackBudget::new(
        ArchiveLimits { bytes: u64::MAX, entries: 1, ratio: u64::MAX, free_bytes: 0 },
        2,
    );
    budget.spend(u64::MAX).expect("all there is");
    budget.spend(u64::MAX).expect("saturated");
    budget.count_entry().expect("the first");
    let refused = budget.count_entry().expect_err("one too many");
    assert!(refused.message().contains("more than 1"), "{refused}");
    assert!(refused.hint().contains("fixed"), "{}", refused.hint());
}

#[test]
fn what_is_passed_over_counts_for_the_ratio_only() {
    let budget =
        UnpackBudget::new(ArchiveLimits { bytes: 10, entries: 1, ratio: 100, free_bytes: 0 }, 1);
    budget.pass_over(100).expect("not stored");
    assert!(budget.pass_over(1).expect_err("a bomb").hint().contains("max_ratio"));
}
