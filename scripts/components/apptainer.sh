#!/usr/bin/env bash
# Apptainer and an image for tests.
#
#   apptainer.sh start DIR   prints `export NAME='value'` lines; exits with 77
#                            and a reason if it is unavailable on this machine
#   apptainer.sh stop DIR    stops what was started; keeps downloads
#
# Uses the system's apptainer or singularity if installed. Otherwise bootstraps a
# minimal Debian in DIR and runs the program in it, in a separate mount
# namespace. The first run takes a few minutes and 700 MB.
set -euo pipefail

skip() {
  echo "skipped: $1" >&2
  exit 77
}

# Prints the package archive that apt uses for this release.
mirror() {
  # shellcheck disable=SC1091
  apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
    awk -v release="$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" \
      '$1 == release { print $2; exit }'
}

install() {
  command -v "$2" >/dev/null && return
  apt-get install -y --no-install-recommends "$1" </dev/null >"$dir/apt.log" 2>&1 ||
    skip "$2 is not installed, and apt cannot install $1"
}

# Bootstraps a Debian with apptainer; a partial one is replaced.
make_debian() {
  [[ -e $dir/debian/.complete ]] && return
  command -v apt-get >/dev/null || skip "apptainer is not installed, and this system has no apt-get"
  ((EUID == 0)) || skip "apptainer is not installed, and bootstrapping it requires root"
  install debootstrap debootstrap
  local from
  from=$(mirror)
  [[ -n $from ]] || skip "apt has no archive for this release to fetch apptainer from"
  rm -rf "$dir/debian"
  debootstrap --variant=minbase sid "$dir/debian" "$from" >"$dir/debootstrap.log" 2>&1 ||
    skip "debootstrap failed; see $dir/debootstrap.log"
  chroot "$dir/debian" apt-get install -y --no-install-recommends apptainer \
    </dev/null >>"$dir/debootstrap.log" 2>&1 ||
    skip "apptainer cannot be installed; see $dir/debootstrap.log"
  touch "$dir/debian/etc/hosts" "$dir/debian/.complete"
}

# Turns this process into the one that keeps the namespace alive.
hold() {
  local root=$dir/debian
  mount --make-rprivate /
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount --rbind /tmp "$root/tmp"
  # The directory has the same path inside and outside.
  mkdir -p "$root$dir"
  mount --bind "$dir" "$root$dir"
  cd "$root"
  mkdir -p .old
  pivot_root . .old
  umount -l /.old
  # A distinct name identifies the process.
  exec -a hermes-apptainer-holder sleep infinity </dev/null >/dev/null 2>&1
}

held() {
  [[ -s $dir/pid ]] && kill -0 "$(cat "$dir/pid")" 2>/dev/null &&
    grep -qa hermes-apptainer-holder "/proc/$(cat "$dir/pid")/cmdline"
}

# make_image PROGRAM: builds a sandbox image directory.
make_image() {
  [[ -x $dir/image/bin/sh ]] && return
  local busybox
  busybox=$(command -v busybox || true)
  # The image has no libraries, so busybox must be static.
  if [[ -z $busybox ]] || ldd "$busybox" >/dev/null 2>&1; then
    [[ -n $busybox ]] || command -v apt-get >/dev/null || skip "an image needs a static busybox"
    apt-get install -y --no-install-recommends busybox-static </dev/null \
      >"$dir/apt.log" 2>&1 || skip "an image needs a static busybox (Debian: busybox-static)"
    busybox=$(command -v busybox)
  fi
  local image=$dir/plain
  rm -rf "$image" "$dir/image.new"
  mkdir -p "$image"/{bin,dev,etc,proc,root,sys,tmp,usr/bin,usr/sbin,sbin,var/tmp,home,mnt,opt}
  cp "$busybox" "$image/bin/busybox"
  local applet
  for applet in $("$busybox" --list); do
    [[ $applet == busybox ]] || ln -s busybox "$image/bin/$applet"
  done
  ln -s ../../bin/busybox "$image/usr/bin/env"
  echo 'root:x:0:0:root:/root:/bin/sh' >"$image/etc/passwd"
  echo 'root:x:0:' >"$image/etc/group"
  touch "$image"/etc/{resolv.conf,hosts,localtime}
  # Instances require the metadata that a build adds.
  "$1" build --sandbox "$dir/image.new" "$image" >"$dir/build.log" 2>&1 ||
    skip "$1 cannot build an image; see $dir/build.log"
  rm -rf "$image"
  mv "$dir/image.new" "$dir/image"
}

start() {
  mkdir -p "$dir"
  dir=$(cd "$dir" && pwd -P)
  local program
  program=$(command -v apptainer || command -v singularity || true)
  if [[ -z $program ]]; then
    make_debian
    if ! held; then
      # The shell that creates the namespace also holds it.
      unshare -m "$BASH" "${BASH_SOURCE[0]}" hold "$dir" </dev/null >"$dir/hold.log" 2>&1 &
      echo $! >"$dir/pid"
      for _ in $(seq 100); do
        held && break
        kill -0 "$(cat "$dir/pid")" 2>/dev/null || break
        sleep 0.1
      done
      held || skip "cannot create the mount namespace: $(tail -n 1 "$dir/hold.log")"
    fi
    mkdir -p "$dir/bin"
    program=$dir/bin/apptainer
    cat >"$program" <<END
#!/bin/sh
exec nsenter --mount=/proc/\$(cat '$dir/pid')/ns/mnt /usr/bin/apptainer "\$@"
END
    chmod +x "$program"
  fi
  "$program" --version >"$dir/version" 2>&1 || skip "$program: $(tail -n 1 "$dir/version")"
  make_image "$program"
  printf "export HERMES_TEST_APPTAINER='%s'\n" "$program"
  printf "export HERMES_TEST_APPTAINER_IMAGE='%s'\n" "$dir/image"
}

stop() {
  [[ -d $dir ]] || return 0
  dir=$(cd "$dir" && pwd -P)
  if held; then kill "$(cat "$dir/pid")"; fi
  rm -f "$dir/pid"
}

(($# == 2)) || { echo "usage: $0 start|stop DIR" >&2; exit 2; }
dir=$2
case $1 in
  start | stop | hold) "$1" ;;
  *) echo "usage: $0 start|stop DIR" >&2; exit 2 ;;
esac
