
use crate::corpus_tests::look;
#[test]
fn timing() {
    for piece in [";", "&", "|", "<", ">", "<<a ", "\n", "{", "}", "{a,b}", "{a,b} ", "$", "`", "'", "\"", "\\", "*", "((", "))", "$((", "x=1;", "f(){ f;};", "<<E\n", "x=$x$x;", "rm a ", "-exec a ; ", "-exec a \\; ", "{a,{b,", "@(", "a=(b) ", "?[", "for i in a b;do ", "x+=y;", "a;", "a|", "(a=1);", "f(){ f;};f;", "x=$(a);", "`a` ", "${x:-", "~/x ", "-c 'a;' ", "bash -c 'a;b';", "[ -f a ];", "echo a b c d e f g;", "! ", "time ", "sudo ","eval ", "xargs ", "git -c a=b ", "{1..60}{1..60} ", "python3 -c 'import json;';", "sed -e 's/a/b/' ", "awk '{print}' x;", "a=b c ", "\u{ff52} "] {
        for source in [piece.repeat(250_000 / piece.len()), format!("echo {}", piece.repeat(250_000 / piece.len())), format!("find {}", piece.repeat(250_000 / piece.len())), format!("sudo rm -rf {}", piece.repeat(250_000 / piece.len()))] {
            let t = std::time::Instant::now();
            let _ = look(&source);
            let e = t.elapsed();
            if e.as_millis() > 25 { println!("SLOW {:?} {:?} {:?}", piece, source.chars().take(6).collect::<String>(), e); }
        }
    }
    for source in ["git status", "cd x && make -j$(nproc)", "for f in *.rs; do wc -l \"$f\"; done"] {
        let t = std::time::Instant::now();
        for _ in 0..1000 { let _ = look(source); }
        println!("{source}: {:?} each", t.elapsed() / 1000);
    }
    let long = "find . -name '*.rs' -print0 | xargs -0 grep -n foo | sort | uniq -c && echo \"$(date) done\" > log.txt; ".repeat(5);
    let t = std::time::Instant::now();
    for _ in 0..1000 { let _ = look(&long); }
    println!("{} bytes: {:?} each", long.len(), t.elapsed() / 1000);
}
