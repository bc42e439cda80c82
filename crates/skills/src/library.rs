//! Cached access to the skills below a set of roots.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::catalogue::SkillCatalogue;
use crate::roots::SkillRoot;
use crate::settings::SkillSettings;
use crate::walk::{RootScan, scan_root};

/// Maximum age of a cached scan for callers that look up skills on every key
/// press.
const CACHE_MAX_AGE: Duration = Duration::from_secs(2);

/// The skill roots and the last scan of them.
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
    /// Creates a library of the skills below these roots.
    pub fn new(places: Vec<SkillRoot>, choices: SkillSettings) -> Self {
        Self { roots: places, settings: choices, cached: Mutex::default() }
    }

    /// Scans the roots. Returns the same catalogue as long as nothing has
    /// changed.
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

    /// Returns a recent catalogue, for callers that cannot wait for a scan.
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

    /// Returns the roots that are scanned.
    pub fn roots(&self) -> &[SkillRoot] {
        &self.roots
    }
}
