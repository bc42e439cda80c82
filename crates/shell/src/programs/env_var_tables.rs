//! Tables of environment variables that change what other programs run.

use std::sync::LazyLock;

use crate::static_names::StaticNameSet;

/// Variables that make a program load or run something, whatever their value.
const LOADER_VARIABLES: &str = "ANSIBLE_ACTION_PLUGINS ANSIBLE_BECOME_PASSWORD_FILE ANSIBLE_CALLBACK_PLUGINS ANSIBLE_CONFIG \
    ANSIBLE_CONNECTION_PASSWORD_FILE ANSIBLE_CONNECTION_PLUGINS ANSIBLE_LIBRARY \
    ANSIBLE_SSH_EXECUTABLE ANSIBLE_VAULT_PASSWORD_FILE AWS_CONFIG_FILE AWS_ENDPOINT_URL \
    AWS_SHARED_CREDENTIALS_FILE AZURE_CONFIG_DIR AZURE_EXTENSION_DIR BASHOPTS BASH_ENV BASH_FUNC \
    BORG_PASSCOMMAND BORG_RSH BUNDLE_GEMFILE CARGO_BUILD_RUSTC \
    CARGO_REGISTRY_GLOBAL_CREDENTIAL_PROVIDERS CCACHE_COMPILER CCACHE_PREFIX CCACHE_PREFIX_CPP \
    CLOUDSDK_CONFIG CLOUDSDK_PYTHON_ARGS CLOUDSDK_PYTHON_SITEPACKAGES CLOUDSDK_ROOT_DIR \
    COMPILER_PATH CONTAINER_HOST CORECLR_ENABLE_PROFILING CORECLR_PROFILER CORECLR_PROFILER_PATH \
    CORECLR_PROFILER_PATH_32 CORECLR_PROFILER_PATH_64 COREPACK_NPM_REGISTRY COR_ENABLE_PROFILING \
    COR_PROFILER COR_PROFILER_PATH COSH_ENV COVERAGE_PROCESS_START CURL_HOME CVS_RSH CVS_SERVER \
    DOCKER_CLI_PLUGIN_EXTRA_DIRS DOCKER_CONFIG DOCKER_CONTEXT DOCKER_HOST DOTNET_ADDITIONAL_DEPS \
    DOTNET_SHARED_STORE DOTNET_STARTUP_HOOKS ELECTRON_RUN_AS_NODE EXINIT FZF_DEFAULT_COMMAND \
    GCC_EXEC_PREFIX GCONV_PATH GH_CONFIG_DIR GIO_EXTRA_MODULES GIT_ALTERNATE_OBJECT_DIRECTORIES \
    GIT_ASKPASS GIT_ATTR_SOURCE GIT_COMMON_DIR GIT_CONFIG_PARAMETERS GIT_EXEC_PATH \
    GIT_EXTERNAL_DIFF GIT_OBJECT_DIRECTORY GIT_PROXY_COMMAND GIT_SSH GIT_SSH_COMMAND \
    GIT_TEMPLATE_DIR GLAB_CONFIG_DIR GLIBC_TUNABLES GNUPGHOME GOCACHEPROG GOINSECURE GONOSUMCHECK \
    GONOSUMDB GOTOOLDIR GROFF_COMMAND_PREFIX GTK_MODULES HELM_CONFIG_HOME HELM_DATA_HOME \
    HELM_PLUGINS HELM_REGISTRY_CONFIG HELM_REPOSITORY_CONFIG HERMES_HOME HEX_MIRROR HGMERGE \
    HGRCPATH HOMEBREW_BOTTLE_DOMAIN HOMEBREW_BREW_GIT_REMOTE INPUTRC JULIA_LOAD_PATH KUBECONFIG \
    KUBECTL_EXTERNAL_DIFF LESSCLOSE LESSKEY LESSKEYIN LESSOPEN LIBMYSQL_PLUGINS \
    LIBMYSQL_PLUGIN_DIR LUA_INIT MAKEFILES MANOPT MANROFFOPT MANROFFSEQ MARIADB_PLUGIN_DIR \
    MAVEN_CONFIG_FILE MYVIMRC NODE_REPL_EXTERNAL_MODULE NPM_CONFIG_REGISTRY \
    NUGET_CREDENTIALPROVIDERS_PATH NUGET_NETCORE_PLUGIN_PATHS NUGET_NETFX_PLUGIN_PATHS \
    NUGET_PLUGIN_PATHS OPENSSL_CONF OPENSSL_ENGINES OPENSSL_MODULES PACKER_CONFIG \
    PACKER_PLUGIN_PATH PASSWORD_STORE_EXTENSIONS_DIR PERL5DB PERL5OPT PERL_CPANM_OPT PHPRC \
    PHP_INI_SCAN_DIR PIP_CONFIG_FILE PIP_EXTRA_INDEX_URL PIP_FIND_LINKS PIP_INDEX_URL \
    PIP_TRUSTED_HOST PKCS11_PROVIDER_MODULE PROMPT_COMMAND PS0 PS4 PSQLRC PYTEST_PLUGINS \
    PYTHONHOME PYTHONINSPECT PYTHONPLATLIBDIR PYTHONSTARTUP QT_PLUGIN_PATH RCLONE_CONFIG \
    RCLONE_METADATA_MAPPER RCLONE_PASSWORD_COMMAND RCLONE_SFTP_SSH RESTIC_PASSWORD_COMMAND \
    RIPGREP_CONFIG_PATH RSYNC_CONNECT_PROG RSYNC_PROXY RSYNC_RSH RUBYOPT RUSTUP_DIST_SERVER \
    RUSTUP_UPDATE_ROOT R_PROFILE SHELLOPTS SSH_ASKPASS SSH_SK_PROVIDER SUDO_ASKPASS SVN_SSH \
    SYSTEM_WGETRC TAR_OPTIONS TERRAFORM_CONFIG TF_CLI_CONFIG_FILE UNZIPOPT UV_DEFAULT_INDEX \
    UV_EXTRA_INDEX_URL UV_INDEX UV_INDEX_URL VIMINIT WGETRC XDG_CONFIG_DIRS XDG_DATA_HOME \
    YARN_NPM_REGISTRY_SERVER YARN_PLUGINS YARN_RC_FILENAME YARN_REGISTRY YARN_YARN_PATH ZDOTDIR \
    ZIPOPT npm_config_registry";

