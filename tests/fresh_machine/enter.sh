#!/bin/sh
# enter.sh SYSTEM COMMAND: run a command in the bare system in the folder SYSTEM, as after a login there.
# Wants mount and process namespaces of its own (contained.py gives them): everything here ends with them.
set -eu
system=$1 command=$2

mount --bind "$system" "$system"  # so that / is a mount there, as on every machine
cd "$system"
mount -t proc proc proc
mount --rbind /sys sys
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
    touch "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/shm dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s /proc/self/fd/0 dev/stdin
ln -s /proc/self/fd/1 dev/stdout
ln -s /proc/self/fd/2 dev/stderr

# This shell stays, as the namespace's first process, and reaps what the command leaves behind, as an init does.
status=0
env -i HOME=/root TERM=xterm "$(command -v chroot)" . /bin/bash --login -c "$command" || status=$?
exit "$status"
