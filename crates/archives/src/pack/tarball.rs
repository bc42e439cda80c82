//! Writing tar. Owners are left out: they mean nothing elsewhere.

use std::io::{self, Write};
use std::path::Path;

use tar::{Builder, EntryType, Header};

use super::Job;
use super::sources::What;

pub(super) fn write(job: &Job<'_>, out: impl Write) -> io::Result<()> {
    let mut builder = Builder::new(out);
    for item in &job.plan.items {
        job.gauge.check()?;
        let mut header = Header::new_gnu();
        header.set_mode(item.mode);
        header.set_mtime(item.seconds());
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(item.size);
        match &item.what {
            What::File => {
                header.set_entry_type(EntryType::Regular);
                let content = job.content(item)?;
                builder.append_data(&mut header, &item.name, content)?;
            }
            What::Folder => {
                header.set_entry_type(EntryType::Directory);
                // A slash at the end is how folders are written.
                let name = Path::new(&item.name).join("");
                builder.append_data(&mut header, name, io::empty())?;
            }
            What::Link(target) => {
                header.set_entry_type(EntryType::Symlink);
                builder.append_link(&mut header, &item.name, target)?;
            }
        }
    }
    builder.finish()
}
