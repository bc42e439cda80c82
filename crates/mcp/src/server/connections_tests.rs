use futures_util::FutureExt as _;

use super::*;

#[tokio::test]
async fn the_connection_that_has_waited_longest_makes_room() {
    let table = ConnectionTable::new(3);
    let idle = table.admit().await;
    drop(idle.begin_request());
    let busy = table.admit().await;
    let request = busy.begin_request();
    let opened = table.admit().await;
    let fourth = table.admit().await;
    assert!(opened.close.is_cancelled(), "it has never sent a request");
    assert!(!idle.close.is_cancelled() && !busy.close.is_cancelled());
    let fourth_request = fourth.begin_request();
    let fifth = table.admit().await;
    assert!(idle.close.is_cancelled(), "it has been answered");
    let fifth_request = fifth.begin_request();
    assert!(table.admit().now_or_never().is_none(), "all are busy");
    drop(fourth_request);
    let _sixth = table.admit().await;
    assert!(fourth.close.is_cancelled() && !fifth.close.is_cancelled());
    drop((request, fifth_request));
}

#[tokio::test]
async fn a_closed_connection_leaves_its_place() {
    let table = ConnectionTable::new(1);
    let first = table.admit().await;
    let _request = first.begin_request();
    let mut second = Box::pin(table.admit());
    assert!(second.as_mut().now_or_never().is_none());
    drop(first);
    let second = second.await;
    assert!(!second.close.is_cancelled());
}

#[tokio::test]
async fn only_the_first_head_is_limited_in_time() {
    let table = ConnectionTable::new(2);
    let (silent, served) = (table.admit().await, table.admit().await);
    drop(served.begin_request());
    tokio::select! {
        biased;
        () = served.closed(Duration::from_millis(1)) => panic!("it has sent a head"),
        () = silent.closed(Duration::from_millis(2)) => {}
    }
}