/// [`LOADER_VARIABLES`] as a set.
pub(super) static LOADER_VARIABLE_SET: LazyLock<StaticNameSet> =
    LazyLock::new(|| LOADER_VARIABLES.split_whitespace().collect());

/// Variables that name a program to use.
pub(super) const PROGRAM_VARIABLES: &[&str] = &[
    "BROWSER",
    "SHELL",
    "VISUAL",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC",
    "RUSTDOC",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CARGO",
    "CMAKE_C_COMPILER_LAUNCHER",
    "CMAKE_CXX_COMPILER_LAUNCHER",
    "PYTHONBREAKPOINT",
    "NODE",
    "CONFIG_SHELL",
    "TG_TF_PATH",
    "TERRAGRUNT_TFPATH",
    "HELM_BIN",
];

/// Harmless values of such variables: editors, pagers and other common choices.
pub(super) const HARMLESS_PROGRAMS: &[&str] = &[
    "",
    "0",
    "cat",
    "true",
    ":",
    "less",
    "more",
    "most",
    "bat",
    "vim",
    "vi",
    "nvim",
    "nano",
    "emacs",
    "code",
    "bash",
    "zsh",
    "sh",
    "fish",
    "dash",
    "none",
    "sccache",
    "ccache",
    "clippy-driver",
    "rustc",
    "rustdoc",
    "cargo",
    "node",
    "firefox",
    "chromium",
    "w3m",
    "delta",
    "micro",
    "hx",
    "subl",
    "pspg",
    "ipdb.set_trace",
    "pdb.set_trace",
    "false",
    "terraform",
    "tofu",
    "helm",
];

/// Compilers and other build tools: a plain name or a system path is fine.
pub(super) const BUILD_TOOL_VARIABLES: &[&str] = &[
    "CLOUDSDK_PYTHON",
    "CC",
    "CXX",
    "LD",
    "AR",
    "AS",
    "NM",
    "FC",
    "LINKER",
    "CPP",
    "STRIP",
    "RANLIB",
    "PYTHON",
    "YACC",
    "PIPX_DEFAULT_PYTHON",
];

