//! The skills of a user who works somewhere, looked at again and again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::catalogue::SkillCatalogue;
use crate::roots::SkillRoot;
use crate::settings::SkillSettings;
use crate::walk::{RootScan, scan_root};

/// How old a look may be for those who look with every key.
const CACHE_MAX_AGE: Duration = Duration::from_secs(2);

/// Where skills are, and what was there the last time.
#[derive(Debug)]
pub struct SkillLibrary {
    roots: Vec<SkillRoot>,
    settings: SkillSettings,
    cached: Mutex<Option<CachedCatalogue>>,
}

#[derive(Debug)]
struct CachedCatalogue {
    at: Instant,
    scans: Vec<RootScan>,
    catalogue: Arc<SkillCatalogue>,
}

impl SkillLibrary {
    /// The skills of these places.
    pub fn new(places: Vec<SkillRoot>, choices: SkillSettings) -> Self {
        Self { roots: places, settings: choices, cached: Mutex::default() }
    }

    /// What is there now. As long as nothing has changed it is the same catalogue.
    pub fn refresh(&self) -> Arc<SkillCatalogue> {
        let walked: Vec<RootScan> = self.roots.iter().map(scan_root).collect();
        let mut kept = self.cached.lock();
        if let Some(kept) = kept.as_mut().filter(|kept| kept.scans == walked) {
            kept.at = Instant::now();
            return Arc::clone(&kept.catalogue);
        }
        let catalogue = Arc::new(SkillCatalogue::from_scans(&self.roots, &walked, &self.settings));
        let found = CachedCatalogue {
            at: Instant::now(),
            scans: walked,
            catalogue: Arc::clone(&catalogue),
        };
        *kept = Some(found);
        catalogue
    }

    /// What was there a moment ago, for those who cannot wait.
    pub fn recent(&self) -> Arc<SkillCatalogue> {
        let kept = self.cached.lock();
        match kept.as_ref().filter(|kept| kept.at.elapsed() < CACHE_MAX_AGE) {
            Some(kept) => Arc::clone(&kept.catalogue),
            None => {
                drop(kept);
                self.refresh()
            }
        }
    }

    /// Where is looked.
    pub fn roots(&self) -> &[SkillRoot] {
        &self.roots
    }
}
