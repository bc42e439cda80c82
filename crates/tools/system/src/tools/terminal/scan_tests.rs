use super::find_sudos;

/// The command with a mark in front of every sudo that was found.
fn marked(command: &str) -> Option<String> {
    let mut text = command.to_owned();
    for at in find_sudos(command)?.into_iter().rev() {
        text.insert(at, '@');
    }
    Some(text)
}

#[test]
fn sudo_is_found_where_a_command_begins() {
    for text in [
        "@sudo ls",
        "A=1 B='x y' @sudo -E ls",
        "a; @sudo b && @sudo c || @sudo d | @sudo e & @sudo f",
        "if @sudo a; then @sudo b; else @sudo c; fi",
        "for x in sudo b; do @sudo $x; done",
        "(@sudo a) && { @sudo b; }",
        "echo \"$(@sudo cat /etc/x)\" `@sudo b`",
        "! @sudo a",
        "time @sudo a",
        "@sudo tee /x >/dev/null <<< hi",
        "2>/dev/null @sudo a",
        "cat <<EOF | @sudo tee x\nsudo is text\nEOF\n@sudo b",
        "cat <<-'EOF'\n\tsudo a\n\tEOF\n@sudo b",
        "case $x in sudo) @sudo a;; esac",
        "/usr/bin/echo a\n@/usr/bin/sudo b",
        "f() { @sudo a; }",
        "diff <(@sudo a) <(b)",
        "echo $((1 + 2)); @sudo b",
        "echo ${x:-y}; @sudo b",
        "a=(sudo b); @sudo c",
        "a \\\n  sudo b",
        "# sudo a\n@sudo b",
        "echo ünïcode 'sudo a'; @sudo b",
        "a &>/dev/null sudo; @sudo b",
    ] {
        let command = text.replace('@', "");
        assert_eq!(marked(&command).as_deref(), Some(text), "{command}");
    }
}

#[test]
fn what_is_no_command_stays() {
    for text in [
        "echo sudo ls",
        "echo 'a; sudo b'",
        "echo \"a; sudo b\"",
        "apt install sudo",
        "man sudo ",
        "which sudo && true",
        "ls >sudo x",
        "echo a#; echo x # ; sudo b",
        "echo $'it\\'s; sudo b'",
        "sudo -S ls",
        "sudo -n true",
        "sudo -A ls",
        "sudo --non-interactive ls",
        "sudo",
        "visudo -c",
        "\\sudo ls",
    ] {
        assert_eq!(marked(text).as_deref(), Some(text));
    }
}

#[test]
fn what_cannot_be_followed_is_left_alone() {
    for text in ["echo 'sudo a", "sudo a \"", "(sudo a", "cat <<E\nsudo a", "echo ${x:-$(sudo a)}"]
    {
        assert_eq!(marked(text), None, "{text}");
    }
    let deep = format!("{}sudo a", "$(".repeat(5000));
    assert_eq!(marked(&deep), None);
}

#[test]
fn a_letter_in_the_value_of_a_sudo_option_is_not_an_option() {
    for text in [
        "@sudo -ujohn ls",
        "@sudo -u john ls",
        "@sudo -Eu nina ls",
        "@sudo --user nina ls",
        "@sudo -hHOST ls",
        "@sudo -p 'a -n b' ls",
        "@sudo -u john;ls -n",
        "@sudo A=1 ls -n",
        "@sudo -- ls -n",
    ] {
        assert_eq!(marked(&text.replace('@', "")).as_deref(), Some(text), "{text}");
    }
}

#[test]
fn a_sudo_option_after_the_value_of_another_counts() {
    for text in ["sudo -u john -n ls", "sudo --user=john -S ls", "sudo -En ls", "sudo A=1 -n ls"] {
        assert_eq!(marked(text).as_deref(), Some(text));
    }
}
