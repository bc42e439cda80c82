//! Languages whose code is checked by its calls: known computing and printing
//! functions are fine, any other needs approval.

use super::code_check::CodeLanguage;

/// Maximum length of checked code in these languages.
const MAX_CODE_BYTES: usize = 16 * 1024;

/// PHP functions, and the keywords that may precede a parenthesis.
const SAFE_PHP_CALLS: &str = "echo print if elseif else for foreach while switch match return and or not xor \
    function fn array list isset empty unset use exit die catch printf sprintf number_format \
    var_dump var_export print_r strlen str_repeat strtoupper strtolower ucfirst ucwords trim ltrim \
    rtrim implode explode join str_replace substr strpos strrev str_pad str_split mb_strlen \
    mb_substr count sizeof range array_sum array_product array_keys array_values array_merge \
    array_reverse array_unique array_slice array_combine array_flip in_array sort rsort ksort min \
    max abs floor ceil round sqrt pow intdiv fmod pi rand mt_rand random_int date time microtime \
    mktime strtotime checkdate gettype is_int is_string is_array is_numeric is_null intval floatval \
    strval boolval json_encode json_decode md5 sha1 crc32 hash bin2hex uniqid phpversion php_uname \
    memory_get_usage php_sapi_name extension_loaded get_loaded_extensions function_exists \
    class_exists version_compare preg_match preg_match_all preg_split preg_quote nl2br \
    htmlspecialchars urlencode rawurlencode http_build_query base64_encode serialize ord wordwrap \
    similar_text levenshtein soundex metaphone usleep sleep file_exists is_file is_dir filesize \
    filemtime basename dirname pathinfo getcwd realpath DateTime DateTimeImmutable DateInterval \
    format modify diff PHP_EOL";
const SAFE_JULIA_CALLS: &str = "println print show display string sum prod maximum minimum length size sort \
    sort! map filter reduce collect range rand randn zeros ones sqrt abs floor ceil round exp log \
    sin cos tan typeof eltype push! pop! append! join split replace uppercase lowercase strip parse \
    Int Float64 String Dict Set Array Vector Matrix VersionInfo versioninfo isempty keys values \
    haskey get zip enumerate reverse unique count any all div mod rem gcd lcm isprime factorial \
    binomial mean median std var Pkg.status Pkg.test Pkg.instantiate Pkg.precompile if for while function return and inv det transpose \
    reshape hcat vcat repeat first last findall findfirst occursin startswith endswith BigInt \
    BigFloat big string rationalize Complex Rational";
const SAFE_R_CALLS: &str = "print cat summary head tail mean median sd var sum prod min max range length nrow \
    ncol dim names colnames rownames c list data.frame matrix vector seq seq_len rep rev sort order \
    unique table paste paste0 sprintf format round floor ceiling sqrt exp log abs is.na nchar \
    toupper tolower substr gsub sub grepl strsplit sapply lapply vapply apply mapply if for while \
    function return str class typeof sessionInfo R.version packageVersion installed.packages lm \
    anova t.test quantile cor rnorm runif sample set.seed as.numeric as.integer as.character factor \
    levels which any all cumsum diff stopifnot message invisible nlevels Sys.time Sys.Date library \
    suppressMessages rowSums colSums rowMeans colMeans subset with aggregate merge do is.null \
    devtools::test devtools::check devtools::document devtools::load_all testthat::test_dir \
    rmarkdown::render ggsave qplot ggplot aes geom_point geom_line geom_bar geom_histogram labs";
const SAFE_LUA_CALLS: &str = "print tostring tonumber type pairs ipairs select unpack table.concat table.insert \
    table.remove table.sort table.unpack string.format string.rep string.len string.sub string.upper \
    string.lower string.gsub string.find string.match string.gmatch string.byte string.reverse \
    math.floor math.ceil math.max math.min math.abs math.sqrt math.random math.pow math.sin math.cos \
    next assert error and or not if while for function return until elseif in";
