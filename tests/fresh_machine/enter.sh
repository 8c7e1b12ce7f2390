#!/bin/sh
# enter.sh SYSTEM COMMAND: run a command in the bare system below SYSTEM, as after a login there.
# Wants mount and process namespaces of its own (contained.py gives them): everything here ends with them.
set -eu
system=$1 command=$2

mount -t proc proc "$system/proc"
mount --rbind /sys "$system/sys"
mount -t tmpfs -o mode=755 tmpfs "$system/dev"
for device in null zero full random urandom tty; do
    touch "$system/dev/$device"
    mount --bind "/dev/$device" "$system/dev/$device"
done
mkdir "$system/dev/shm" "$system/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$system/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$system/dev/pts"
ln -s pts/ptmx "$system/dev/ptmx"
ln -s /proc/self/fd "$system/dev/fd"
for stream in 0/stdin 1/stdout 2/stderr; do
    ln -s "/proc/self/fd/${stream%/*}" "$system/dev/${stream#*/}"
done

# This shell stays, as the namespace's first process, and reaps what the command leaves behind, as an init does.
status=0
env -i HOME=/root TERM=xterm "$(command -v chroot)" "$system" /bin/bash --login -c "$command" || status=$?
exit "$status"
