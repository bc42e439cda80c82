#![allow(clippy::all, clippy::print_stdout, clippy::unwrap_used)]
use serde_json::{json,Value};
use hermes_schema::*;
use std::time::Instant;
fn time<T>(name:&str, n:usize, mut f: impl FnMut()->T){
    for _ in 0..n/10+1 {std::hint::black_box(f());}
    let t=Instant::now(); for _ in 0..n {std::hint::black_box(f());}
    println!("{name}: {:?}", t.elapsed()/n as u32);
}
fn main(){
    let raw=json!({"type":"object","properties":{"path":{"type":"string","description":"x"},"offset":{"type":"integer","minimum":0},"limit":{"type":"integer","minimum":1,"maximum":2000},"mode":{"enum":["fast","slow"]}},"required":["path"],"additionalProperties":false});
    let s=Schema::new(raw.clone());
    let good=json!({"path":"src/main.rs","offset":1,"limit":200});
    let bad=json!({"path":"src/main.rs","offset":"1","limit":"200","Mode":"FAST"});
    let text=good.to_string();
    time("parse strict",200000,||parse_arguments(&text).unwrap());
    let sloppy=format!("{},}}",&text[..text.len()-1]);
    time("parse sloppy",200000,||parse_arguments(&sloppy).unwrap());
    time("clone",200000,||good.clone());
    time("coerce valid (with clone)",200000,||coerce(&s,good.clone(),&[("file_path","path")]));
    time("check valid",200000,||s.check(&good));
    time("coerce bad (with clone)",50000,||coerce(&s,bad.clone(),&[]));
    time("check bad",50000,||s.check(&bad));
    time("example",20000,||s.example(&bad));
    time("compile",2000,||{let s=Schema::new(raw.clone()); s.compile().unwrap();});
    time("compile+coerce bad",1000,||{let s=Schema::new(raw.clone()); coerce(&s,bad.clone(),&[])});
    for d in Dialect::ALL { time(d.name(),5000,||translate(&raw,d)); }
    time("tidy",5000,||tidy(raw.clone()));
    let arr=Schema::new(json!({"type":"array","items":{"type":"integer"}}));
    let mut v:Vec<Value>=vec![json!(1);1_000_000]; v[500_000]=json!("2"); let v=Value::Array(v);
    time("million one bad",3,||coerce(&arr,v.clone(),&[]));
    let v=Value::Array(vec![json!("1");1_000_000]);
    time("million all bad",2,||coerce(&arr,v.clone(),&[]));
    let bad=Value::Array(vec![json!("x");1_000_000]);
    time("check million bad",2,||arr.check(&bad));
    let big=format!("{{'a':'{}'}}","x\\n".repeat(17<<20));
    time("repair 50MB",2,||parse_arguments(&big).unwrap());
    let names:Vec<String>=(0..10000).map(|i|format!("mcp__server{}__tool_{}",i%50,i)).collect();
    time("nearest 10k",20,||nearest("mcp__server3__tol_77",names.iter().map(|s|s.as_str()),0.7).map(|s|s.to_owned()));
}
