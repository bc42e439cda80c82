use proptest::prelude::*;

use super::*;

/// A tree of numbers: a node gives its own results, then its children.
#[derive(Debug, Clone)]
enum Node {
    Leaf(u64),
    Branch(Vec<Node>),
}

fn node() -> impl Strategy<Value = Node> {
    let leaf = (0_u64..4).prop_map(Node::Leaf);
    leaf.prop_recursive(4, 40, 6, |inner| prop::collection::vec(inner, 0..6).prop_map(Node::Branch))
}

/// Every result in order, named by its leaf.
fn plain(node: &Node, key: &[u8], all: &mut Vec<(OrderKey, u64)>) {
    match node {
        Node::Leaf(number) => all.extend((0..*number).map(|at| (key.to_vec(), at))),
        Node::Branch(children) => {
            for (at, child) in children.iter().enumerate() {
                plain(child, &key_in(key, &[b'a' + at as u8]), all);
            }
        }
    }
}

fn work(node: Node, needed: Option<u64>) -> Vec<(OrderKey, u64)> {
    let mut taken = Vec::new();
    let plan = RunLimits { needed, is_stopped: &|| false };
    let start = vec![(OrderKey::new(), node)];
    run_ordered(
        &plan,
        start,
        || (),
        |(), key, node, _, outcome| match node {
            Node::Leaf(number) => {
                let results = (0..number).map(|at| (key.clone(), at)).collect::<Vec<_>>();
                outcome.push((key.clone(), WorkOutput::Done(results, number)));
            }
            Node::Branch(children) => {
                for (at, child) in children.into_iter().enumerate() {
                    outcome.push((key_in(key, &[b'a' + at as u8]), WorkOutput::Work(child)));
                }
            }
        },
        |mut results| taken.append(&mut results),
    );
    taken
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn results_come_in_order_however_the_threads_run(node in node()) {
        let mut expected = Vec::new();
        plain(&node, &[], &mut expected);
        prop_assert_eq!(work(node, None), expected);
    }

    #[test]
    fn what_is_needed_comes_first_and_whole(node in node(), needed in 1_u64..20) {
        let mut expected = Vec::new();
        plain(&node, &[], &mut expected);
        let taken = work(node, Some(needed));
        prop_assert!(taken.len() as u64 >= needed.min(expected.len() as u64));
        prop_assert_eq!(&taken[..], &expected[..taken.len()]);
    }

    #[test]
    fn keys_order_as_paths_do(a in "[a-c!/ ]{1,6}", b in "[a-c!/ ]{1,6}") {
        let key = |path: &str| {
            path.split('/').filter(|part| !part.is_empty()).fold(OrderKey::new(), |key, part| {
                key_in(&key, part.as_bytes())
            })
        };
        let parts = |path: &str| {
            path.split('/').filter(|p| !p.is_empty()).map(str::to_owned).collect::<Vec<_>>()
        };
        prop_assert_eq!(key(&a).cmp(&key(&b)), parts(&a).cmp(&parts(&b)));
    }
}

#[test]
fn a_stopped_run_gives_no_results_behind_a_gap() {
    let stopped = AtomicBool::new(false);
    let plan = RunLimits { needed: None, is_stopped: &|| stopped.load(Ordering::Relaxed) };
    let start = (0..100).map(|at| (key_at(at), at)).collect();
    let mut taken = Vec::new();
    run_ordered(
        &plan,
        start,
        || (),
        |(), key, at, _, outcome| {
            if at == 40 {
                stopped.store(true, Ordering::Relaxed);
            } else {
                outcome.push((key.clone(), WorkOutput::Done(at, 1)));
            }
        },
        |at| taken.push(at),
    );
    let expected: Vec<usize> = (0..taken.len()).collect();
    assert_eq!(taken, expected);
    assert!(taken.len() <= 40);
}

#[test]
fn a_panic_ends_the_run() {
    let plan = RunLimits { needed: None, is_stopped: &|| false };
    let start = (0..50).map(|at| (key_at(at), at)).collect();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        run_ordered(
            &plan,
            start,
            || (),
            |(), _, at: usize, _, _: &mut WorkOutputs<usize, ()>| assert_ne!(at, 25, "as planned"),
            |()| {},
        )
    }));
    assert!(caught.is_err());
}

#[test]
fn work_that_nobody_needs_is_told_so() {
    let plan = RunLimits { needed: Some(1), is_stopped: &|| false };
    let start = vec![(key_at(0), true), (key_at(1), false)];
    let mut taken = Vec::new();
    // The second piece ends only when it is told; with one thread it is never
    // begun.
    run_ordered(
        &plan,
        start,
        || (),
        |(), key, is_first, dropped, outcome| {
            if is_first {
                outcome.push((key.clone(), WorkOutput::Done("first", 1)));
            } else {
                while !dropped.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                outcome.push((key.clone(), WorkOutput::Done("second", 1)));
            }
        },
        |result| taken.push(result),
    );
    assert_eq!(taken, ["first"]);
}
