//! Programs known by name that need no analysis of their own: their effects on
//! files follow from their kind, their operands and the options that name a
//! target. A program in no table of this directory counts as unknown.

use std::sync::LazyLock;

use crate::static_names::StaticNameMap;

/// What programs of a kind do with their operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KnownProgramKind {
    /// Reads its operands and changes nothing.
    ReadsOnly,
    /// Works on the project: builds, tests, checks, formats. It runs only code
    /// of the project.
    BuildsProject,
    /// Reads the first operands and writes the last.
    Converts,
    /// Changes its operands.
    EditsInPlace,
    /// Queries other hosts.
    QueriesNetwork,
}

/// Program names by kind, separated by spaces.
const PROGRAMS_BY_KIND: &[(KnownProgramKind, &str)] = &[
    // Core utilities.
    (
        KnownProgramKind::ReadsOnly,
        "arch b2sum b3sum blake2 blake3 cal ncal colrm col colcrt crc32 csplit dd_rescue dir \
         dircolors egrep fgrep envsubst expand factor fold getopt hd hexdump head hostid \
         isutf8 join jot look lsd exa ll la l leave locale localedef logname ls md5 md5deep \
         sha1deep sha256deep sha1 sha256 sha512 xxhsum xxh64sum xxh128sum nl nproc numfmt od \
         pathchk paste pg pr printenv ptx pwd rev seq sha3sum shuf sleep strings sum tac tail \
         tsort tty ul unexpand uniq units users vdir wc whereis which who whoami yes zcmp \
         zdiff bzcmp bzdiff bzgrep bzless bzmore xzcmp xzdiff xzgrep xzless zstdgrep zstdless \
         lzcat lzgrep zegrep zfgrep zmore zipinfo zipgrep zipnote lsar unrar-free rargrep \
         errno uuidgen uuid mcookie cksum dateutils.ddiff dateadd datediff dconv gdate ghead \
         gtail gcut gtr gwc gls gcat gstat gseq gshuf gnproc greadlink grealpath gecho \
         gprintf gbasename gdirname gmd5sum gsha256sum gdf gpaste gjoin gcomm guniq gexpr \
         gfactor gnumfmt gfold gfmt gtac gnl god ascii unicode uconv cut fmt caller alias \
         typeset let getopts hash tabs type whatis apropos dirs jobs times rgrep lessecho",
    ),
    // Viewers for text, tables and documents.
    (
        KnownProgramKind::ReadsOnly,
        "csvcut csvlook csvstat csvgrep csvsort csvjoin csvstack csvjson csvformat csvclean \
         in2csv xsv qsv xan tsv-select tsv-filter tsv-summarize tsv-pretty datamash mlr \
         miller gron fx jless jid jc jo jp jpath jaq gojq jsonpp json_pp json_xs jsonschema \
         check-jsonschema ajv xpath xidel pup htmlq hxselect tq dasel yamllint parquet-schema \
         parquet-meta tad cloc tokei scc sloccount gocloc loc onefetch difft difftastic wdiff \
         dwdiff delta diff-so-fancy icdiff interdiff filterdiff lsdiff splitdiff diffstat \
         dyff json-diff jd colordiff cdiff ydiff ansi2txt lolcat boxes figlet toilet cowsay \
         cowthink fortune sl cmatrix pipes.sh banner lsb_release lsinitramfs pygmentize \
         chroma bat batcat glow mdcat mdless pdfinfo pdffonts pdfgrep identify mediainfo \
         ffprobe soxi mp3info ogginfo pngcheck webpinfo exif tiffinfo tiffdump vale antiword \
         catdoc catppt xls2csv odt2txt unrtf detex texcount wordcount readability style \
         diction trans translate-shell dict sdcv wn tldr cheat cht.sh eg howdoi bro man \
         apropos info pinfo whatis perldoc pydoc pydoc3 ri godoc docz lychee linkchecker \
         markdown-link-check mlc awesome_bot",
    ),
    // Information about the system, its processes, hardware and logs.
    (
        KnownProgramKind::ReadsOnly,
        "uptime w last lastb lastlog lscpu lsmem lsblk lspci lsusb lshw lsscsi lsmod lsns \
         lsipc lslocks lslogins lsof lsattr lsdev lsirq lsfd hwinfo inxi dmidecode biosdecode \
         modinfo free vmstat iostat mpstat pidstat sar sadf nfsiostat cifsiostat tapestat ps \
         pgrep pidof pstree pmap pwdx top htop btop bpytop atop glances gotop ytop zenith \
         bottom btm procs nvtop radeontop intel_gpu_top iotop bmon nload vnstat dstat dool \
         collectl nmon tload nvidia-smi rocm-smi nvidia-debugdump clinfo vulkaninfo glxinfo \
         vainfo vdpauinfo eglinfo xdpyinfo xwininfo xlsclients xprop xev sensors acpi df du \
         duf dust dutree pydf findmnt hddtemp quota repquota getfacl getfattr getcap getconf \
         getent namei locale fc-list fc-match fc-query fc-scan fc-cat uname hostid sw_vers \
         system_profiler vm_stat ioreg mdls mdfind lastcomm ac journalctl dmesg \
         systemd-analyze systemd-cgls systemd-cgtop systemd-path systemd-delta \
         systemd-detect-virt systemd-escape systemd-id128 ausearch aureport sestatus \
         getenforce getsebool aa-status rpmquery dpkg-query dpkg-architecture \
         dpkg-parsechangelog apt-cache apt-listchanges apt-rdepends apt-show-versions \
         deborphan debsums checkrestart repoquery pkgfile pactree paclist expac equery eix \
         qlist xbps-query pkg_info lsb_release neofetch fastfetch screenfetch pfetch macchina \
         cpufetch cpuid x86info turbostat lstopo hwloc-ls likwid-topology goaccess ccze \
         angle-grinder agrind humanlog pino-pretty tailspin tspin logcli sinfo squeue sacct \
         sprio sshare qstat qhost bjobs bhosts condor_q condor_status module ml lmod showq \
         iwconfig iwlist iwgetid wl-paste pbpaste latexdiff aapt aapt2 apkanalyzer",
    ),
    // Network queries.
    (
        KnownProgramKind::QueriesNetwork,
        "ping ping6 fping arping dig drill kdig doggo dog nslookup host delv whois rdap \
         traceroute traceroute6 tracepath tracert mtr trip trippy tcptraceroute speedtest \
         speedtest-cli fast librespeed-cli iperf iperf3 geoiplookup ipcalc sipcalc subnetcalc \
         netmask prips testssl testssl.sh sslscan certigo resolvectl systemd-resolve ntpq \
         yt-dlp youtube-dl gallery-dl streamlink you-get lux tldextract snmpwalk snmpget \
         avahi-browse dns-sd zonecheck ab wrk wrk2 hey bombardier vegeta oha siege autocannon \
         k6 drill.sh httpstat httping grpcurl grpc_cli",
    ),
    (KnownProgramKind::ReadsOnly, "netstat ss ifstat nstat mii-tool nettop ipcs lsnet"),
    // Compilers, assemblers, linkers and binary inspection tools.
    (
        KnownProgramKind::BuildsProject,
        "gcc g++ cc c++ c89 c99 clang clang++ clang-cl cpp gfortran flang ifort ifx icc icx \
         icpx nvcc hipcc tcc pcc chibicc lcc zig zls nasm yasm fasm as gas ld gold lld ld.lld \
         ld.gold mold ar ranlib nm objdump objcopy readelf elfedit size strip addr2line \
         c++filt dlltool windres llvm-ar llvm-nm llvm-objdump llvm-readelf llvm-cov \
         llvm-profdata llvm-config llvm-mca llvm-dis llvm-as llvm-link llvm-strip \
         llvm-symbolizer llvm-size llc opt lli dsymutil otool install_name_tool lipo nmedit \
         dwarfdump pahole bloaty dwz rustc rustdoc rustfmt rust-analyzer clippy-driver miri \
         javac javap javadoc jar jdeps jlink jpackage jmod jps jstat jstack jmap jinfo \
         kotlinc kotlinc-js kotlinc-native scalac scaladoc scalafmt scalafix groovyc ghc-pkg \
         ghcid haddock hoogle hlint ormolu fourmolu stylish-haskell brittany happy alex \
         hsc2hs ocamlc ocamlopt ocamlfind ocamldep ocamlformat ocamllsp dune esy js_of_ocaml \
         mlton polyc fsharpc fsc csc mcs gmcs swiftc swiftformat swiftlint sourcekit-lsp \
         xcodebuild xcbeautify xcpretty actool ibtool dub dmd ldc2 gdc shards nim nimble \
         nimpretty v vls odin c3c hare haredoc gleam elm elm-format elm-test elm-review purs \
         spago psc erlc elixirc mixfmt rebar idris idris2 agda coqc lean lake tlc2 tlc sany \
         apalache-mc dafny boogie why3 frama-c cbmc z3 cvc4 cvc5 yices minisat glucose \
         cadical kissat minizinc fpc lazbuild gnatmake gprbuild gnat cobc gm2 yosys \
         nextpnr-ice40 nextpnr-ecp5 icepack iverilog vvp verilator ghdl vhdl-tool \
         verible-verilog-lint verible-verilog-format svlint gtkwave arduino-cli idf.py dtc papermill platformio \
         pio west avr-gcc avr-g++ avr-objcopy avr-size gmx gmx_mpi emcc em++ emar wasm-pack wasm-opt \
         wasm-bindgen wasm2wat wat2wasm wasm-objdump wasm-strip wasm-tools wit-bindgen asc \
         solc vyper slither tsc tsserver flow babel swc esbuild rollup vite webpack \
         webpack-cli rspack rsbuild parcel snowpack microbundle tsup unbuild ncc pkg bili \
         ts-json-schema-generator typedoc api-extractor bison yacc byacc flex lex re2c ragel \
         antlr4 antlr peg leg gperf swig cython cythonize f2py sip protoc buf \
         grpc_tools_node_protoc thrift flatc capnp capnpc avro-tools avrogen asn1c \
         openapi-generator openapi-generator-cli swagger-cli redocly spectral oapi-codegen \
         graphql-codegen gqlgen wire mockgen mockery stringer sqlc ent bindgen cbindgen \
         diesel_ext cxxbridge uniffi-bindgen moc uic rcc qmake qmake6 lrelease lupdate \
         glib-compile-resources glib-compile-schemas blueprint-compiler msgfmt msgmerge \
         xgettext msginit msgcat i18next formatjs lingui pybabel",
    ),
    // Build systems and their generators.
    (
        KnownProgramKind::BuildsProject,
        "ninja samu scons waf tup redo b2 bjam premake4 premake5 xmake gn gyp buck buck2 \
         pants please plz mage autoconf automake autoreconf autoheader aclocal autoscan \
         autopoint autoupdate libtool libtoolize ifnames gettextize intltoolize gtkdocize \
         cmake-format cmake-lint ctest cpack meson muon mesonlsp hunter pkg-config pkgconf \
         pkg-config-lite sphinx-build sphinx-apidoc sphinx-quickstart mdbook doxygen zola \
         eleventy vuepress pelican nikola antora honkit gitbook bookdown quarto asciidoctor \
         asciidoctor-pdf asciidoc a2x rst2html rst2html5 rst2latex rst2man rst2pdf docutils \
         help2man ronn scdoc mandoc xmlto dblatex fop latex pdflatex xelatex lualatex \
         tectonic context bibtex biber biblatex makeindex xindy makeglossaries texindy dvips \
         dvipdf dvisvgm pdfcrop typst latexindent kpsewhich texdoc snakemake cwltool \
         compiledb include-what-you-use iwyu_tool cppcheck cpplint clang-format clang-tidy \
         clangd clang-check clang-apply-replacements clang-include-fixer infer flawfinder \
         splint sparse coccinelle spatch uncrustify astyle indent gindent bcpp cflow cscope \
         gtags global ctags etags universal-ctags lcov gcov gcovr genhtml gprof \
         callgrind_annotate cg_annotate ms_print hotspot massif-visualizer \
         stackcollapse-perf.pl flamegraph.pl inferno-flamegraph inferno-collapse-perf \
         autopep8 yapf black isort ruff flake8 pylint pyflakes pycodestyle pydocstyle mypy \
         dmypy pyright basedpyright pytype bandit vulture radon xenon mccabe pyupgrade \
         autoflake docformatter darglint interrogate pytest py.test nose2 nosetests green \
         coverage coverage3 behave robot lettuce hypothesis pip-compile pip-sync pipdeptree \
         pip-licenses deptry pyroma check-manifest check-wheel-contents auditwheel delvewheel \
         bumpversion bump2version bump-my-version towncrier cz commitizen commitlint \
         pyreverse stubgen stubtest pybind11-stubgen nbqa nbstripout jupytext",
    ),
    // Tools of JavaScript, PHP, Ruby and other languages.
    (
        KnownProgramKind::BuildsProject,
        "eslint eslint_d prettier prettierd stylelint biome oxlint rome standard xo tslint \
         jshint jslint htmlhint html-validate markdownlint markdownlint-cli2 remark jest \
         vitest mocha ava tap tape jasmine karma qunit uvu c8 nyc istanbul cypress playwright \
         testcafe nightwatch wdio webdriver-manager lighthouse pa11y axe backstop storybook \
         start-storybook build-storybook sb nest next nuxt nuxi astro remix svelte-check \
         svelte-kit vue vue-cli-service vue-tsc react-scripts craco gatsby ember react-native \
         quasar stencil lit-analyzer polymer tsx ts-node tsc-watch tsd nx turbo moon wireit \
         wsrun npm-run-all npm-run-all2 run-s run-p mkdirp copyfiles ncp sass node-sass lessc \
         stylus postcss tailwindcss unocss windicss purgecss csso cleancss uglifyjs terser \
         html-minifier html-minifier-terser svgo imagemin sharp-cli depcheck knip madge \
         dependency-cruise depcruise size-limit bundlesize source-map-explorer \
         webpack-bundle-analyzer license-checker npm-check npm-check-updates ncu publint attw \
         arethetypeswrong syncpack manypkg plop hygen lint-staged commitizen git-cz \
         conventional-changelog auto-changelog standard-version patch-package node-gyp \
         node-pre-gyp prebuildify swagger-jsdoc jsdoc documentation esdoc phpunit pest \
         phpstan psalm phpcs phpcbf php-cs-fixer phpmd phan rector infection deptrac paratest \
         codecept behat phpbench pint twigcs rspec rubocop standardrb reek brakeman fasterer \
         minitest cucumber yard sdoc steep srb sorbet tapioca rbs typeprof erblint haml-lint \
         slim-lint bundler-audit solargraph ruby-lsp credo dialyzer dialyxir luacheck stylua \
         selene busted moonc tl fennel perltidy perlcritic prove cover podchecker pod2text \
         pod2man pod2html gofmt gofumpt goimports golangci-lint golint staticcheck gosec \
         revive errcheck ineffassign gotestsum gotests richgo gocov gocyclo deadcode nilaway \
         govulncheck gopls benchstat ginkgo gomarkdoc swag templ ktlint ktfmt detekt \
         checkstyle pmd spotbugs google-java-format errorprone palantir-java-format cljfmt \
         clj-kondo joker cljstyle eastwood kibit dotnet-format csharpier fantomas \
         nunit3-console xunit.console vstest.console reportgenerator shellcheck shfmt bashate \
         checkbashisms bats shellspec hadolint dockle actionlint zizmor tflint tfsec \
         terrascan checkov terraform-docs kube-linter kubeval kubeconform kube-score kubesec \
         conftest opa regal cue jsonnet jsonnetfmt jsonnet-lint nickel dhall dhall-to-json \
         dhall-to-yaml ytt kustomize helm-docs ct cfn-lint cfn_nag cfn-guard ansible-lint \
         yamlfmt yamlfix taplo dprint treefmt editorconfig-checker ec eclint nixfmt \
         nixpkgs-fmt alejandra statix deadnix nix-tree sqlfluff sqlfmt pg_format sqlformat \
         pgsanity squawk promtool amtool mixtool grype syft cdxgen license-eye reuse \
         addlicense licensee gitleaks trufflehog detect-secrets git-secrets osv-scanner \
         dependency-check git-cliff gitlint committed convco protolint vacuum redoc-cli dart \
         dartfmt dartanalyzer swiftgen sourcery xcodegen jazzy rswift gdformat gdlint",
    ),
    // Converters for images, audio, maps and genomes.
    (
        KnownProgramKind::Converts,
        "pdftotext ffmpeg convert magick montage composite conjure gm sox lame oggenc oggdec \
         opusenc opusdec gif2webp img2webp webpmux avifenc avifdec heif-convert cjxl djxl \
         cjpeg djpeg jpegtran gifsicle cairosvg svg2png pdftoppm pdftocairo pdftohtml \
         pdfimages pdfseparate pdfunite ps2pdf pdf2ps pdf2svg eps2eps epstopdf img2pdf \
         tesseract wkhtmltopdf wkhtmltoimage weasyprint xls2xlsx csv2parquet parquet2csv \
         json2yaml yaml2json toml2json json2toml yaml2toml saxon d2 ditaa blockdiag seqdiag \
         nomnoml graph-easy fig2dev autotrace potrace icns2png png2icns icotool wrestool \
         qrencode barcode ebook-convert gdal_translate gdalwarp gdaladdo gdaldem ogr2ogr gdalbuildvrt \
         osmosis tippecanoe topojson geo2topo ncgen nccopy h5repack obabel meshlabserver \
         slic3r assimp gltfpack gltf-transform obj2gltf ttx pyftsubset woff2_compress \
         woff2_decompress xxd uuencode uudecode recode enca enconv uconv native2ascii",
    ),
    (
        KnownProgramKind::EditsInPlace,
        "dos2unix unix2dos mac2unix fromdos todos mogrify pngquant optipng oxipng zopflipng \
         pngcrush jpegoptim mozjpeg advpng advdef rename prename perl-rename detox exiv2 \
         jhead id3v2 eyeD3 mid3v2 metaflac vorbiscomment tag xattr fallocate msgattrib sponge \
         patchelf chrpath micro nano pico joe jed ne mg kak helix hx code codium subl mate \
         atom gedit kate geany kwrite zed cursor idea pycharm webstorm goland clion rider \
         fleet",
    ),
    // Tools that stay within a project.
    (
        KnownProgramKind::BuildsProject,
        "sd xmlstarlet xml tidy tomlq xq csvsql semgrep comby ast-grep sg codespell typos \
         misspell cspell textlint jsonlint exiftool vd visidata sc-im rhash ncdu gdu dua \
         multitail lnav highlight source-highlight avro-tools orc-tools parquet-tools \
         languagetool proselint alex write-good chktex lacheck apt-file numastat pidwait \
         conntrack tox nox java javaw jcmd erb ghc groff troff nroff gs ghostscript latexmk \
         aspell hunspell ispell pwgen trunk trivy nodemon gdalinfo ogrinfo ncdump ncks cdo \
         h5dump h5ls grib_ls grib_dump wgrib2 fitsheader samtools bcftools bedtools tabix \
         vcftools picard fastqc multiqc fastp seqkit seqtk bwa bowtie2 hisat2 minimap2 STAR \
         salmon kallisto featureCounts blastn blastp makeblastdb muscle mafft clustalo \
         hmmsearch iqtree raxml fasttree zbarimg pdftk qpdf proj cs2cs osmium mapshaper \
         otfinfo hb-view html2text html2md markdown markdown_py kramdown redcarpet cmark \
         cmark-gfm multimarkdown pandoc dot neato fdp sfdp twopi circo osage patchwork \
         plantuml mmdc espeak espeak-ng ocrmypdf mpg123 rsvg-convert cwebp dwebp trimmomatic \
         cutadapt asy mpost flac openscad bgzip xsltproc fzf sk peco percol gum fzy zoxide z \
         autojump fasd broot git-absorb git-branchless git-town git-flow git-revise gitmoji \
         onefetch gource tokei poop time dotenv-linter inotifywait inotifywatch fswatch \
         xdg-user-dir inkscape binwalk desktop-file-validate appstreamcli appstream-util pv progress tqdm say \
         beep zipdetails stat sqlite-utils sqldiff sqlite3_analyzer tensorboard nvprof nsys \
         ncu nvdisasm cuobjdump compute-sanitizer rocprof maxima gp gap units bc qalc calc \
         concalc genius fend numbat datefudge remind when calcurse khal todo.sh task \
         taskwarrior timew ledger hledger beancount bean-check bean-report bean-query wl-copy \
         pbcopy xclip xsel clip termdown tty-clock notify-send terminal-notifier osd_cat \
         zenity kdialog yad whiptail dialog",
    ),
];

