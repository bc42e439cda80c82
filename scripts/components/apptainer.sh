#!/usr/bin/env bash
# Apptainer and an image for tests.
#
#   apptainer.sh start DIR   prints `export NAME='value'` lines; 77 and a reason
#                            if it cannot be had on this machine
#   apptainer.sh stop DIR    ends what was started; what was fetched stays
#
# Where the system has apptainer or singularity, that one is used. Otherwise a
# small Debian is made in DIR and the program is run in it, in a mount namespace
# of its own: this takes some minutes the first time, and 700 MB.
set -euo pipefail

skip() {
  echo "skipped: $1" >&2
  exit 77
}

# The archive that apt fetches this system's packages from.
mirror() {
  # shellcheck disable=SC1091
  apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
    awk -v release="$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" \
      '$1 == release { print $2; exit }'
}

install() {
  command -v "$2" >/dev/null && return
  apt-get install -y --no-install-recommends "$1" </dev/null >"$folder/apt.log" 2>&1 ||
    skip "$2 is not installed, and apt cannot install $1"
}

# make_debian: a Debian with apptainer in it, all of it or nothing.
make_debian() {
  [[ -e $folder/debian/.complete ]] && return
  command -v apt-get >/dev/null || skip "apptainer is not installed, and this is no Debian"
  ((EUID == 0)) || skip "apptainer is not installed, and only root can make a system for it"
  install debootstrap debootstrap
  local from
  from=$(mirror)
  [[ -n $from ]] || skip "apt has no archive to fetch apptainer from"
  rm -rf "$folder/debian"
  debootstrap --variant=minbase sid "$folder/debian" "$from" >"$folder/debootstrap.log" 2>&1 ||
    skip "debootstrap failed; see $folder/debootstrap.log"
  chroot "$folder/debian" apt-get install -y --no-install-recommends apptainer \
    </dev/null >>"$folder/debootstrap.log" 2>&1 ||
    skip "apptainer cannot be installed; see $folder/debootstrap.log"
  touch "$folder/debian/etc/hosts" "$folder/debian/.complete"
}

# hold: becomes the process that keeps the namespace of the small system.
hold() {
  local root=$folder/debian
  mount --make-rprivate /
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount --rbind /tmp "$root/tmp"
  # What is in the folder has the same name inside and outside.
  mkdir -p "$root$folder"
  mount --bind "$folder" "$root$folder"
  cd "$root"
  mkdir -p .old
  pivot_root . .old
  umount -l /.old
  # A name of its own, so that it can be told from other processes.
  exec -a hermes-apptainer-holder sleep infinity </dev/null >/dev/null 2>&1
}

held() {
  [[ -s $folder/pid ]] && kill -0 "$(cat "$folder/pid")" 2>/dev/null &&
    grep -qa hermes-apptainer-holder "/proc/$(cat "$folder/pid")/cmdline"
}

# make_image PROGRAM: a folder that the program takes for an image.
make_image() {
  [[ -x $folder/image/bin/sh ]] && return
  local busybox
  busybox=$(command -v busybox || true)
  # One that needs no libraries.
  if [[ -z $busybox ]] || ldd "$busybox" >/dev/null 2>&1; then
    [[ -n $busybox ]] || command -v apt-get >/dev/null || skip "an image needs a static busybox"
    apt-get install -y --no-install-recommends busybox-static </dev/null \
      >"$folder/apt.log" 2>&1 || skip "an image needs a static busybox (Debian: busybox-static)"
    busybox=$(command -v busybox)
  fi
  local image=$folder/plain
  rm -rf "$image" "$folder/image.new"
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
  # An instance needs what a build adds.
  "$1" build --sandbox "$folder/image.new" "$image" >"$folder/build.log" 2>&1 ||
    skip "$1 cannot make an image; see $folder/build.log"
  rm -rf "$image"
  mv "$folder/image.new" "$folder/image"
}

start() {
  mkdir -p "$folder"
  folder=$(cd "$folder" && pwd -P)
  local program
  program=$(command -v apptainer || command -v singularity || true)
  if [[ -z $program ]]; then
    make_debian
    if ! held; then
      # The shell that makes the namespace becomes the one that holds it.
      unshare -m "$BASH" "${BASH_SOURCE[0]}" hold "$folder" </dev/null >"$folder/hold.log" 2>&1 &
      echo $! >"$folder/pid"
      for _ in $(seq 100); do
        held && break
        kill -0 "$(cat "$folder/pid")" 2>/dev/null || break
        sleep 0.1
      done
      held || skip "the namespace cannot be made: $(tail -n 1 "$folder/hold.log")"
    fi
    mkdir -p "$folder/bin"
    program=$folder/bin/apptainer
    cat >"$program" <<END
#!/bin/sh
exec nsenter --mount=/proc/\$(cat '$folder/pid')/ns/mnt /usr/bin/apptainer "\$@"
END
    chmod +x "$program"
  fi
  "$program" --version >"$folder/version" 2>&1 || skip "$program: $(tail -n 1 "$folder/version")"
  make_image "$program"
  printf "export HERMES_TEST_APPTAINER='%s'\n" "$program"
  printf "export HERMES_TEST_APPTAINER_IMAGE='%s'\n" "$folder/image"
}

stop() {
  [[ -d $folder ]] || return 0
  folder=$(cd "$folder" && pwd -P)
  if held; then kill "$(cat "$folder/pid")"; fi
  rm -f "$folder/pid"
}

(($# == 2)) || { echo "usage: $0 start|stop DIR" >&2; exit 2; }
folder=$2
case $1 in
  start | stop | hold) "$1" ;;
  *) echo "usage: $0 start|stop DIR" >&2; exit 2 ;;
esac