/// Option variables of runtimes and tools, with the options that run something.
pub(super) const OPTION_VARIABLES: &[(&[&str], &[&str])] = &[
    (
        &[
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "JDK_JAVA_OPTIONS",
            "MAVEN_OPTS",
            "GRADLE_OPTS",
            "SBT_OPTS",
            "JAVA_OPTS",
            "CATALINA_OPTS",
            "ANT_OPTS",
        ],
        &["agent", "OnError", "OnOutOfMemory", "bootclasspath"],
    ),
    (&["NODE_OPTIONS"], &["--require", "-r ", "--import", "--loader", "--experimental-loader"]),
    (&["GOFLAGS"], &["-exec", "-toolexec", "-vettool", "-overlay"]),
    (&["MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS"], &["eval", "-f", "SHELL=", "--file"]),
    (&["FZF_DEFAULT_OPTS"], &["execute", "become", "preview", "reload", "transform"]),
    (&["LESS", "MORE"], &["!", "+"]),
    (&["PS1", "PS2", "RPROMPT"], &["$(", "`"]),
    (
        &["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTDOCFLAGS"],
        &["linker=/tmp", "linker=./", "linker=~"],
    ),
    (
        &["PYTEST_ADDOPTS"],
        &[
            "-p ",
            "--pyargs",
            "-c ",
            "--rootdir",
            "--basetemp=/",
            "--basetemp=.",
            "--basetemp ",
            "-o ",
        ],
    ),
    (
        &[
            "CGO_CFLAGS",
            "CGO_CXXFLAGS",
            "CGO_CPPFLAGS",
            "CGO_FFLAGS",
            "CGO_LDFLAGS",
            "CFLAGS",
            "CXXFLAGS",
            "CPPFLAGS",
            "LDFLAGS",
        ],
        &["-fplugin", "-fuse-ld=/", "-fuse-ld=.", "-wrapper", "-specs", "-B/", "-B.", "--plugin"],
    ),
    (&["shell_escape"], &["t", "y", "1"]),
    (&["openin_any", "openout_any"], &["a", "y", "1"]),
    (
        &["ERL_FLAGS", "ERL_AFLAGS", "ERL_ZFLAGS", "ELIXIR_ERL_OPTIONS"],
        &["-eval", "-run", "-s ", "-pa"],
    ),
    (&["R_PROFILE_USER", "R_ENVIRON_USER", "GDBHISTFILE", "HISTFILE"], &["/."]),
];

/// Variables that list directories to load code from.
pub(super) const SEARCH_PATH_VARIABLES: &[&str] = &[
    "PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "PYTHONPATH",
    "NODE_PATH",
    "PERL5LIB",
    "PERLLIB",
    "RUBYLIB",
    "CLASSPATH",
    "GEM_PATH",
    "GEM_HOME",
    "LUA_PATH",
    "LUA_CPATH",
    "GOROOT",
    "JAVA_HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "PKG_CONFIG_PATH",
];

/// Variables that name a file or directory from which programs load code or
/// settings: fine if it is in the project.
pub(super) const CODE_PLACE_VARIABLES: &[&str] = &[
    "GRADLE_USER_HOME",
    "CMAKE_TOOLCHAIN_FILE",
    "CMAKE_PROJECT_TOP_LEVEL_INCLUDES",
    "JULIA_DEPOT_PATH",
    "JULIA_PROJECT",
    "R_PROFILE_USER",
    "R_ENVIRON_USER",
    "R_LIBS_USER",
    "PYTHONUSERBASE",
    "MAGICK_CONFIGURE_PATH",
    "MAGICK_CODER_MODULE_PATH",
    "TEXMFCNF",
    "TEXMFHOME",
    "TEXINPUTS",
    "GIT_WORK_TREE",
];

/// Variables that name an output file.
pub(super) const OUTPUT_FILE_VARIABLES: &[&str] =
    &["TF_LOG_PATH", "MALLOC_TRACE", "FFREPORT", "GODEBUG_LOG", "KRB5_TRACE"];