static KINDS_BY_NAME: LazyLock<StaticNameMap<KnownProgramKind>> = LazyLock::new(|| {
    let entries = PROGRAMS_BY_KIND
        .iter()
        .flat_map(|(kind, names)| names.split_whitespace().map(move |name| (name, *kind)));
    let mut kinds = StaticNameMap::with_capacity_and_hasher(2048, Default::default());
    // The first entry for a name wins.
    entries.for_each(|(name, kind)| {
        kinds.entry(name).or_insert(kind);
    });
    kinds
});

/// The kind of a known program. `gcc-13` counts as `gcc`.
pub(super) fn program_kind(program: &str) -> Option<KnownProgramKind> {
    KINDS_BY_NAME.get(program).or_else(|| KINDS_BY_NAME.get(without_version(program)?)).copied()
}

/// Strips a version or target: `gcc` for `gcc-13`, `clang` for `clang-17.0`,
/// `nm` for `x86_64-linux-gnu-nm`.
pub(super) fn without_version(program: &str) -> Option<&str> {
    let cut = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let cut = cut.strip_suffix('-').unwrap_or(cut);
    if cut.len() < program.len() && !cut.is_empty() {
        return Some(cut);
    }
    if !program.contains('-') {
        return None;
    }
    let target = [
        "-linux-gnu-",
        "-linux-gnueabi-",
        "-linux-gnueabihf-",
        "-linux-musl-",
        "-w64-mingw32-",
        "-none-eabi-",
        "-elf-",
    ];
    target.iter().find_map(|mark| program.split_once(mark).map(|(_, tool)| tool))
}

#[cfg(test)]
#[path = "known_programs_tests.rs"]
mod tests;
