#!/bin/sh
# Stands in for ssh where hosts are network namespaces (tools/hosts.py): on_host.sh HOST COMMAND...
host=$1
shift
exec ip netns exec "$host" unshare --uts --ipc --mount sh -c \
  'mount -t tmpfs tmpfs /dev/shm && hostname "$0" && exec sh -c "$*"' "$host" "$@"
