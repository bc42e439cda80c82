#![allow(clippy::print_stdout, clippy::unwrap_used)]
use hermes_secrets::Redactor;
use std::time::Instant;
fn cpu() -> f64 { std::fs::read_to_string("/proc/self/schedstat").unwrap().split(" ").next().unwrap().parse::<f64>().unwrap()/1e9 }
fn rss() -> u64 {
    std::fs::read_to_string("/proc/self/statm")
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        * 4
}
fn rnd(seed: u64, n: usize, l: &[u8]) -> String {
    let mut s = seed.wrapping_mul(0x9E3779B97F4A7C15) | 1;
    (0..n)
        .map(|_| {
            s ^= s << 13;
            s ^= s >> 7;
            s ^= s << 17;
            l[(s >> 33) as usize % l.len()] as char
        })
        .collect()
}
fn main() {
    let src: String = ["redact.rs", "vault.rs", "fragments.rs", "json.rs", "names.rs"]
        .iter()
        .map(|f| std::fs::read_to_string(format!("crates/secrets/src/{f}")).unwrap())
        .collect();
    let text = src.repeat(40_000_000 / src.len());
    let mixed: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    let lower: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
    for (title, count, long, l) in [
        ("none", 0, false, mixed),
        ("20 lower (no pieces)", 20, false, lower),
        ("20 random", 20, false, mixed),
        ("200 lower (no pieces)", 200, false, lower),
        ("200 random", 200, false, mixed),
        ("200 + 4KB", 200, true, mixed),
        ("1000 random", 1000, false, mixed),
    ] {
        let mut v: Vec<(String, String)> =
            (0..count).map(|n| (format!("S{n}"), rnd(n as u64 + 1, 40, l))).collect();
        if long {
            v.push(("LONG".into(), rnd(99999, 4096, l)));
        }
        let before = rss();
        let t = Instant::now();
        let r = Redactor::new(v.iter().map(|(a, b)| (a, b))).unwrap();
        let built = t.elapsed();
        let mem = rss().saturating_sub(before);
        let mut best = 0f64;
        let mut dirty = false;
        for _ in 0..12 {
            let t = Instant::now();
            dirty = r.is_dirty(&text);
            best = best.max(text.len() as f64 / 1e6 / t.elapsed().as_secs_f64());
        }
        println!("{title}: {best:.0} MB/s, build {built:?}, rss +{mem} KB, dirty {dirty}");
    }
}
