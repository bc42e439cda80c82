//! Writing tar. Owners are omitted: they mean nothing on other systems.

use std::io::{self, Write};
use std::path::Path;

use tar::{Builder, EntryType, Header};

use super::PackJob;
use super::sources::PackEntryKind;

pub(super) fn write(job: &PackJob<'_>, out: impl Write) -> io::Result<()> {
    let mut builder = Builder::new(out);
    for item in &job.plan.entries {
        job.gauge.check()?;
        let mut header = Header::new_gnu();
        header.set_mode(item.mode);
        header.set_mtime(item.unix_seconds());
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(item.size);
        match &item.kind {
            PackEntryKind::File => {
                header.set_entry_type(EntryType::Regular);
                let content = job.open_content(item)?;
                builder.append_data(&mut header, &item.name, content)?;
            }
            PackEntryKind::Directory => {
                header.set_entry_type(EntryType::Directory);
                // Directory names end with a slash.
                let name = Path::new(&item.name).join("");
                builder.append_data(&mut header, name, io::empty())?;
            }
            PackEntryKind::Link(target) => {
                header.set_entry_type(EntryType::Symlink);
                builder.append_link(&mut header, &item.name, target)?;
            }
        }
    }
    builder.finish()
}
