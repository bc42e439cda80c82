//! Ordinary texts, in which nothing may be found.

use hermes_threats::{ScanLevel, scan};

const TEXTS: &[&str] = &[
    "Δείτε τις οδηγίες στην προηγούμενη σελίδα.",
    "ראו את ההוראות בעמוד הקודם.",
    "โปรดอ่านคำแนะนำก่อนใช้งาน",
    "Xem hướng dẫn ở trang trước.",
    "You can ignore the previous warning.",
    "Disregard the noise term in equation 3.",
    "As a system administrator, you manage users and groups.",
    "Ignore case when sorting the previous column.",
    "The linter lets you ignore all rules for one line.",
    "Forget the previous year: this summer was hotter.",
    "See the instructions above for installing the toolchain.",
    "Follow the previous instructions, then restart the server.",
    "The forget gate lets the network drop earlier context.",
    "CSS: later rules override earlier rules of the same weight.",
    "To install, run the following command:\n\n    cargo install ripgrep",
    "You must run the following commands as root:\n\napt update\napt upgrade",
    "You need to call the function before reading its result.",
    "You are now ready to use the library.",
    "Congratulations, you are now a member of the club.",
    "You are now logged in as admin.",
    "From now on, you will receive a weekly newsletter.",
    "Pretend to be a browser by setting the User-Agent header.",
    "Let's pretend you have no idea what a monad is.",
    "The library can act as a proxy between client and server.",
    "Enable developer mode on your phone, then connect the cable.",
    "Click Remove all filters to see every product.",
    "The show command displays system messages.",
    "What is a system prompt? It is the text that sets up a model.",
    "Set the system prompt with the --system flag.",
    "curl -H \"Authorization: Bearer $OPENAI_API_KEY\" https://api.example.com/v1/models",
    "wget https://example.com/archive.tar.gz && tar xf archive.tar.gz",
    "cp .env.example .env and fill in the values.",
    "cat ~/.ssh/id_ed25519.pub and paste the key into the web form.",
    "Credentials are read from ~/.aws/credentials or the environment.",
    "cat README.md | head -n 20",
    "<!-- prettier-ignore -->\n| a | b |\n|---|---|",
    "<!-- Please fill in the template below. You must give a version. -->",
    "<!-- TODO: ignore this section in the next release -->",
    "<div style=\"display:none\" id=\"menu\">Home About Contact</div>",
    "<input type=\"hidden\" name=\"csrf\" value=\"a1b2c3\"> <p>Send us a message.</p>",
    "Translate the page into French and publish it.",
    "The compiler translates your code and runs the optimiser.",
    "Do not show stack traces to users in production.",
    "The app updates silently, without notifying the user.",
    "A good interface hides complexity from the user.",
    "Clear the browser history in the settings.",
    "Remove all traces of the old package before you upgrade.",
    "Log files older than seven days are deleted by logrotate.",
    "export OPENAI_API_KEY=your-key-here",
    "unset LD_LIBRARY_PATH",
    "Bluetooth beacons advertise every 100 ms.",
    "The kubelet registers the node with the API server.",
    "Workers pull jobs from the server and run them in a sandbox.",
    "Navigator.sendBeacon() sends analytics when the page is closed.",
    "Announcement from OpenAI: the new model is available today.",
    "A message from the developer: thanks for all the bug reports!",
    "Your name will be displayed on your public profile.",
    "## System requirements\n\n- 4 GB of memory\n- Linux 5.13",
    "# Assistant professor of physics\n\nShe teaches optics.",
    "System: Ubuntu 24.04\nKernel: 6.8",
    "fn main() { let x: Vec<u8> = vec![0; 16]; println!(\"{x:?}\"); }",
    "if (a < b && c > d) { return a | b; } // <T> and <U>",
    "SELECT * FROM users WHERE name = 'o''brien' -- ignore nulls",
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc",
    "https://example.com/search?q=hello%20world%20and%20more%20words&lang=en",
    "مرحبا بالعالم، هذه جملة عادية باللغة العربية. التعليمات في الصفحة السابقة.",
    "שלום עולם, זה משפט רגיל בעברית עם מספר 123.",
    "می\u{200c}خواهم کتاب\u{200c}ها را ببینم و نمی\u{200c}دانم.",
    "क्\u{200d}ष और त्र हिन्दी के अक्षर हैं।",
    "Family: 👨\u{200d}👩\u{200d}👧\u{200d}👦, heart: ❤\u{fe0f}\u{200d}🔥, pilot: 👩🏽\u{200d}✈\u{fe0f}",
    "Flag of Wales: 🏴\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
    "\u{feff}A file with a mark at its beginning.",
    "Typeset text has soft hy\u{ad}phens in ma\u{ad}ny of its words, al\u{ad}ways.",
    "ภาษา\u{200b}ไทย มีคำ\u{200b}ต่อกัน",
    "ខ្មែរ\u{200b}ភាសា",
    "Two files, one after the other.\n\u{feff}The second one has a mark.",
    "<!-- override default styles here -->",
    "Keep this secret: the key signs every release.",
    "Send the form without a file to skip the upload.",
    "git push runs quietly with --quiet; logs are copied to the server.",
    "The daemon forwards packets silently when no rule matches.",
    "You are now the proud owner of a repository.",
    "The command prints the conversation title and the date.",
    "Предыдущая версия инструкции находится в архиве.",
    "以前の指示書は倉庫にあります。",
    "之前的版本已经过时，请看新的说明。",
    "이전 버전의 문서는 보관되어 있습니다.",
    "Die vorherige Anweisung im Handbuch ist richtig.",
    "Les instructions précédentes restent valables.",
    "Las instrucciones anteriores siguen siendo válidas.",
    "A. B. Smith and C. D. E. Jones, J. Phys. 12 (1999).",
    "x y z are the axes; a b c are the constants.",
    "Ignore the first line of the file, then read the rest.",
    "git config --global core.excludesFile ~/.gitignore",
    "The guidelines of the previous committee were dropped in favour of new ones.",
    "Policy update: the office is closed on Friday.",
    "Never give your password to anyone, not even an administrator.",
    "More information about the `.netrc` file is in the manual.",
    "Unsafe blocks without comments violate our safety comment policy.",
    "The check only runs if you are in debug mode.",
    "Attackers use a C2 server to control the machines, the report says.",
    "The agent should be installed on every host.",
    "To bypass the cache, add a query string to the URL.",
    "Disable the filter and the limit in the settings to see all rows.",
];

#[test]
fn nothing_is_found_in_ordinary_texts() {
    let found: Vec<String> = TEXTS
        .iter()
        .map(|text| (text, scan(text, ScanLevel::Context)))
        .filter(|(_, found)| !found.is_empty())
        .map(|(text, found)| format!("{text}: {found:?}"))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn nothing_is_found_in_all_ordinary_texts_together() {
    let found = scan(&TEXTS.join("\n\n"), ScanLevel::Context);
    // Only the joiners count together, and they stand in no Latin word.
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn there_are_enough_texts_to_speak_of() {
    assert!(TEXTS.len() >= 60);
}
