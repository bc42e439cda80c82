//! What every place must do, whichever way leads there.
//!
//! A place under test is handed to [`contract`], once per test: every check
//! is made there, and what failed is told by name. `HERMES_CONTRACT=word`
//! makes only the checks with this word in their name.

mod files;
mod input;
mod lives;
mod programs;
mod scene;
mod terminals;

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hermes_exec::ExecBackend;

pub(crate) use scene::{Scene, text};

/// No check takes so long, on however busy a machine.
const LONGEST: Duration = Duration::from_secs(120);

type Check = (&'static str, fn(Arc<Scene>) -> Pin<Box<dyn Future<Output = ()> + Send>>);

/// A table of checks, by their names.
macro_rules! checks {
    ($($module:ident: $($name:ident)+;)+) => {
        const CHECKS: &[Check] = &[
            $($((
                concat!(stringify!($module), "::", stringify!($name)),
                |scene| Box::pin($module::$name(scene)),
            ),)+)+
        ];
    };
}

checks! {
    programs:
        streams_come_together_in_order
        streams_come_apart
        an_end_has_its_code
        an_end_by_a_signal_is_told
        it_begins_in_its_folder
        the_environment_is_what_was_ordered
        odd_values_arrive_as_they_are
        odd_words_arrive_as_they_are
        much_output_arrives_whole
        bytes_that_are_no_text_arrive
        a_last_line_needs_no_end
        much_to_say_arrives
        a_missing_folder_is_told
        a_missing_program_is_told;
    input:
        there_is_nothing_to_read
        what_is_given_is_read_to_its_end
        much_is_given
        what_is_sent_later_is_read
        one_that_waits_for_input_is_noticed;
    lives:
        a_deadline_leaves_it_running
        ended_with_all_that_it_started
        one_that_will_not_go_is_forced
        one_that_left_the_session_goes_too
        whoever_waits_can_be_called_away
        a_signal_reaches_it
        a_grandchild_with_the_pipe_holds_nobody
        twenty_at_once;
    terminals:
        it_sees_a_terminal
        it_learns_of_another_size
        keys_arrive
        a_question_is_noticed
        an_interrupt_ends_it;
    files:
        what_is_written_can_be_read
        a_part_is_read
        an_old_file_is_kept_when_writing_fails
        a_mode_is_kept_or_set
        a_folder_tells_its_entries
        odd_names_are_names
        what_is_missing_is_told
        a_link_is_followed;
}

/// Puts a place through every check, and closes it.
pub(crate) async fn contract(backend: Arc<dyn ExecBackend>) {
    let scene = Arc::new(Scene::open(Arc::clone(&backend)).await);
    let only = std::env::var("HERMES_CONTRACT").unwrap_or_default();
    let mut failed = Vec::new();
    for (name, check) in CHECKS.iter().filter(|(name, _)| name.contains(&only)) {
        let began = std::time::Instant::now();
        let check = AssertUnwindSafe(check(Arc::clone(&scene)));
        let done = tokio::time::timeout(LONGEST, tokio::spawn(check.0)).await;
        let seconds = began.elapsed().as_secs_f32();
        let ok = matches!(done, Ok(Ok(())));
        eprintln!("{} {name} {seconds:.2} s", if ok { "ok    " } else { "FAILED" });
        if !ok {
            failed.push(*name);
        }
    }
    let left = scene.leave().await;
    backend.cleanup().await;
    assert!(failed.is_empty(), "{}: {} failed: {failed:#?}", backend.name(), failed.len());
    assert_eq!(left, Vec::<String>::new(), "processes that were left");
}
