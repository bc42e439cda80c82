//! Files that short pieces of code write.

use hermes_core::Scope;

use crate::corpus_tests::look;

#[test]
fn a_file_that_is_named_by_a_text_is_a_file_that_is_written() {
    for source in [
        "python3 -c \"from pathlib import Path; Path('out.txt').write_text('x')\"",
        "python3 -c \"from pathlib import Path\nfor p in Path('src').rglob('*.py'):\n    p.write_text(p.read_text().upper())\"",
        "node -e \"require('fs').writeFileSync('out.json', '{}')\"",
    ] {
        let analysis = look(source);
        assert!(analysis.level().is_none(), "{source}: {:?}", analysis.leaves);
        let writes =
            |leaf: &crate::LeafCommand| leaf.effects.iter().any(|e| e.scope == Scope::FILE_WRITE);
        assert!(analysis.leaves.iter().any(writes), "{source}");
    }
}

#[test]
fn any_other_name_is_still_strange() {
    for source in [
        "python3 -c \"from pathlib import Path; p=Path.home(); p.write_text('x')\"",
        "python3 -c \"from pathlib import Path; Path('.'+'git/config').write_text('x')\"",
        "python3 -c \"from pathlib import Path\nfor p in Path('src').rglob('*'):\n    p = p.parent\n    p.write_text('')\"",
        "node -e \"const w=require('fs').writeFileSync; w('x','y')\"",
        "node -e \"require('fs').writeFileSync(process.argv[1],'x')\" a",
    ] {
        let runs =
            |leaf: &crate::LeafCommand| leaf.effects.iter().any(|e| e.scope == Scope::CODE_EXECUTE);
        assert!(look(source).leaves.iter().any(runs), "{source}");
    }
}