const SAFE_OCTAVE_CALLS: &str = "disp printf fprintf display num2str mat2str magic zeros ones eye rand randn \
    linspace size length numel sum prod mean median std var max min abs sqrt exp log sin cos tan \
    floor ceil round inv det rank trace transpose reshape sort unique find any all cumsum cumprod \
    mod rem pi e i j Inf NaN end for if else elseif endif endfor while endwhile norm eig kron diag \
    repmat isempty version strcat upper lower strsplit strjoin polyfit polyval roots factorial \
    primes isprime gcd lcm dot cross true false format long short numel fix sign";

/// Elixir modules that only compute. The functions below, of other modules,
/// only print.
const SAFE_ELIXIR_MODULES: &str = "Enum String Integer Float Map List Tuple Keyword MapSet Range Regex Stream \
    Date Time DateTime NaiveDateTime Bitwise Atom Kernel";
const ELIXIR_PRINT_CALLS: &str = "IO.puts IO.inspect IO.write System.version System.otp_release";

/// Functions that read a file, whose path must be a string literal.
const READING_CALLS: &[&str] = &[
    "file_get_contents",
    "readfile",
    "file",
    "parse_ini_file",
    "read",
    "readlines",
    "eachline",
    "readLines",
    "read.csv",
    "read.table",
    "readRDS",
    "scan",
    "fileread",
];

/// Names that act without a following parenthesis: as an argument or statement.
const ACTING_NAMES: &str = "system exec shell_exec passthru popen proc_open eval assert include \
    include_once require require_once create_function extract new run rm mv cp homedir readdir cd \
    ccall unsafe_load Base Meta Core Libc download ENV open write touch mkdir chmod unlink rename \
    do.call match.fun get mget Reduce Recall parse source file.remove Sys.getenv system2 shell os io \
    _G _ENV load loadstring loadfile dofile debug package setmetatable rawget getfenv _SERVER _ENV \
    GLOBALS _GET apply spawn import";

/// The first name in the code that is not known to be harmless.
pub(super) fn first_unknown_call(
    language: CodeLanguage,
    bare: &str,
    strings: &[String],
) -> Option<String> {
    let safe = match language {
        CodeLanguage::Php => SAFE_PHP_CALLS,
        CodeLanguage::Julia => SAFE_JULIA_CALLS,
        CodeLanguage::R => SAFE_R_CALLS,
        CodeLanguage::Lua => SAFE_LUA_CALLS,
        CodeLanguage::Octave => SAFE_OCTAVE_CALLS,
        CodeLanguage::Elixir => return first_unknown_elixir(bare),
        _ => return None,
    };
    let bare = match language {
        CodeLanguage::Php => bare.replace("->", " "),
        CodeLanguage::Lua => bare.replace("io.write(", "print("),
        _ => bare.to_owned(),
    };
    if bare.len() > MAX_CODE_BYTES {
        return Some("a long script".to_owned());
    }
    let listed = |list: &str, name: &str| list.split_whitespace().any(|known| known == name);
    if bare.contains('`') || (language == CodeLanguage::Julia && bare.contains('@')) {
        return Some("`".to_owned());
    }
    let acting = call_names(&bare).find(|name| listed(ACTING_NAMES, name) && !listed(safe, name));
    if let Some(name) = acting {
        return Some(name.to_owned());
    }
    // The name of a function may be passed as a string.
    if let Some(text) =
        strings.iter().find(|text| listed(ACTING_NAMES, text) || is_called_by_name(text))
    {
        return Some(text.clone());
    }
    if language == CodeLanguage::Octave {
        let own =
            |name: &str| bare.contains(&format!("{name}=")) || bare.contains(&format!("{name} ="));
        let strange = call_names(&bare).find(|name| {
            !listed(safe, name) && !READING_CALLS.contains(name) && !own(name) && !is_number(name)
        });
        if let Some(name) = strange {
            return Some(name.to_owned());
        }
    }
    for (at, _) in bare.match_indices('(') {
        let before = bare.get(..at).unwrap_or("").trim_end();
        let name = last_name(before);
        if name.is_empty() {
            if before.ends_with([')', ']', '"', '\'', '}']) && language != CodeLanguage::Octave {
                return Some("a computed call".to_owned());
            }
            continue;
        }
        let variable = before.get(..before.len() - name.len()).unwrap_or("").ends_with('$');
        if variable && language == CodeLanguage::Php {
            return Some("a computed call".to_owned());
        }
        let last = name.rsplit([':', '.']).next().unwrap_or(name);
        let defined =
            bare.contains(&format!("{name} = ")) || bare.contains(&format!("function {name}"));
        if !(listed(safe, name)
            || READING_CALLS.contains(&name)
            || (language == CodeLanguage::R && name.contains("::") && listed(safe, last))
            || defined
            || language == CodeLanguage::Octave)
        {
            return Some(name.to_owned());
        }
    }
    None
}

