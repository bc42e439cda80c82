use super::*;

fn dangerous(language: &str, code: &str) -> Vec<&'static str> {
    let found = dangerous_code(language, code, &WorkingDir::new("/ws", None));
    found.into_iter().map(|found| found.category).collect()
}

#[test]
fn what_deletes_a_tree_is_found_in_code() {
    for (language, code) in [
        ("python", "import shutil; shutil.rmtree(\"src\")"),
        ("python", "from shutil import rmtree as r\nr('src')"),
        ("python", "import os; os.system(\"rm -rf src\")"),
        ("python", "import subprocess\nsubprocess.run(['rm', '-rf', 'src'], check=True)"),
        ("python", "import subprocess\nsubprocess.run('''cd x &&\nrm -r src''', shell=True)"),
        ("javascript", "require('fs').rmSync('src', {recursive: true})"),
        ("javascript", "execSync(`rm -rf ${folder}`)"),
        ("typescript", "spawnSync('rm', ['-rf', 'src'])"),
    ] {
        assert!(dangerous(language, code).contains(&"recursive-delete"), "{code}");
    }
    let lost = dangerous("python", "import os; os.system('git reset --hard')");
    assert!(!lost.is_empty());
    assert_eq!(dangerous("sql", "create table a(b);\ndrop table users"), ["sql-loss"]);
    assert_eq!(dangerous("sql", "delete from users"), ["sql-loss"]);
}

#[test]
fn ordinary_code_is_not_dangerous() {
    for (language, code) in [
        ("python", "print(sum(range(10)))"),
        ("python", "# shutil.rmtree('src')\nprint('rm -rf src')"),
        ("python", "import subprocess\nprint(subprocess.run(['ls', '-la'], text=True).stdout)"),
        ("python", "from hermes_tools import terminal\nprint(terminal(command='git status'))"),
        ("python", "import os\nos.remove('a.txt')\nopen('b', 'w').write(\"it's done; really\")"),
        ("python", "import pandas as pd\ndf = pd.read_csv('a.csv')\nprint(df.groupby('x').sum())"),
        ("javascript", "// rmSync\nconst q = `hello ${name}`; console.log(q)"),
        ("javascript", "import fs from 'fs'; fs.rmSync('one.txt'); /* recursive */"),
        ("sql", "select * from users where name = 'drop table users'"),
        ("sql", "insert into a values (1); delete from a where b = 2"),
        ("bash", "rm -rf x"),
    ] {
        assert_eq!(dangerous(language, code), [""; 0], "{code}");
    }
}

#[test]
fn no_code_is_too_odd() {
    for code in ["'", "\"\"\"", "'\\", "`${", "/*", "#", "\\", "é'ß\"🙂", "[[[,,,'a','b'"] {
        for language in ["python", "javascript", "sql"] {
            dangerous(language, code);
        }
    }
}
