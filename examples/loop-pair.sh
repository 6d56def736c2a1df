#!/bin/sh
# A pair of two loop devices, for examples/loop-pair.toml: brunt drill runs each verb as a step. Needs root.
#
#   prepare    makes both devices and a file system on the first one, and mounts it
#   snapshot   freezes that file system, copies its device to the second one, and thaws it
#   cut        unmounts and detaches the first device, as if it was lost
#   failover   checks the second device and mounts it
#   clean      unmounts and detaches everything, however far the drill came
#
# A pair of yours needs the same verbs, with the commands of your array, DRBD, LVM or ZFS. What brunt gives to each command:
# BRUNT_SOURCE, BRUNT_DESTINATION                 the folders of the sites: here the mount points
# BRUNT_SOURCE_DEVICE, BRUNT_DESTINATION_DEVICE   what lies below them: here two files
set -eu

size=192M

fail() {
  echo "$*" >&2
  exit 1
}

# The loop device over file $1, if there is one.
loop_of() {
  losetup -j "$1" -O NAME -n | head -n 1
}

is_mounted() {
  mountpoint -q "$1"
}

# A file system that was busy a moment ago is let go of soon.
unmount() {
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    is_mounted "$1" || return 0
    umount "$1" 2>/dev/null && return 0
    sleep 0.2
  done
  umount "$1"
}

prepare() {
  [ "$(id -u)" -eq 0 ] || fail "loop devices and mounts need root"
  for path in "$BRUNT_SOURCE" "$BRUNT_DESTINATION" "$BRUNT_SOURCE_DEVICE" "$BRUNT_DESTINATION_DEVICE"; do
    # `clean` removes only what `prepare` made: the mark says so.
    [ ! -e "$path" ] || [ -e "$BRUNT_SOURCE_DEVICE.made" ] || fail "$path is there already, and this pair did not make it"
  done
  [ ! -e "$BRUNT_SOURCE_DEVICE.made" ] || fail "an earlier drill was killed: what it left is removed now, and the next drill works again"
  : >"$BRUNT_SOURCE_DEVICE.made"
  mkdir "$BRUNT_SOURCE" "$BRUNT_DESTINATION"
  truncate -s "$size" "$BRUNT_SOURCE_DEVICE" "$BRUNT_DESTINATION_DEVICE"
  source=$(losetup --find --show "$BRUNT_SOURCE_DEVICE")
  losetup --find "$BRUNT_DESTINATION_DEVICE"
  mkfs.ext4 -q -m 0 "$source"
  mount "$source" "$BRUNT_SOURCE"
  # brunt works in an empty folder.
  rmdir "$BRUNT_SOURCE/lost+found"
}

snapshot() {
  # A frozen file system would hold up the drill for ever: it is thawed however the copy ends.
  trap 'fsfreeze --unfreeze "$BRUNT_SOURCE"' EXIT
  trap 'exit 1' INT TERM
  fsfreeze --freeze "$BRUNT_SOURCE"
  # Direct: the cache of a device knows nothing of what a file system has written past it.
  dd if="$(loop_of "$BRUNT_SOURCE_DEVICE")" of="$(loop_of "$BRUNT_DESTINATION_DEVICE")" \
    bs=4M iflag=direct oflag=direct conv=fsync status=none
}

cut() {
  unmount "$BRUNT_SOURCE"
  losetup --detach "$(loop_of "$BRUNT_SOURCE_DEVICE")"
}

failover() {
  destination=$(loop_of "$BRUNT_DESTINATION_DEVICE")
  # 1: errors were corrected, as after every snapshot of a file system in use.
  e2fsck -p "$destination" || [ $? -eq 1 ]
  mount "$destination" "$BRUNT_DESTINATION"
}

clean() {
  [ -e "$BRUNT_SOURCE_DEVICE.made" ] || return 0
  # Only a snapshot that was killed leaves it frozen.
  fsfreeze --unfreeze "$BRUNT_SOURCE" 2>/dev/null || true
  for folder in "$BRUNT_SOURCE" "$BRUNT_DESTINATION"; do
    unmount "$folder"
    [ ! -d "$folder" ] || rmdir "$folder"
  done
  for file in "$BRUNT_SOURCE_DEVICE" "$BRUNT_DESTINATION_DEVICE"; do
    for loop in $(losetup -j "$file" -O NAME -n); do
      losetup --detach "$loop"
    done
    rm -f "$file"
  done
  rm "$BRUNT_SOURCE_DEVICE.made"
}

case "${1:-}" in
  prepare | snapshot | cut | failover | clean) "$1" ;;
  *) fail "usage: $0 prepare | snapshot | cut | failover | clean" ;;
esac