/// Functions that PHP calls when given their name as a string.
fn is_called_by_name(text: &str) -> bool {
    matches!(text, "unlink" | "rmdir" | "file_get_contents" | "readfile" | "copy" | "rename")
}

fn is_number(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_digit())
}

fn first_unknown_elixir(bare: &str) -> Option<String> {
    if bare.contains('`') || bare.contains("apply") || bare.contains("spawn") {
        return Some("apply".to_owned());
    }
    for name in bare.split(|c: char| !(c.is_alphanumeric() || "_.!?:".contains(c))) {
        let module = name.split('.').next().unwrap_or("");
        let erlang = module.starts_with(':') && name.contains('.');
        let upper = module.starts_with(|c: char| c.is_ascii_uppercase());
        let fine = SAFE_ELIXIR_MODULES.split_whitespace().any(|known| known == module)
            || ELIXIR_PRINT_CALLS.split_whitespace().any(|known| known == name);
        if erlang || (upper && !fine) {
            return Some(name.to_owned());
        }
    }
    let acting = ["import", "alias", "require", "use", "exec", "send", "receive", "Code"];
    call_names(bare).find(|name| acting.contains(name)).map(str::to_owned)
}

fn call_names(bare: &str) -> impl Iterator<Item = &str> {
    bare.split(|c: char| !(c.is_alphanumeric() || "_.!".contains(c)))
        .map(|name| name.trim_matches('.'))
        .filter(|name| !name.is_empty())
        .flat_map(|name| {
            let first = name.split('.').next().filter(|first| *first != name);
            std::iter::once(name).chain(first)
        })
}

/// The name at the end of a piece of code, including its modules.
fn last_name(before: &str) -> &str {
    let cut = before.trim_end_matches('.');
    let start = cut
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_alphanumeric() || "_.:!".contains(*c))
        .last()
        .map_or(cut.len(), |(at, _)| at);
    cut.get(start..).unwrap_or("").trim_start_matches(':')
}

/// How a reading call names its file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileArgument {
    /// A string literal.
    Text(String),
    /// A plain variable.
    Variable,
    /// A computed expression.
    Computed,
}

/// Functions that read a file, in all languages.
const FILE_READER_CALLS: &[&str] = &[
    "open",
    "read_csv",
    "read_json",
    "read_table",
    "read_parquet",
    "read_excel",
    "loadtxt",
    "genfromtxt",
    "fromfile",
    "memmap",
    "readFileSync",
    "readFile",
    "createReadStream",
    "file_get_contents",
    "readfile",
    "file",
    "parse_ini_file",
    "readLines",
    "readlines",
    "read",
    "eachline",
    "fileread",
    "readRDS",
    "read.csv",
    "getline",
    "getlines",
    "copy",
    "highlight_file",
    "copyfile",
];

/// The file argument of every call in the code that reads a file. `places`
/// holds the offset of each string.
pub(super) fn read_arguments(
    bare: &str,
    strings: &[String],
    places: &[usize],
) -> Vec<FileArgument> {
    file_arguments(bare, strings, places, FILE_READER_CALLS)
}

