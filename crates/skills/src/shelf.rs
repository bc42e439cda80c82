//! The skills of a user who works somewhere, looked at again and again.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::catalogue::Catalogue;
use crate::choices::Choices;
use crate::place::Place;
use crate::walk::{Walked, walk};

/// How old a look may be for those who look with every key.
const RECENT: Duration = Duration::from_secs(2);

/// Where skills are, and what was there the last time.
#[derive(Debug)]
pub struct Shelf {
    places: Vec<Place>,
    choices: Choices,
    kept: Mutex<Option<Kept>>,
}

#[derive(Debug)]
struct Kept {
    at: Instant,
    walked: Vec<Walked>,
    catalogue: Arc<Catalogue>,
}

impl Shelf {
    /// The skills of these places.
    pub fn new(places: Vec<Place>, choices: Choices) -> Self {
        Self { places, choices, kept: Mutex::default() }
    }

    /// What is there now. As long as nothing has changed it is the same catalogue.
    pub fn look(&self) -> Arc<Catalogue> {
        let walked: Vec<Walked> = self.places.iter().map(walk).collect();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = kept.as_mut().filter(|kept| kept.walked == walked) {
            kept.at = Instant::now();
            return Arc::clone(&kept.catalogue);
        }
        let catalogue = Arc::new(Catalogue::of(&self.places, &walked, &self.choices));
        let found = Kept { at: Instant::now(), walked, catalogue: Arc::clone(&catalogue) };
        *kept = Some(found);
        catalogue
    }

    /// What was there a moment ago, for those who cannot wait.
    pub fn recent(&self) -> Arc<Catalogue> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.as_ref().filter(|kept| kept.at.elapsed() < RECENT) {
            Some(kept) => Arc::clone(&kept.catalogue),
            None => {
                drop(kept);
                self.look()
            }
        }
    }

    /// Where is looked.
    pub fn places(&self) -> &[Place] {
        &self.places
    }
}
