//! Table of programs with verbs that stay within the project, the user's own
//! programs or the machine.

use super::remote_tool_table::tool;
use super::verb_tools::{ToolDomain, VerbTool};

/// Tools whose known verbs affect only the project or what is installed for the
/// user.
pub(super) const PROJECT_TOOLS: &[VerbTool] = &[
    tool(
        ToolDomain::Network,
        "wasm-pack",
        "-t --target -d --out-dir --out-name -s --scope -m --mode --tag --access",
        "",
        "build test pack new help",
    ),
    tool(ToolDomain::Project, "fastlane", "", "lanes list actions action docs", ""),
    tool(
        ToolDomain::Project,
        "pre-commit lefthook prek",
        "-c --hook-stage --files",
        "validate-config validate-manifest sample-config",
        "run run-all autoupdate gc clean",
    ),
    tool(
        ToolDomain::Project,
        "hg sl",
        "-R --repository -r --rev -l --limit",
        "status st log diff summary sum identify id branches branch heads tip parents tags \
         bookmarks cat annotate blame grep files manifest locate paths showconfig config \
         incoming outgoing version help root verify show smartlog",
        "add commit ci update up checkout merge pull init addremove forget graft rename mv \
         copy cp rebase resolve histedit amend absorb goto",
    ),
    tool(
        ToolDomain::Project,
        "jj",
        "-R -r --repository",
        ". log st status diff show evolog op/log operation/log file/list file/show \
         bookmark/list config/list config/get root version help interdiff tag/list \
         workspace/list branch/list git/remote/list",
        "new commit ci describe desc edit squash split rebase duplicate bookmark/create \
         bookmark/set bookmark/move git/init git/clone git/fetch init undo next prev resolve \
         absorb parallelize fix file/track file/untrack workspace/add",
    ),
    tool(
        ToolDomain::Project,
        "svn",
        "-r -l --revision --limit",
        "status st stat info log diff di list ls cat blame annotate proplist pl propget pg \
         help",
        "update up checkout co add move mv copy cp resolve resolved cleanup switch sw mkdir \
         merge",
    ),
    tool(
        ToolDomain::Project,
        "fossil bzr darcs p4 pijul",
        "",
        "status timeline diff info finfo log whatsnew changes annotate cat ls st extras \
         leaves branch/list opened describe filelog changelist",
        "add commit checkout update co ci addremove record pull edit",
    ),
    tool(
        ToolDomain::Project,
        "pyenv rbenv nodenv goenv jenv phpenv nvm fnm volta n nvs asdf mise rtx sdk jabba \
         tfenv tfswitch tgenv rvm chruby swiftly swiftenv ghcup elan juliaup fvm pkgx proto \
         aqua bob kerl kiex evm dvm gvm g goup ipyenv",
        "",
        ". versions version list ls current which whence root commands prefix ls-remote \
         list-remote where info doctor list/* latest plugin/list plugin-list plugin/list-all \
         settings/get settings config tools outdated bin-paths show releases pin aliases \
         status alias list-all --list",
        "exec run x r task install use local shell default init rehash reshim sync upgrade update flutter dart \
         trust set plugin/add plugin-add alias/set",
    ),
    tool(
        ToolDomain::Project,
        "gpg gpg2 gpgv",
        "--keyring --homedir --recipient -r -u --keyserver",
        "--verify -k --list-keys --list-secret-keys -K --fingerprint --list-packets --check-sigs \
         --list-sigs --list-public-keys --show-keys *.asc *.sig",
        "",
    ),
    tool(
        ToolDomain::Project,
        "flask quart uvicorn gunicorn hypercorn",
        "--app -A --env --bind -b --port --workers -w --host",
        "routes db/history db/current db/heads db/show --check-config",
        "run init-db translate *:*",
    ),
    tool(
        ToolDomain::Machine,
        "ethtool",
        "-s -K -G -C -A -L -X -E -p -r -N -U --change --offload --set-ring --set-channels --flash",
        "eth* en* wl* lo",
        "",
    ),
    tool(ToolDomain::Project, "direnv", "", ". status version", ""),
    tool(ToolDomain::Project, "corepack", "", "", "enable disable prepare use up install"),
    tool(
        ToolDomain::Project,
        "ng nest ionic cap expo eas nativescript ns cordova quasar-cli meteor",
        "--project -c --configuration",
        "version info doctor analytics/info whoami config",
        "build test lint serve generate g e2e new extract-i18n start prebuild sync run export \
         prepare",
    ),
    tool(
        ToolDomain::Project,
        "hugo jekyll mkdocs hexo gatsby docusaurus vitepress vuepress-cli zola-cli \
         eleventy-cli gridsome middleman nanoc bridgetown",
        "-s -d -f --source --destination --baseURL -b -t",
        "list version config env doctor check",
        ". build server serve new generate gen clean develop dev start",
    ),
    tool(
        ToolDomain::Project,
        "ant bazel bazelisk buck buck2 pants gradle-profiler",
        "-f -buildfile",
        "query cquery aquery info version help",
        ". build test coverage run clean fetch compile jar dist javadoc check lint fmt \
         package targets audit mod/graph mod/deps sync print_action dump analyze-profile",
    ),
    tool(
        ToolDomain::Project,
        "perf",
        "-i -F --sort",
        "report list annotate diff evlist buildid-list version sched/latency test config",
        "",
    ),
    tool(
        ToolDomain::Project,
        "jupyter",
        "",
        "nbconvert kernelspec/list --version --paths lab/list server/list notebook/list \
         labextension/list troubleshoot --data-dir --config-dir",
        "",
    ),
    tool(
        ToolDomain::Project,
        "celery",
        "-A --app -b --broker -d --destination",
        "inspect status report list events help",
        "worker beat",
    ),
    tool(
        ToolDomain::Project,
        "django-admin",
        "--settings --pythonpath",
        "check diffsettings findstatic showmigrations sqlmigrate version help",
        "makemessages compilemessages makemigrations startproject startapp test collectstatic",
    ),
    tool(
        ToolDomain::Project,
        "nextflow",
        "-c",
        "info list log view config inspect -version",
        "lint",
    ),
    tool(
        ToolDomain::Project,
        "coredumpctl loginctl hostnamectl-show bootctl networkctl resolvectl-show busctl-show \
         machinectl portablectl journalctl-show homectl userdbctl timedatectl-show oomctl",
        "-n",
        ". list info status show list-sessions list-users show-session show-user list-seats \
         user lldp list-images image-status group services is-installed",
        "",
    ),
    tool(
        ToolDomain::Machine,
        "gsettings dconf xfconf-query kreadconfig5 kreadconfig6",
        "",
        "get list-schemas list-keys list-recursively range describe read list dump writable \
         list-children search",
        "",
    ),
    tool(
        ToolDomain::Machine,
        "resolvectl arp pactl pacmd amixer wpctl playerctl bluetoothctl rfkill upower xinput xset \
         xrandr setxkbmap brightnessctl powerprofilesctl xdg-mime xdg-settings pmset smartctl \
         udevadm udisksctl blkid chronyc tlmgr cpupower tuned-adm",
        "--query",
        ". list info show get status metadata query q devices get-volume inspect -q --query \
         -l --list --prop -print query/default query/filetype check settings -g -a -i -H \
         --scan tracking sources sourcestats search frequency-info idle-info active \
         list-props list/* get-* -A",
        "",
    ),
    tool(
        ToolDomain::Machine,
        "nginx apachectl apache2ctl haproxy caddy traefik sshd named-checkconf \
         named-checkzone varnishd squid postfix unbound-checkconf php-fpm postconf doveconf",
        "-c -f -g -p --config --adapter",
        "configtest fullstatus status validate fmt adapt list-modules build-info environ \
         version check healthcheck -t -T -v -V -c",
        "",
    ),
    tool(ToolDomain::Project, "act", "-W -j -P -s -e", "--list -l -n --dryrun", ""),
    tool(
        ToolDomain::Project,
        "zellij byobu wezterm",
        "",
        "list-sessions ls list-aliases setup ls-fonts show-keys",
        "",
    ),
    tool(
        ToolDomain::Project,
        "spring quarkus mn jbang jhipster",
        "",
        "info version --version list help",
        "build test init",
    ),
    tool(
        ToolDomain::Project,
        "openocd esptool esptool.py st-info st-flash avrdude dfu-util picotool probe-rs \
         cargo-flash",
        "-p --port --chip",
        "version list info image_info --probe --serial --version",
        "",
    ),
    tool(
        ToolDomain::Project,
        "conan vcpkg xrepo cget",
        "-s -o",
        "list search inspect info graph/info profile/show profile/list version config/home \
         cache/path depend-info owns x-history",
        "install profile/detect new build source create",
    ),
];