/// Like [`read_arguments`], for calls of these names.
pub(super) fn file_arguments(
    bare: &str,
    strings: &[String],
    places: &[usize],
    names: &[&str],
) -> Vec<FileArgument> {
    let mut found = Vec::new();
    for (at, _) in bare.match_indices('(') {
        let name = last_name(bare.get(..at).unwrap_or(""));
        let last = name.rsplit('.').next().unwrap_or(name);
        if !names.contains(&last) && !names.contains(&name) {
            continue;
        }
        let inside = first_argument(bare.get(at + 1..).unwrap_or(""));
        let shift = inside.len() - inside.trim_start().len();
        let trimmed = inside.trim();
        let begin = at + 1 + shift;
        let text_at =
            |place: usize| places.binary_search(&place).ok().and_then(|index| strings.get(index));
        match trimmed {
            // A method call without a path.
            "" => {}
            "\"\"" | "''" => {
                found.extend(text_at(begin).map(|text| FileArgument::Text(text.clone())));
            }
            _ if matches!(trimmed, "r\"\"" | "r''" | "b\"\"" | "b''") => {
                found.extend(text_at(begin + 1).map(|text| FileArgument::Text(text.clone())));
            }
            _ if trimmed.starts_with(['f', 'F'])
                && trimmed.get(1..).is_some_and(|rest| rest.starts_with(['"', '\''])) =>
            {
                let start = trimmed.get(2..).and_then(|rest| rest.split('{').next()).unwrap_or("");
                found.push(match start.contains('/') && !start.starts_with(['/', '~']) {
                    true => FileArgument::Text(start.to_owned()),
                    false => FileArgument::Computed,
                });
            }
            _ if trimmed.chars().all(|c| c.is_alphanumeric() || "_.[]$".contains(c)) => {
                found.push(FileArgument::Variable);
            }
            _ => match joined_path(trimmed, begin, strings, places) {
                Some(path) => found.push(FileArgument::Text(path)),
                None => found.push(FileArgument::Computed),
            },
        }
    }
    found
}

/// The path that `os.path.join("a", "b")` forms from string literals.
fn joined_path(code: &str, begin: usize, strings: &[String], places: &[usize]) -> Option<String> {
    let inside = code.strip_prefix("os.path.join(").or_else(|| code.strip_prefix("Path("))?;
    let plain = inside.chars().all(|c| "\"', )".contains(c));
    let range = begin..begin + code.len();
    let parts = places.iter().zip(strings).filter(|(place, _)| range.contains(place));
    plain.then(|| parts.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("/"))
}

/// Maximum length of an argument.
const MAX_ARGUMENT_CHARS: usize = 2048;

/// The code up to the comma or bracket that ends the first argument.
fn first_argument(code: &str) -> &str {
    let mut depth = 0i32;
    for (at, c) in code.char_indices().take(MAX_ARGUMENT_CHARS) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return code.get(..at).unwrap_or(""),
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => return code.get(..at).unwrap_or(""),
            _ => {}
        }
    }
    code.get(..code.floor_char_boundary(MAX_ARGUMENT_CHARS)).unwrap_or("")
}

/// Whether the code builds strings or looks up the home directory.
pub(super) fn builds_strings(bare: &str) -> bool {
    const CONCATENATION_SIGNS: &[&str] =
        &["\"+", "+\"", "'+", "+'", "\" +", "+ \"", "' +", "+ '", "${", "[::-1]"];
    const PATH_BUILDING_NAMES: &[&str] = &[
        "expanduser",
        "expandvars",
        "home",
        "homedir",
        "HOME",
        "getenv",
        "chr",
        "decode",
        "reversed",
        "environ",
        "USERPROFILE",
        "fromCharCode",
    ];
    CONCATENATION_SIGNS.iter().any(|sign| bare.contains(sign))
        || bare
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .any(|name| PATH_BUILDING_NAMES.contains(&name))
}
